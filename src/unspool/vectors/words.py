"""Words with their vectors: look one up, find the nearest ones, complete an analogy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unspool.errors import DataError, nearest


class Neighbour(NamedTuple):
    word: str
    similarity: float  # the cosine of the angle between the two vectors


class WordVectors:
    """V different words, the most frequent first as a rule, and their vectors (V, E), float32.

    `source` is what messages call them.
    """

    def __init__(
        self, words: Sequence[str], matrix: np.ndarray, *, source: str = "the vectors"
    ) -> None:
        self.words, self.matrix, self.source = list(words), matrix, source
        self.index = {word: i for i, word in enumerate(self.words)}
        if len(self.index) != len(self.words) or matrix.shape[:1] != (len(self.words),):
            raise ValueError("each word must have one vector")

    @property
    def size(self) -> int:
        """Elements of a vector."""
        return self.matrix.shape[1]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> np.ndarray:
        return self.matrix[self.id(word)]

    def __repr__(self) -> str:
        return f"<WordVectors {self.source}: {len(self):,} words x {self.size}>"

    def find(self, word: str) -> int | None:
        """The number of a word as it stands, or else in lower case."""
        exact = self.index.get(word)
        return self.index.get(word.lower()) if exact is None else exact

    def id(self, word: str) -> int:
        """The number of a word; a DataError that names the nearest spelling where it has none."""
        id_ = self.find(word)
        if id_ is not None:
            return id_
        alike = (w for w in self.words if abs(len(w) - len(word)) < 3 and w[:1] == word[:1].lower())
        near = nearest(word.lower(), alike)
        raise DataError(
            "no vector for this word",
            where=self.source,
            got=word,
            remedy=f"did you mean {near!r}?" if near else "try another word",
        )

    @cached_property
    def units(self) -> np.ndarray:
        """The vectors at length 1; a vector of zeros stays one."""
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        if np.isinf(lengths).any():  # squares that 32 bits do not hold
            lengths = np.linalg.norm(self.matrix.astype(np.float64), axis=1, keepdims=True)
        return (self.matrix / np.where(lengths == 0, 1, lengths)).astype(np.float32, copy=False)

    def similarity(self, a: str, b: str) -> float:
        """The cosine of the angle between the vectors of two words."""
        return float(self.units[self.id(a)] @ self.units[self.id(b)])

    def neighbours(self, word: str, *, top: int = 10) -> list[Neighbour]:
        """The words whose vectors point most nearly where that of `word` does."""
        id_ = self.id(word)
        return self._nearest(self.units[id_], top, without=[id_])

    def analogy(self, a: str, b: str, c: str, *, top: int = 10) -> list[Neighbour]:
        """Words nearest to b − a + c, which are to c as b is to a; these three are left out
        (Mikolov et al. 2013c)."""
        ids = [self.id(word) for word in (a, b, c)]
        first, second, third = self.units[ids]
        goal = second - first + third
        return self._nearest(goal / max(np.linalg.norm(goal), 1e-12), top, without=ids)

    def _nearest(self, unit: np.ndarray, top: int, *, without: Sequence[int]) -> list[Neighbour]:
        similarity = self.units @ unit
        similarity[without] = -np.inf
        top = min(top, len(self) - len(set(without)))
        if top < 1:
            return []
        best = np.argpartition(-similarity, range(top))[:top]
        return [Neighbour(self.words[i], float(similarity[i])) for i in best]
