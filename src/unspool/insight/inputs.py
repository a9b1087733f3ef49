"""The vectors that a network reads, and others put in their place.

In: a reading. Out: its answer as a function of those vectors, and the slopes of that function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn.network import Network
from unspool.nn.pairs import Between
from unspool.nn.transformer import Stack
from unspool.tasks.reading import Reading

SCORES, TOKENS = 4_000_000, 8192  # made and read at once, at most

Change = Callable[[Tensor], Tensor]


class Vectors:
    """The vectors x (T, E) that a reading's `input_module` reads, and F at others in their place.

    The baseline x' is zero. A Transformer normalises its vectors, and zero cannot be normalised:
    there x' is the vector of <unk>. Steps that stand for no token keep their vectors. The baseline
    of a series is the blank one, whose channels stay at their means.
    """

    def __init__(self, reading: Reading, *, double: bool = False) -> None:
        self.reading = reading.in_float64() if double else reading
        self.number = torch.float64 if double else torch.float32
        self.network = self.reading.input.input_module
        self.x, self.size = self._read(self.reading)
        self.baseline = torch.zeros_like(self.x)
        if isinstance(self.network, Stack) or reading.input.elements:
            self.baseline, _ = self._read(self.reading.blank())

    def _read(self, reading: Reading) -> tuple[Tensor, int]:
        """The vectors of a reading, and how many scores it gives."""
        return seen_by(self.network, reading)

    def at(self, alphas: np.ndarray) -> Iterator[Tensor]:
        """x' + α (x - x') for each α, so many at a time as memory is for: (n, T, E)"""
        rows = rows_at_once(self.size, len(self.x) * self.reading.input.step_cost)
        for some in torch.from_numpy(alphas).split(rows):
            points = self.baseline + some[:, None, None] * (self.x - self.baseline)
            yield points.to(self.number)

    @torch.no_grad()
    def values(self, step: int, answer: int, alphas: np.ndarray) -> np.ndarray:
        """F at each α: (n) -> (n)"""
        rows = []
        for points in self.at(alphas):
            with changed(self.network, always(points)):
                scores = self.reading.run(len(points))
            rows.append(self.reading.answer.explained(scores, step, answer).numpy())
        return np.concatenate(rows)

    def contributions(self, step: int, answer: int, alphas: np.ndarray) -> np.ndarray:
        """(x - x') · ∂F/∂x at each α: (n) -> (n, T, 1), or where elements have names, of each of
        them: (n, T, E)"""
        rows, elements = [], self.reading.input.elements
        for points in self.at(alphas):
            points.requires_grad_()
            with torch.enable_grad(), changed(self.network, always(points)):
                value = self.reading.answer.explained(self.reading.run(len(points)), step, answer)
                (slope,) = torch.autograd.grad(value.sum(), points)
            each = slope.double() * (self.x - self.baseline)
            rows.append((each if elements else each.sum(-1, keepdim=True)).numpy())
        return np.concatenate(rows)


@torch.no_grad()
def seen_by(module: nn.Module, reading: Reading) -> tuple[Tensor, int]:
    """The vectors (T, E) that a module first reads in a reading, and how many scores that gives."""
    seen: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        seen.append(x[0])
        return x

    with changed(module, keep):
        size = reading.run().numel()
    return seen[0].double(), size


def rows_at_once(scores: int, tokens: int) -> int:
    """Rows of a batch for which there is memory, each with so many scores and tokens."""
    return max(1, min(SCORES // scores, TOKENS // tokens))


def always(points: Tensor) -> Change:
    """The same vectors whatever was read."""
    return lambda x: points


@contextmanager
def changed(network: nn.Module, change: Change) -> Iterator[None]:
    """In this block, in this thread alone, the network, or a layer before it, reads change(x)
    (B, T, E) in place of x; one-hot vectors, which are otherwise never made, too."""
    thread = get_ident()

    def before(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if get_ident() != thread:
            return None
        x = arguments[0]
        if not x.is_floating_point():
            assert isinstance(network, Network | Between)
            x = F.one_hot(x, network.inputs).to(next(module.parameters()).dtype)
        return (change(x), *arguments[1:])

    handle = network.register_forward_pre_hook(before)
    try:
        yield
    finally:
        handle.remove()
