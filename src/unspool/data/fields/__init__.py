"""Kinds of values, one file each: the only place that knows what they are made of.

field       what a field is                     tokens      the values of text and words
text        a text: characters, words, pieces   spelling    words as numbers of their characters
stream      one long text                       vocabulary  a tokenizer for the training rows
bags        a text: the counts of its n-grams   bag_vocabulary  n-grams of the training rows
words       a sentence that is cut into words   bytepairs   byte pairs of stored characters
label       one name out of a fixed set
labels      any number of names out of a set
tags        a tag for each word
number      one number or several
"""
