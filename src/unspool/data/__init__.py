"""Files to batches. In reading order:

files      bytes of a file to lines of text       split      which rows are held out
rows       lines to examples, one format each     labels     names of classes to indices
columns    which column is text, which label      fit        a tokenizer for the training rows
infer      format, columns and task, by looking   bytepairs  byte pairs from stored characters
readers    one data file as a `Source`            parts      one split, ids made on demand
store      token ids on disk, memory-mapped       corpus     everything that training needs
cache      stores kept from run to run            batching   padded batches, lanes of a stream
encode     a source as a store                    check      a look at it (advice, report)
"""
