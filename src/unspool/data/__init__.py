"""Files to batches. In reading order:

files      bytes of a file to lines of text       split      which rows are held out
rows       lines to examples, one format each     labels     names of classes to indices
tables     the first rows of a table              bytepairs  byte pairs from stored characters
columns    which column is text, which label      fit        a tokenizer for the training rows
infer      format, columns and task, by looking   tokens     stored ids to those of a vocabulary
pairs      which two columns are pairs            parts      one split, ids made on demand
readers    one data file as a `Source`            paired     two sides of pairs, row by row
store      token ids on disk, memory-mapped       corpus     everything that training needs
cache      stores kept from run to run            batching   padded batches of documents or pairs
encode     a source as a store                    streams    lanes and windows of a stream
                                                  check      a look at it (advice, report)
"""
