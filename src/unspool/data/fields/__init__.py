"""Kinds of values, one file each: the only place that knows what they are made of.

field       what a field is                     spelling    words as numbers of their characters
text        a text: characters, words, pieces   vocabulary  a tokenizer for the training rows
words       a sentence that is cut into words   bytepairs   byte pairs of stored characters
label       one name out of a fixed set         schemes     tags that mark spans
tags        a tag for each word
number      one number or several
"""
