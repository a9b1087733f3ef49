"""Characters that a model is to write, and hardly ever sees."""

from __future__ import annotations

from collections.abc import Iterator

from unspool.data.check.report import Example, Finding
from unspool.data.corpus import Corpus

SHOWN = 5


def about_characters(corpus: Corpus) -> Iterator[Finding]:
    """Characters that occur once in the training texts that are to be written."""
    train = corpus.parts["train"]
    for key, field in corpus.fields.items():
        once = field.characters_once(train[key]) if field.is_target else {}
        if once:
            yield Finding(
                "rare-character",
                f"characters of the {key} occur once in train",
                len(once),
                [Example(train.where(row), repr(own), "") for own, row in once.items()][:SHOWN],
                "look whether they are meant; one example teaches no model to write them",
            )
