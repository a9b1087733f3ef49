"""Files to batches: files -> rows -> source -> store -> corpus -> batching, in reading order.

files     bytes of a file to lines of text        split     which rows are held out
rows      lines to examples, one format each      corpus    everything that training needs
infer     format, columns and task, by looking    batching  padded batches, lanes of a stream
readers   one data file as a `Source`             check     a look at the data before training
encode    a source as a store of token ids        cache     stores kept from run to run
"""
