"""Taps: named points where the inside of a model can be watched.

In: a model whose modules pass values through `Tap`s. Out: a `Trace` of what passed, by path.

    with record(model, "*.forget_gate") as trace:
        model(x)
    trace["layers.0.forwards.forget_gate"]       # (B, T, H)

A tap is the identity. Off, it costs one comparison; nothing is kept when the block ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn


class Tap(nn.Module):
    """The identity under a name; while recorded it also appends what passes to `passed`.

    It is called without what nn.Module does around `forward` for hooks, which would take longer.
    """

    passed: list[Tensor | tuple[Tensor, ...]] | None = None

    def __call__(self, value: Tensor) -> Tensor:
        if self.passed is not None:
            self.passed.append(value)
        return value


class Trace(Mapping[str, Tensor]):
    """What passed the recorded taps: `trace[path]` is the value of the latest pass.

    A tap inside a cell is passed once a time step; its value is stacked to (B, T, ...). In time
    steps beyond a sequence's length it holds whatever the equations gave there: mask it.
    """

    def __init__(self, taps: Mapping[str, Tap]) -> None:
        self._passed: dict[str, list[Tensor | tuple[Tensor, ...]]] = {path: [] for path in taps}
        for path, tap in taps.items():
            tap.passed = self._passed[path]

    def passes(self, path: str) -> list[Tensor]:
        """The values of every pass, oldest first (several chunks of a stream, for instance)."""
        return [torch.stack(v, 1) if isinstance(v, tuple) else v for v in self._passed[path]]

    def steps(self, path: str) -> tuple[Tensor, ...]:
        """The latest pass as separate steps in time order: the very tensors of the graph, so
        that `torch.autograd.grad(loss, trace.steps(path))` works."""
        value = self._passed[path][-1]
        return value if isinstance(value, tuple) else (value,)

    def __getitem__(self, path: str) -> Tensor:
        if not self._passed.get(path):
            raise KeyError(path)
        value = self._passed[path][-1]
        return torch.stack(value, 1) if isinstance(value, tuple) else value

    def __iter__(self) -> Iterator[str]:
        return (path for path, values in self._passed.items() if values)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def taps(model: nn.Module) -> dict[str, Tap]:
    """Every tap of the model by its path."""
    return {path: module for path, module in model.named_modules() if isinstance(module, Tap)}


_blocks = 0  # of `record` that are open: without one no module needs to be searched


def recording(module: nn.Module) -> bool:
    """Whether any tap inside `module` is being recorded."""
    return _blocks > 0 and any(tap.passed is not None for tap in taps(module).values())


@contextmanager
def record(model: nn.Module, *patterns: str) -> Iterator[Trace]:
    """Records the taps whose path matches one of the shell-like `patterns` (none: all taps)."""
    found = taps(model)
    chosen = {
        path: tap
        for path, tap in found.items()
        if not patterns or any(fnmatchcase(path, pattern) for pattern in patterns)
    }
    if not chosen:
        known = ", ".join(found) or "none at all"
        raise ValueError(f"no tap matches {', '.join(patterns) or '*'}; this model has: {known}")
    before = {path: tap.passed for path, tap in chosen.items()}
    global _blocks
    _blocks += 1
    try:
        yield Trace(chosen)
    finally:
        _blocks -= 1
        for path, tap in chosen.items():
            tap.passed = before[path]


@contextmanager
def over_time(module: nn.Module, *, reverse: bool = False) -> Iterator[None]:
    """Joins what the taps of `module` pass in this block, one value a step, into one entry.

    With `reverse` the steps came last to first and are put back in the order of time.
    """
    found = taps(module).values() if _blocks else ()
    recorded = [(tap, tap.passed) for tap in found if tap.passed is not None]
    for tap, _ in recorded:
        tap.passed = []
    try:
        yield
    finally:
        for tap, outer in recorded:
            steps = tuple(v for v in tap.passed or () if isinstance(v, Tensor))
            tap.passed = outer
            if steps:
                outer.append(steps[::-1] if reverse else steps)
