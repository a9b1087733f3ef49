"""Characters that a model is to write, and hardly ever sees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unspool.data.check.report import Example, Finding
from unspool.data.corpus import Corpus
from unspool.data.fields.text import TextField
from unspool.text.tokenizers import CharTokenizer

SHOWN = 5


def about_characters(corpus: Corpus) -> Iterator[Finding]:
    """Characters that occur once in the training texts that are to be written."""
    train = corpus.parts["train"]
    for key, field in corpus.fields.items():
        if not (isinstance(field, TextField) and field.is_target):
            continue
        values = train[key]
        if not isinstance(field.tokenizer, CharTokenizer) or not len(values.types):
            continue
        counts = np.zeros(len(values.types), np.int64)
        home = np.zeros(len(values.types), np.int64)
        for row in range(len(train)):
            ids = values.raw[row]
            np.add.at(counts, ids, 1)
            home[ids] = row
        once = np.flatnonzero(counts == 1)
        if len(once):
            yield Finding(
                "rare-character",
                f"characters of the {key} occur once in train",
                len(once),
                [
                    Example(train.where(int(home[i])), repr(str(values.types[i])), "")
                    for i in once[:SHOWN]
                ],
                "look whether they are meant; one example teaches no model to write them",
            )
