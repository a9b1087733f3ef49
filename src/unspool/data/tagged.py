"""Sentences whose words carry tags: ids, spellings and tags of some rows, and padded batches.

A word is known by its id in the vocabulary, and by its spelling, the ids of its characters. A
sentence has a spelling for every word, a batch only for its different ones.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.batching import padded
from unspool.data.spelling import ByteSpellings, SpellingTable, Words, collate_words
from unspool.data.store import Store
from unspool.text.tokenizers import CharTokenizer, Tokenizer
from unspool.text.vocab import UNK_ID

LONGEST_WORD = 40  # characters of a word that are read


class Spellings(SpellingTable):
    """The ids of the characters of words."""

    def __init__(self, words: list[str], tokenizer: CharTokenizer) -> None:
        cut = [word[:LONGEST_WORD] for word in words]
        codes = np.frombuffer("".join(cut).encode("utf-32-le"), dtype=np.uint32)
        index = {ord(char): i for char, i in tokenizer.vocab.index.items() if len(char) == 1}
        known, which = np.unique(codes, return_inverse=True)
        ids = np.array([index.get(int(code), UNK_ID) for code in known], dtype=np.int64)[which]
        super().__init__(ids, np.array([len(word) for word in cut], dtype=np.int64))


class TaggedPart:
    """Some rows of a store of words.

    lengths (N,) words of each sentence; lines (N,) in the file
    tags      of every word of the store, as places in `names`; None where they are to be found
    names     the tags that the model knows, then others that occur all the same
    """

    labels: np.ndarray | None = None

    def __init__(
        self,
        store: Store,
        rows: np.ndarray,
        *,
        remap: np.ndarray,
        spellings: Spellings | None,
        tags: np.ndarray | None = None,
        names: list[str],
    ) -> None:
        self._ids, self._remap, self._tags = store.ids, remap, tags
        self._starts = store.offsets[rows]
        self.lengths = store.offsets[rows + 1] - self._starts
        self.rows, self.lines = rows, store.lines[rows]
        self.spellings, self.names = spellings, names
        self.types = store.types

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def byte_spellings(self) -> ByteSpellings:
        return ByteSpellings(self.types)

    def words(self, row: int) -> np.ndarray:
        """(T,) which types of the store the words are."""
        start = self._starts[row]
        return self._ids[start : start + self.lengths[row]]

    def ids(self, row: int) -> np.ndarray:
        """int64 ids (T,) of the vocabulary."""
        return self._remap[self.words(row)]

    def tags(self, row: int) -> np.ndarray:
        """(T,) places in `names`."""
        assert self._tags is not None
        start = self._starts[row]
        return self._tags[start : start + self.lengths[row]]

    @property
    def tagged(self) -> bool:
        return self._tags is not None


class TaggedBatch(NamedTuple):
    """B sentences padded to the longest, T words, of which U are different, of L characters."""

    ids: Tensor  # (B, T) int64, padded with 0
    lengths: Tensor  # (B,) int64
    spellings: Tensor | None  # (U, L) int64, padded with 0
    sizes: Tensor | None  # (U,) int64: characters of each
    places: Tensor | None  # (B, T) int64: which of the U spellings a word has
    tags: Tensor | None  # (B, T) int64, padded with 0
    rows: np.ndarray  # (B,) rows of the part
    words: Words | None = None  # their spelling in bytes, for contextual vectors


def collate_tagged(part: TaggedPart, rows: np.ndarray) -> TaggedBatch:
    ids, lengths = padded(part, rows)
    spellings = sizes = places = tags = None
    inside = np.arange(ids.shape[1]) < part.lengths[rows, None]  # (B, T)
    if part.spellings is not None:
        words = np.concatenate([part.words(int(row)) for row in rows])
        different, which = np.unique(words, return_inverse=True)
        spellings, sizes = part.spellings.padded(different)
        places = _spread(which, inside)
    if part.tagged:
        tags = _spread(np.concatenate([part.tags(int(row)) for row in rows]), inside)
    return TaggedBatch(ids, lengths, spellings, sizes, places, tags, rows)


def collate_in_context(part: TaggedPart, rows: np.ndarray) -> TaggedBatch:
    """`collate_tagged`, with what contextual vectors are made of."""
    return collate_tagged(part, rows)._replace(words=collate_words(part, rows))


def _spread(values: np.ndarray, inside: np.ndarray) -> Tensor:
    """(N,) values at the places (B, T) where `inside` is True, zeros elsewhere."""
    spread = np.zeros(inside.shape, dtype=np.int64)
    spread[inside] = values
    return torch.from_numpy(spread)


def word_ids(types: list[str], tokenizer: Tokenizer) -> np.ndarray:
    """(types,) ids of the vocabulary; case is folded here, if at all: spellings keep it."""
    index, normalizer = tokenizer.vocab.index, tokenizer.normalizer
    ids = (index.get(normalizer(word), UNK_ID) for word in types)
    return np.fromiter(ids, dtype=np.int64, count=len(types))


def sentences_part(
    sentences: list[list[str]],
    tokenizer: Tokenizer,
    spelling: CharTokenizer | None,
    names: list[str],
) -> TaggedPart:
    """Sentences in memory, each of at least one word, with the face of a part of a corpus."""
    index: dict[str, int] = {}
    form = tokenizer.normalizer.form_only()
    ids = [index.setdefault(form(word), len(index)) for sentence in sentences for word in sentence]
    types = list(index)
    sizes = [len(sentence) for sentence in sentences]
    store = Store(
        np.array(ids, dtype=np.int64),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        characters=np.zeros(len(sizes), dtype=np.int64),
        lines=np.arange(1, len(sizes) + 1),
        labels=None,
        names=[],
        types=types,
        counts=np.bincount(ids, minlength=len(types)),
    )
    return TaggedPart(
        store,
        np.arange(len(sizes)),
        remap=word_ids(types, tokenizer),
        spellings=None if spelling is None else Spellings(types, spelling),
        names=names,
    )
