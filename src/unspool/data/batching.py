"""Batches: a part in, padded tensors out. A batch depends on (seed, epoch, step) and nothing else,
so a run can be taken up again at any step without replaying the ones before.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from unspool.data.parts import StreamPart
from unspool.errors import DataError
from unspool.text.vocab import PAD_ID

POOL = 100  # batches whose rows are sorted together: little padding, yet new company every epoch


class Documents(Protocol):
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


class BucketBatches:
    """Documents of similar length together; at most `size` rows and `tokens` padded tokens.

    A document longer than `tokens` is a batch of its own. With `shuffle` rows are mixed anew each
    epoch, sorted by length within pools, and the batches mixed again; without, the longest come
    first, always in the same order.
    """

    def __init__(
        self, part: Documents, *, size: int, tokens: int, seed: int, shuffle: bool = True
    ) -> None:
        self.part, self.size, self.tokens = part, size, tokens
        self.seed, self.shuffle = seed, shuffle
        self._planned: tuple[int, list[np.ndarray]] | None = None

    def steps(self, epoch: int) -> int:
        return len(self._plan(epoch))

    def batch(self, epoch: int, step: int) -> Batch:
        return collate(self.part, self._plan(epoch)[step])

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
        """Batches of the rows, longest first: the first row of a batch decides how many fit."""
        rows = rows[np.argsort(-self.part.lengths[rows], kind="stable")]
        lengths = self.part.lengths[rows].tolist()
        batches, start = [], 0
        while start < len(rows):
            fit = max(1, min(self.size, self.tokens // lengths[start]))
            batches.append(rows[start : start + fit])
            start += fit
        return batches


def collate(part: Documents, rows: np.ndarray) -> Batch:
    """The rows of a part, padded."""
    lengths = part.lengths[rows].astype(np.int64)
    ids = np.full((len(rows), int(lengths.max())), PAD_ID, dtype=np.int64)
    for i, row in enumerate(rows):
        ids[i, : lengths[i]] = part.ids(int(row))
    labels = None if part.labels is None else torch.from_numpy(part.labels[rows])
    return Batch(torch.from_numpy(ids), torch.from_numpy(lengths), labels, rows)


class LaneBatch(NamedTuple):
    """T steps of B lanes; `first` says that the state must be reset."""

    ids: Tensor  # (B, T) int64
    targets: Tensor  # (B, T) int64, ids shifted by one
    first: bool


class LaneBatches:
    """A stream laid out in contiguous lanes and read `bptt` tokens at a time.

    Lane b holds the tokens b*L to (b+1)*L, L = (tokens - 1) // lanes; the caller carries the state
    from each step to the next. Lanes are fewer where they would be shorter than `bptt`. Fewer than
    `lanes` tokens at the very end are left over; one lane leaves none.
    """

    def __init__(self, part: StreamPart, *, lanes: int, bptt: int) -> None:
        pairs = len(part) - 1
        if pairs < 1:
            raise DataError(
                f"a text of {len(part)} tokens is too short to predict one from another",
                remedy="give more text, or a larger share for this part",
            )
        self.part, self.bptt = part, bptt
        self.lanes = max(1, min(lanes, pairs // bptt))
        self.length = pairs // self.lanes

    def steps(self, epoch: int) -> int:
        return -(-self.length // self.bptt)

    def batch(self, epoch: int, step: int) -> LaneBatch:
        if not 0 <= step < self.steps(epoch):
            raise IndexError(f"step {step} of {self.steps(epoch)}")
        start = step * self.bptt
        stop = min(start + self.bptt, self.length)
        both = np.stack(
            [
                self.part.slice(lane * self.length + start, lane * self.length + stop + 1)
                for lane in range(self.lanes)
            ]
        )
        ids = torch.from_numpy(both)  # (B, T + 1)
        return LaneBatch(ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), step == 0)
