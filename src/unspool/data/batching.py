"""Batches of documents: a part in, padded tensors out.

A batch depends on (seed, epoch, step) and nothing else, so a run can be taken up again at any step
without replaying the ones before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from unspool.data.parts import PairPart
from unspool.data.spelling import Worded, Words, collate_words
from unspool.text.vocab import PAD_ID

POOL = 100  # batches whose rows are sorted together: little padding, yet new company every epoch


class Documents(Worded, Protocol):
    """What batching needs to know of a part."""

    @property
    def lengths(self) -> np.ndarray: ...
    @property
    def labels(self) -> np.ndarray | None: ...
    def __len__(self) -> int: ...
    def ids(self, row: int) -> np.ndarray: ...


class Batch(NamedTuple):
    """B documents padded to the longest, T tokens."""

    ids: Tensor  # (B, T) int64, padded with 0
    lengths: Tensor  # (B,) int64
    labels: Tensor | None  # (B,) int64
    rows: np.ndarray  # (B,) rows of the part
    words: Words | None = None  # their spelling, for models that read it


class PairBatch(NamedTuple):
    """B pairs: what is read, S tokens at most, and what is to be written, T tokens at most."""

    source: Tensor  # (B, S) int64, padded with 0
    source_lengths: Tensor  # (B,) int64
    inputs: Tensor  # (B, T) int64, begins with <s>
    targets: Tensor  # (B, T) int64, the inputs shifted by one, ends with </s>
    target_lengths: Tensor  # (B,) int64
    rows: np.ndarray  # (B,) rows of the part


def collate(part: Documents, rows: np.ndarray) -> Batch:
    """The rows of a part, padded."""
    ids, lengths = padded(part, rows)
    labels = None if part.labels is None else torch.from_numpy(part.labels[rows])
    return Batch(ids, lengths, labels, rows)


def collate_spelled(part: Documents, rows: np.ndarray) -> Batch:
    """The rows of a part, padded, with the spelling of their words."""
    return collate(part, rows)._replace(words=collate_words(part, rows))


def collate_pairs(part: PairPart, rows: np.ndarray) -> PairBatch:
    source, source_lengths = padded(part.source, rows)
    target, lengths = padded(part.target, rows)
    return PairBatch(
        source,
        source_lengths,
        target[:, :-1].contiguous(),
        target[:, 1:].contiguous(),
        lengths - 1,
        rows,
    )


def padded(part: Documents, rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """ids (B, T) and lengths (B,) of some rows."""
    lengths = part.lengths[rows].astype(np.int64)
    ids = np.full((len(rows), int(lengths.max())), PAD_ID, dtype=np.int64)
    for i, row in enumerate(rows):
        ids[i, : lengths[i]] = part.ids(int(row))
    return torch.from_numpy(ids), torch.from_numpy(lengths)


class BucketBatches:
    """Rows of similar length together; at most `size` rows and `tokens` padded tokens.

    The part's `lengths` are (N,), or (N, 2) for pairs, both sides of which count.

    A document longer than `tokens` is a batch of its own. With `shuffle` rows are mixed anew each
    epoch, sorted by length within pools, and the batches mixed again; without, the longest come
    first, always in the same order.
    """

    def __init__(
        self,
        part: Any,
        *,
        size: int,
        tokens: int,
        seed: int,
        shuffle: bool = True,
        collate: Callable[[Any, np.ndarray], Any] = collate,
    ) -> None:
        self.part, self.size, self.tokens, self.collate = part, size, tokens, collate
        self.widths = part.lengths.reshape(len(part), -1)  # (N, sides)
        self.seed, self.shuffle = seed, shuffle
        self._planned: tuple[int, list[np.ndarray]] | None = None

    def steps(self, epoch: int) -> int:
        return len(self._plan(epoch))

    def batch(self, epoch: int, step: int) -> Any:
        return self.collate(self.part, self._plan(epoch)[step])

    def _plan(self, epoch: int) -> list[np.ndarray]:
        """The rows of every batch of an epoch; the latest plan is kept."""
        epoch = epoch if self.shuffle else 0
        if self._planned is None or self._planned[0] != epoch:
            self._planned = (epoch, self._make_plan(epoch))
        return self._planned[1]

    def _make_plan(self, epoch: int) -> list[np.ndarray]:
        count = len(self.part)
        if not self.shuffle:
            return self._cut(np.arange(count))
        rng = np.random.default_rng([self.seed, epoch])
        order = rng.permutation(count)
        pool = POOL * self.size
        batches = [
            batch
            for start in range(0, count, pool)
            for batch in self._cut(order[start : start + pool])
        ]
        return [batches[i] for i in rng.permutation(len(batches))]

    def _cut(self, rows: np.ndarray) -> list[np.ndarray]:
        """Batches of the rows, longest first, each as large as fits."""
        widths = self.widths[rows]
        order = np.lexsort((-widths[:, 0], -widths.sum(1)))
        rows, widths = rows[order], widths[order]
        batches, start = [], 0
        while start < len(rows):
            columns = np.maximum.accumulate(widths[start : start + self.size]).sum(
                1
            )  # with padding
            fits = columns * np.arange(1, len(columns) + 1) <= self.tokens
            fit = max(1, int(fits.sum()))
            batches.append(rows[start : start + fit])
            start += fit
        return batches
