"""Files to batches. In reading order:

read/      files of every format as columns       bytepairs  byte pairs from stored characters
plan       which columns a task reads             fit        a tokenizer for the training rows
sentences  JSON values as words and tags          tokens     stored ids to those of a vocabulary
schemes    tags that mark spans                   parts      one split, ids made on demand
source     a plan as the corpus still reads it    paired     two sides of pairs, row by row
store      token ids on disk, memory-mapped       spelling   words as numbers of their characters
cache      stores kept from run to run            tagged     sentences, row by row; their batches
encode     a source as a store                    tag_column tags of a source, spans in IOBES
split      which rows are held out                tag_corpus vocabulary, tags and parts of sentences
labels     names of classes to indices            corpus     everything that training needs
                                                  batching   padded batches of documents or pairs
                                                  streams    lanes and windows of a stream
                                                  check      a look at it (advice, report)
"""
