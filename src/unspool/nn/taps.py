"""Taps: named points where the inside of a model can be watched.

In: a model whose modules pass values through `Tap`s. Out: a `Trace` of what passed, by path.

    with record(model, "*.forget_gate") as trace:
        model(x)
    trace["layers.0.forwards.forget_gate"]       # (B, T, H)

A tap is the identity. Off, it costs one comparison; nothing is kept on a module. What is recorded
belongs to the thread (more exactly, to the `contextvars` context) that opened the block: another
one that runs the same model neither adds to the trace nor leaves its fast paths.

Functions that are `overridable` can be replaced for values that are not tensors, as an export does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import wraps
from threading import Lock
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function

F = TypeVar("F", bound=Callable[..., Any])
Passed = list[Tensor | tuple[Tensor, ...]]

_open = 0  # blocks of `record`, in all threads: without one no module needs to be searched
_lock = Lock()
_recorded: ContextVar[Mapping[Tap, Passed]] = ContextVar("recorded")  # of this thread


class Tap(nn.Module):
    """The identity under a name; while it is recorded, what passes is appended to its trace.

    It is called without what nn.Module does around `forward` for hooks, which would take longer.
    """

    def __call__(self, value: Tensor) -> Tensor:
        if _open:
            passed = recorded().get(self)
            if passed is not None:
                passed.append(value)
        return value


def recorded() -> Mapping[Tap, Passed]:
    """The taps that this thread records, with what has passed them."""
    return _recorded.get({})


class TapTrace(Mapping[str, Tensor]):
    """Values of the recorded taps: `trace[path]` is that of the latest pass.

    A tap inside a cell is passed once a time step; its value is stacked to (B, T, ...). In time
    steps beyond a sequence's length it holds whatever the equations gave there: mask it.
    """

    def __init__(self, passed: Mapping[str, Passed]) -> None:
        self._passed = passed

    def passes(self, path: str) -> list[Tensor]:
        """The values of every pass, oldest first (several chunks of a stream, for instance)."""
        return [torch.stack(v, 1) if isinstance(v, tuple) else v for v in self._passed[path]]

    def steps(self, path: str) -> tuple[Tensor, ...]:
        """The latest pass as separate steps in time order: the very tensors of the graph, so
        that `torch.autograd.grad(loss, trace.steps(path))` works."""
        value = self._passed[path][-1]
        return value if isinstance(value, tuple) else (value,)

    def every_step(self, path: str) -> tuple[Tensor, ...]:
        """`steps` of every pass, oldest first."""
        passes = self._passed[path]
        return tuple(x for v in passes for x in (v if isinstance(v, tuple) else (v,)))

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


def recording(module: nn.Module) -> bool:
    """Whether this thread records any tap inside `module`."""
    if not _open:
        return False
    watched = recorded()
    return bool(watched) and any(tap in watched for tap in taps(module).values())


@contextmanager
def record(model: nn.Module, *patterns: str) -> Iterator[TapTrace]:
    """Records the taps whose path matches one of the shell-like `patterns` (none: all taps), in
    this thread."""
    all_taps = taps(model)
    chosen = {
        path: tap
        for path, tap in all_taps.items()
        if not patterns or any(fnmatchcase(path, pattern) for pattern in patterns)
    }
    if not chosen:
        known = ", ".join(all_taps) or "none at all"
        raise ValueError(f"no tap matches {', '.join(patterns) or '*'}; this model has: {known}")
    passed: dict[str, Passed] = {path: [] for path in chosen}
    with _count_open(), _recording({tap: passed[path] for path, tap in chosen.items()}):
        yield TapTrace(passed)


@contextmanager
def _count_open() -> Iterator[None]:
    global _open
    with _lock:
        _open += 1
    try:
        yield
    finally:
        with _lock:
            _open -= 1


@contextmanager
def _recording(passed: Mapping[Tap, Passed]) -> Iterator[None]:
    """In this block, what passes these taps in this thread goes into these lists."""
    before = recorded()
    _recorded.set({**before, **passed})
    try:
        yield
    finally:
        _recorded.set(before)


@contextmanager
def over_time(module: nn.Module, *, reverse: bool = False) -> Iterator[None]:
    """Joins what the taps of `module` pass in this block, one value a step, into one entry.

    With `reverse` the steps came last to first and are put back in the order of time.
    """
    if not recording(module):
        yield
        return
    outer = recorded()
    inner: dict[Tap, Passed] = {tap: [] for tap in taps(module).values() if tap in outer}
    try:
        with _recording(inner):
            yield
    finally:
        for tap, passed in inner.items():
            steps = tuple(v for v in passed if isinstance(v, Tensor))
            if steps:
                outer[tap].append(steps[::-1] if reverse else steps)


def overridable(function: F) -> F:
    """The function, unless an argument has a `__torch_function__`, which then takes over
    as it does for functions of torch (`torch.overrides`)."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        relevant = (*args, *kwargs.values()) if kwargs else args
        if has_torch_function(relevant):
            return handle_torch_function(call, relevant, *args, **kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]
