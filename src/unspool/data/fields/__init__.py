"""Kinds of values, one file each: the only place that knows what they are made of.

field       what a field is                     tokens      the values of text and words
text        a text: characters, words, pieces   spelling    words as numbers of their characters
stream      one long text                       vocabulary  a tokenizer for the training rows
words       a sentence that is cut into words   bytepairs   byte pairs of stored characters
label       one name out of a fixed set
labels      any number of names out of a set
tags        a tag for each word
number      one number or several
"""

from unspool.data.fields.field import Field
from unspool.data.fields.label import LabelField
from unspool.data.fields.labels import LabelsField
from unspool.data.fields.number import NumberField
from unspool.data.fields.tags import TagsField
from unspool.data.fields.text import TextField
from unspool.data.fields.words import WordsField

FIELDS: dict[str, type[Field]] = {
    kind.kind: kind
    for kind in (TextField, WordsField, LabelField, LabelsField, TagsField, NumberField)
}
