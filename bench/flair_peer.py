"""Flair's sequence tagger in the place of a contestant of bench/tagging.py.

A BiLSTM-CRF of the same sizes and on the same batches; as its users do, it is given sentences and
makes its own tensors. Not installed with the project: pip install flair.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from unspool.data.part import Batch, Part

TYPE = "span"
logging.getLogger("flair").setLevel(logging.WARNING)  # it would print the whole vocabulary


def sentence(part: Part, row: int) -> Any:
    """With its spans, as Flair reads them from a file."""
    from flair.data import Sentence

    words, tags = part["words"], part["tags"]
    made = Sentence([words.types[word] for word in words.words(row)])
    start = 0
    for place, tag in enumerate(tags[row]):  # IOBES
        letter, name = tags.names[tag][0], tags.names[tag][2:]
        if letter in "BS":
            start = place
        if letter in "ES":
            made[start : place + 1].add_label(TYPE, name)
    return made


def words_and_characters(part: Part, characters: bool) -> Any:
    from flair.data import Dictionary
    from flair.embeddings import CharacterEmbeddings, OneHotEmbeddings, StackedEmbeddings

    words, letters = Dictionary(), Dictionary()
    for word in part["words"].types:
        words.add_item(word)
        for letter in word:
            letters.add_item(letter)
    embeddings = [OneHotEmbeddings(words, embedding_length=100)]
    if characters:
        embeddings.append(CharacterEmbeddings(letters, char_embedding_dim=30, hidden_size_char=25))
    return StackedEmbeddings(embeddings)


class FlairTagger:
    def __init__(self, part: Part, batches: Iterable[Batch], characters: bool) -> None:
        from flair.data import Dictionary
        from flair.models import SequenceTagger

        self.batches = [[sentence(part, int(row)) for row in batch.rows] for batch in batches]
        types = Dictionary(add_unk=False)
        for name in sorted({name[2:] for name in part["tags"].names if name != "O"}):
            types.add_item(name)
        types.span_labels = True
        self.model: nn.Module = SequenceTagger(
            words_and_characters(part, characters),
            types,
            TYPE,
            hidden_size=200,
            reproject_embeddings=False,
            word_dropout=0.0,
            locked_dropout=0.0,
            dropout=0.5,
        )

    def losses(self) -> Iterable[torch.Tensor]:
        from flair.training_utils import store_embeddings

        self.model.train()
        for batch in self.batches:
            loss, words = self.model.forward_loss(batch)
            yield loss / words
            store_embeddings(batch, "none")

    def predict(self) -> None:
        self.model.eval()
        for batch in self.batches:
            self.model.predict(batch, mini_batch_size=len(batch), label_name="found")
