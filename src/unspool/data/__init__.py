"""Files to batches. In reading order:

files      bytes of a file to lines of text       split      which rows are held out
rows       lines to examples, one format each     labels     names of classes to indices
tables     the first rows of a table              bytepairs  byte pairs from stored characters
columns    which column is text, which label      fit        a tokenizer for the training rows
infer      format, columns and task, by looking   tokens     stored ids to those of a vocabulary
pairs      which two columns are pairs            parts      one split, ids made on demand
schemes    tags that mark spans                   paired     two sides of pairs, row by row
sentences  words and tags to examples             spelling   words as numbers of their characters
tagging    which columns are words and tags       tagged     sentences, row by row; their batches
readers    one data file as a `Source`            tag_column tags of a source, spans in IOBES
store      token ids on disk, memory-mapped       tag_corpus vocabulary, tags and parts of sentences
cache      stores kept from run to run            corpus     everything that training needs
encode     a source as a store                    batching   padded batches of documents or pairs
                                                  streams    lanes and windows of a stream
                                                  check      a look at it (advice, report)
"""
