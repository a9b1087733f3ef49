"""Batches of a stream: a stretch of text in, inputs and the tokens after them out.

As with documents, a batch depends on (seed, epoch, step) and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.batching import WHOLE, Share
from unspool.data.fields.tokens import Tokens
from unspool.errors import DataError


class StreamBatch(NamedTuple):
    """T steps of B stretches of a stream."""

    ids: Tensor  # (B, T) int64
    targets: Tensor  # (B, T) int64, ids shifted by one
    first: bool  # whether they begin anew, or go on where those of the batch before ended
    skip: int = 0  # how many of the first targets are another batch's, and here only context


def _cut(text: Tokens, starts: Iterable[int], length: int) -> tuple[Tensor, Tensor]:
    """(ids, targets), (B, T) each, of the stretches of `length` tokens from `starts` on."""
    both = torch.from_numpy(np.stack([text.slice(0, a, a + length + 1) for a in starts]))
    return both[:, :-1].contiguous(), both[:, 1:].contiguous()


def _pairs(text: Tokens) -> int:
    """How many tokens of the text have one after them; a DataError where it is none."""
    size = int(text.raw.lengths[0])
    if size < 2:
        raise DataError(
            f"a text of {size} tokens is too short to predict one from another",
            remedy="give more text, or a larger share for this part",
        )
    return size - 1


class LaneBatches:
    """A stream laid out in contiguous lanes and read `bptt` tokens at a time.

    Lane b holds the tokens b*L to (b+1)*L, L = (tokens - 1) // lanes; the caller carries the state
    from each step to the next. Lanes are fewer where they would be shorter than `bptt`. Fewer than
    `lanes` tokens at the very end are left over; one lane leaves none.
    """

    def __init__(self, text: Tokens, *, lanes: int, bptt: int) -> None:
        pairs = _pairs(text)
        self.text, self.bptt = text, bptt
        self.lanes = max(1, min(lanes, pairs // bptt))
        self.length = pairs // self.lanes

    def steps(self, epoch: int) -> int:
        return -(-self.length // self.bptt)

    def rows(self, epoch: int, step: int) -> int:
        return self.lanes

    def batch(self, epoch: int, step: int, share: Share = WHOLE) -> StreamBatch:
        if not 0 <= step < self.steps(epoch):
            raise IndexError(f"step {step} of {self.steps(epoch)}")
        start = step * self.bptt
        stop = min(start + self.bptt, self.length)
        starts = share.take(np.arange(self.lanes)) * self.length + start
        return StreamBatch(*_cut(self.text, starts.tolist(), stop - start), first=step == 0)


class WindowBatches:
    """`size` windows of `length` tokens, each from anywhere in the stream.

    An epoch has as many as hold the tokens of the stream once. Windows are shorter where the stream
    is.
    """

    def __init__(self, text: Tokens, *, size: int, length: int, seed: int) -> None:
        self.text, self.size, self.seed = text, size, seed
        self.pairs = _pairs(text)
        self.length = min(length, self.pairs)

    def steps(self, epoch: int) -> int:
        return max(1, self.pairs // (self.size * self.length))

    def rows(self, epoch: int, step: int) -> int:
        return self.size

    def batch(self, epoch: int, step: int, share: Share = WHOLE) -> StreamBatch:
        rng = np.random.default_rng([self.seed, epoch, step])
        starts = rng.integers(0, self.pairs - self.length, size=self.size, endpoint=True)
        return StreamBatch(*_cut(self.text, share.take(starts).tolist(), self.length), first=True)


class StridedBatches:
    """Every token of a stream once a target, with at least `context` tokens before it.

    Windows of `length` tokens overlap by `context`, which is less than `length`; of each but the
    first, the first `context` targets are left to the one before. At most `size` of them are a
    batch; the first, and a shorter last one, come alone.
    """

    def __init__(self, text: Tokens, *, size: int, length: int, context: int) -> None:
        self.text, self.context = text, context
        pairs = _pairs(text)
        starts = list(range(0, max(1, pairs - self.context), length - self.context))
        whole = [a for a in starts[1:] if a + length <= pairs]
        rest = starts[1 + len(whole) :]
        groups = [whole[i : i + size] for i in range(0, len(whole), size)]
        self.plan = [
            (group, min(length, pairs - group[0])) for group in ([0], *groups, rest) if group
        ]

    def steps(self, epoch: int) -> int:
        return len(self.plan)

    def batch(self, epoch: int, step: int) -> StreamBatch:
        starts, length = self.plan[step]
        skip = self.context if starts[0] else 0
        return StreamBatch(*_cut(self.text, starts, length), first=True, skip=skip)
