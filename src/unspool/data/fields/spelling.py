"""Spelling of words: a list of words in, the numbers of their characters or bytes out.

Spelled in bytes, no word and no character is unknown: there is no list that it could be missing
from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from unspool.text.vocab import PAD_ID

LONGEST_WORD = 40  # bytes of a word that are read
BYTE_IDS = 257  # 0 is padding
# Bytes that no UTF-8 text contains, around each word, and for words that no text contains.
WORD_BEGIN, WORD_END = b"\xfe", b"\xff"
TEXT_BEGIN, TEXT_END = b"\xc0", b"\xc1"


class SpellingTable:
    """The numbers that spell each of some words, in one array with offsets."""

    def __init__(self, ids: np.ndarray, sizes: np.ndarray) -> None:
        self.ids, self.sizes = ids, sizes
        self.starts = np.cumsum(sizes) - sizes

    def padded(self, words: np.ndarray) -> tuple[Tensor, Tensor]:
        """ids (U, L) and lengths (U,) of some words."""
        sizes = self.sizes[words]
        steps = np.arange(int(sizes.max()))
        inside = steps < sizes[:, None]
        ids = np.full(inside.shape, PAD_ID, dtype=np.int64)
        ids[inside] = self.ids[(self.starts[words, None] + steps)[inside]]
        return torch.from_numpy(ids), torch.from_numpy(sizes)


class ByteSpellings(SpellingTable):
    """The UTF-8 bytes of words, from 1; after them the two words that begin and end a text."""

    def __init__(self, words: Sequence[str]) -> None:
        cut = [word.encode("utf-8", "replace")[:LONGEST_WORD] for word in words]
        spelled = [WORD_BEGIN + word + WORD_END for word in (*cut, TEXT_BEGIN, TEXT_END)]
        ids = np.frombuffer(b"".join(spelled), dtype=np.uint8).astype(np.uint16) + 1
        super().__init__(ids, np.array([len(word) for word in spelled], dtype=np.int64))
        self.begin, self.end = len(cut), len(cut) + 1


class SpelledWords(NamedTuple):
    """The words of B texts, of up to T words, with what begins and ends them; U of them differ."""

    spellings: Tensor  # (U, L) int64, padded with 0
    sizes: Tensor  # (U,) int64
    which: Tensor  # (B, T + 2) int64: which of the U spellings a word has; 0 at padding
    lengths: Tensor  # (B,) int64: words of each text, without the two


class Worded(Protocol):
    """Rows that know their words."""

    @property
    def byte_spellings(self) -> ByteSpellings: ...
    def words(self, row: int) -> np.ndarray:
        """(T,) which of the spellings the words of a row have."""


def collate_words(values: Worded, rows: np.ndarray) -> SpelledWords:
    spellings = values.byte_spellings
    texts = [values.words(int(row)) for row in rows]
    lengths = np.array([len(words) for words in texts], dtype=np.int64)
    framed = [np.concatenate([[spellings.begin], words, [spellings.end]]) for words in texts]
    different, index = np.unique(np.concatenate(framed), return_inverse=True)
    which = np.zeros((len(rows), int(lengths.max()) + 2), dtype=np.int64)
    which[np.arange(which.shape[1]) < lengths[:, None] + 2] = index
    return SpelledWords(
        *spellings.padded(different.astype(np.int64)),
        torch.from_numpy(which),
        torch.from_numpy(lengths),
    )
