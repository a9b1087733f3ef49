"""Batches of rows: a part in, padded tensors out.

A batch depends on (seed, epoch, step) and nothing else, so a run can be taken up again at any step
without replaying the ones before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.data.part import Batch, Part

POOL = 100  # batches whose rows are sorted together: little padding, yet new company every epoch


class Share(NamedTuple):
    """Share `number` of `of`: every `of`-th row of a batch, so that long and short rows mix."""

    number: int = 0
    of: int = 1

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows of this share; where none is left, the first, which then counts for nothing."""
        return rows[self.number :: self.of] if self.counts(len(rows)) else rows[:1]

    def counts(self, rows: int) -> bool:
        """Whether a batch of so many rows has one for this share."""
        return self.number < rows


WHOLE = Share()


def shares_of(process: int, processes: int, *, passes: int) -> list[Share]:
    """The shares of each batch that a process computes, one a pass."""
    return [Share(process * passes + i, processes * passes) for i in range(passes)]


class BucketBatches:
    """Rows of similar length together; at most `size` rows and `tokens` padded tokens.

    A row longer than `tokens` is a batch of its own. With `shuffle` rows are mixed anew each
    epoch, sorted by length within pools, and the batches mixed again; without, the longest come
    first, always in the same order.

    classes   (N,) of each row, to be oversampled: an epoch has equally many rows of each;
              -1: once
    """

    def __init__(
        self,
        part: Part,
        *,
        size: int,
        tokens: int,
        seed: int,
        shuffle: bool = True,
        classes: np.ndarray | None = None,
    ) -> None:
        self.part, self.size, self.tokens = part, size, tokens
        self.seed, self.shuffle, self.classes = seed, shuffle, classes
        self._planned: tuple[int, list[np.ndarray]] | None = None

    def steps(self, epoch: int) -> int:
        return len(self._plan(epoch))

    def rows(self, epoch: int, step: int) -> int:
        return len(self._plan(epoch)[step])

    def batch(self, epoch: int, step: int, share: Share = WHOLE) -> Batch:
        return self.part.collate(share.take(self._plan(epoch)[step]))

    def where(self, batch: Batch) -> str:
        """The lines of a batch in the data, for a message."""
        lines = sorted({int(line) for line in self.part.lines[batch.rows]})
        return "data lines " + ", ".join(map(str, lines[:8]))

    def _plan(self, epoch: int) -> list[np.ndarray]:
        """The rows of every batch of an epoch; the latest plan is kept."""
        epoch = epoch if self.shuffle else 0
        if self._planned is None or self._planned[0] != epoch:
            self._planned = (epoch, self._make_plan(epoch))
        return self._planned[1]

    def _make_plan(self, epoch: int) -> list[np.ndarray]:
        if not self.shuffle:
            return self._cut(np.arange(len(self.part)))
        rng = np.random.default_rng([self.seed, epoch])
        rows = np.arange(len(self.part)) if self.classes is None else oversample(self.classes, rng)
        order = rng.permutation(rows)
        pool = POOL * self.size
        batches = [
            batch
            for start in range(0, len(order), pool)
            for batch in self._cut(order[start : start + pool])
        ]
        return [batches[i] for i in rng.permutation(len(batches))]

    def _cut(self, rows: np.ndarray) -> list[np.ndarray]:
        """Batches of the rows, longest first, each as large as fits."""
        if len(rows) == 1:  # a single text, which is to be answered soon
            return [rows]
        widths = self.part.lengths[rows]
        order = np.lexsort((-widths[:, 0], -widths.sum(1)))
        rows, widths = rows[order], widths[order]
        batches, start = [], 0
        while start < len(rows):
            # Padded to the longest so far:
            columns = np.maximum.accumulate(widths[start : start + self.size]).sum(1)
            fits = columns * np.arange(1, len(columns) + 1) <= self.tokens
            fit = max(1, int(fits.sum()))
            batches.append(rows[start : start + fit])
            start += fit
        return batches


def oversample(classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows with as many of each class as the largest has, repeated at random; class -1 stays."""
    counts = np.bincount(classes[classes >= 0], minlength=1)
    chosen = [np.flatnonzero(classes < 0)]
    for which in np.flatnonzero(counts):
        rows = np.flatnonzero(classes == which)
        times, rest = divmod(int(counts.max()), len(rows))
        chosen += [np.tile(rows, times), rng.permutation(rows)[:rest]]
    return np.concatenate(chosen)
