"""Files to batches. In reading order:

read/      files of every format as columns of raw values
profile    facts about the first values of a column
plan       which columns a task reads
fields/    raw values to arrays, arrays to padded tensors
store/     columns on disk, memory-mapped and cached
split      which rows are held out
corpus     everything that training needs
part       one split; batching, streams, windows and masking make batches of it
check/     a look at the data before training
"""
