"""Large float32 arrays of the CPU: memory that is reused, and kernels that pass over it.

What a layer keeps for its gradient is freed when a training step ends, and needed again by the next
one. The C library hands blocks of this size back to the system, which fills the next ones with
zeros page by page. `empty` is `torch.empty` for the CPU, whose large blocks come back here instead;
it never holds more than was in use at once.

torch samples the mask of dropout in one thread, and takes ten passes over the logits of a softmax
layer to get their gradient, and nearly as many over those of a decoder that copies.
"""

from __future__ import annotations

import math
from threading import RLock
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unspool import native

LARGE = 1 << 20  # bytes; smaller blocks are left to the C library, which is good at them
FITS = 1.5  # a free block may be so much larger than what is wanted


class Pool:
    """Free blocks, as tensors of bytes, the one that came back last at the end.

    A tensor may die in any thread, also while this one takes a block: then one more stands at the
    end, and the indices of the others stay right.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.free: list[Tensor] = []
        self.in_use = self.most = 0  # bytes; `most` of all times

    def take(self, size: int) -> Tensor:
        """A block of at least `size` bytes."""
        with self.lock:
            fits = [at for at, block in enumerate(self.free) if size <= len(block) <= FITS * size]
            block = self.free.pop(fits[-1]) if fits else torch.empty(size, dtype=torch.uint8)
            self.in_use += len(block)
            self.most = max(self.most, self.in_use)
            while self.free and self.in_use + sum(map(len, self.free)) > self.most:
                self.free.pop(0)
            return block

    def give_back(self, block: Tensor) -> None:
        with self.lock:
            self.in_use -= len(block)
            self.free.append(block)


class Loan:
    """A block for as long as an array, and so a tensor, is made of it."""

    def __init__(self, pool: Pool, size: int) -> None:
        self.pool, self.block = pool, pool.take(size)
        data = (self.block.data_ptr(), False)  # not read-only
        self.__array_interface__: dict[str, Any] = {
            "shape": (size,), "typestr": "|u1", "data": data, "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        self.pool.give_back(self.block)


POOL = Pool()


def empty(*shape: int, dtype: torch.dtype) -> Tensor:
    """An unfilled tensor of the CPU."""
    size = math.prod(shape) * dtype.itemsize
    if size < LARGE:
        return torch.empty(shape, dtype=dtype)
    return torch.from_numpy(np.asarray(Loan(POOL, size))).view(dtype).view(shape)


def can_pass(x: Tensor) -> bool:
    """Whether the kernels take this array."""
    return (
        native.INSTRUCTIONS is not None
        and x.dtype == torch.float32
        and x.device.type == "cpu"
        and x.is_contiguous()
    )


def dropout(x: Tensor, rate: float, key: int) -> Tensor:
    """x / (1 − rate) where a hash of the index and the `key` (64 bits) keeps it, elsewhere 0."""
    y = torch.empty_like(x)
    native._kernels.dropout(x, y, key, rate, torch.get_num_threads())
    return y


def softmax_gradient_(logits: Tensor, targets: Tensor, *, smoothing: float, scale: float) -> float:
    """The sum over rows of CE(logits (N, K), targets (N,)), where a target is
    (1 − smoothing) onehot(y) + smoothing / K. In place of the logits: the gradient of that sum,
    times `scale`."""
    return native._kernels.softmax_gradient(
        logits, targets, smoothing, scale, torch.get_num_threads()
    )


def log_mixture(
    scores: Tensor, alignment: Tensor, tokens: Tensor, sources: Tensor, *, vocab: int, size: int
) -> Tensor:
    """Log probabilities (R, size) of the extended vocabulary; the reference is `CopyOutput.mix`.

    scores     (R, K) of `vocab` tokens, then of generating; what comes after is not read
    alignment  (R, S)
    tokens     (M, S) of the extended vocabulary, -1 at padding
    sources    (R,) int32: which of the M is a row's own
    """
    log_p = empty(len(scores), size, dtype=torch.float32)
    arrays = {
        "scores": scores, "alignment": alignment, "tokens": tokens, "sources": sources,
        "log_p": log_p,
    }  # fmt: skip
    native._kernels.log_mixture(arrays, vocab, torch.get_num_threads())
    return log_p
