"""Recording what passes a tap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from unspool.nn import (
    Recurrent,
    Tap,
    TapTrace,
    TransformerEncoder,
    TransformerOptions,
    record,
    taps,
)
from unspool.nn.cells import steady
from unspool.nn.cells.base import steady_stepper
from unspool.nn.taps import recorded, recording


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleDict({"value": Tap()})
        self.result = Tap()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.result(2 * self.inner["value"](x))


def test_a_tap_is_the_identity_and_is_named_by_its_path() -> None:
    model = Twice()
    x = torch.ones(3)
    assert set(taps(model)) == {"inner.value", "result"}
    with record(model) as trace:
        assert not trace
        assert torch.equal(model(x), 2 * x)
    assert trace["inner.value"] is x
    assert torch.equal(trace["result"], 2 * x)
    assert dict(trace).keys() == {"inner.value", "result"}


def test_a_pattern_chooses() -> None:
    model = Twice()
    with record(model, "inner.*") as trace:
        model(torch.ones(1))
    assert set(trace) == {"inner.value"}
    with pytest.raises(KeyError, match="result"):
        trace["result"]


def test_a_pattern_that_matches_nothing_names_the_taps() -> None:
    with (
        pytest.raises(ValueError, match=r"no tap matches gates\.\*; .* inner\.value, result"),
        record(Twice(), "gates.*"),
    ):
        pass


def test_recording_ends_with_its_block_even_after_an_error() -> None:
    model = Twice()
    with pytest.raises(TypeError), record(model):
        model(None)
    assert not recording(model)
    with record(model, "result"):
        assert recording(model)
        assert not recording(model.inner)


def test_blocks_nest() -> None:
    model = Twice()
    with record(model) as outer:
        model(torch.ones(1))
        with record(model, "result") as inner:
            model(torch.full((1,), 5.0))
        model(torch.full((1,), 2.0))
    assert inner["result"].item() == 10
    assert [value.item() for value in outer.passes("result")] == [2, 4]
    assert [value.item() for value in outer.passes("inner.value")] == [1, 5, 2]


def test_the_latest_pass_counts_and_all_are_kept() -> None:
    model = Recurrent("lstm", 2, 3)
    with record(model, "*.hidden_state") as trace:
        first = model(torch.randn(1, 4, 2))
        second = model(torch.randn(1, 1, 2), None, first.state)
    path = "layers.0.forwards.hidden_state"
    assert trace[path].shape == (1, 1, 3)
    stream = torch.cat(trace.passes(path), 1)
    torch.testing.assert_close(stream, torch.cat([first.outputs, second.outputs], 1))


@pytest.mark.parametrize("way", ["forwards", "backwards"])
def test_gradients_by_recorded_steps(way: str) -> None:
    """The influence of each state on the loss: what plots of vanishing gradients need."""
    model = Recurrent("elman", 2, 3, bidirectional=True)
    with record(model, f"*.{way}.hidden_state") as trace:
        _, state = model(torch.randn(2, 5, 2))
        final = state[0][("forwards", "backwards").index(way)][0]
        steps = trace.steps(f"layers.0.{way}.hidden_state")
        gradients = torch.autograd.grad(final.sum(), steps)
    sizes = [g.norm().item() for g in gradients]
    last = -1 if way == "forwards" else 0
    assert gradients[last].eq(1).all()
    assert all(size > 0 for size in sizes)


def test_only_the_recorded_cell_leaves_the_fast_path() -> None:
    model = Recurrent("lstm", 2, 3, layers=2, fast=True)
    x = torch.randn(2, 4, 2)
    with (
        record(model, "layers.1.*"),
        pytest.raises(ValueError, match="fast=True cannot run cell 'lstm': a tap is recorded"),
    ):
        model(x)
    model.fast = "auto"
    with record(model, "layers.1.*.forget_gate") as trace:
        model(x)
    assert set(trace) == {"layers.1.forwards.forget_gate"}


def in_threads(*works: Callable[[], Any]) -> list[Any]:
    """What each function gives when all run at once, each in a thread of its own."""
    begin = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        begin.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(run, work) for work in works]]


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_a_thread_records_what_passes_in_it_alone(kind: str) -> None:
    """Two threads run one model, one of them recorded: its trace is complete, the other leaves
    neither its fast path nor anything in the trace, and both answer as alone, to the bit."""
    torch.manual_seed(1)
    model: nn.Module = Recurrent("lstm", 6, 16, bidirectional=True)
    if kind == "transformer":
        model = TransformerEncoder(TransformerOptions(6, 2, layers=2))
    x, lengths, times = torch.randn(2, 4, 9, 6), torch.tensor([9, 3, 5, 1]), 30
    plain = model(x[0], lengths).outputs
    with record(model) as trace:
        tapped = model(x[1], lengths).outputs
    inside, done = Event(), Event()

    def watched() -> list[tuple[Tensor, TapTrace]]:
        found = []
        for _ in range(times):
            with record(model) as own:
                inside.set()
                found.append((model(x[1], lengths).outputs, own))
        done.wait(60)
        return found

    def unwatched() -> list[Tensor]:
        inside.wait(60)
        try:
            assert not recording(model)
            assert not recorded()
            return [model(x[0], lengths).outputs for _ in range(times)]
        finally:
            done.set()

    with record(model) as held:  # of this thread, in which nothing passes meanwhile
        found, others = in_threads(watched, unwatched)
    assert not held
    assert all(torch.equal(answer, plain) for answer in others)
    for answer, own in found:
        assert torch.equal(answer, tapped)
        assert set(own) == set(trace)
        for path in trace:
            assert len(own.passes(path)) == 1
            assert torch.equal(own[path], trace[path])


def test_two_threads_hold_the_weights_at_once() -> None:
    torch.manual_seed(1)
    model = Recurrent("gru", 5, 32, layers=2)
    x, steps = torch.randn(2, 1, 40, 5), 40

    def write(which: int) -> tuple[Tensor, bool]:
        with torch.inference_mode(), steady(model):
            found, state = [], None
            for t in range(steps):
                outputs, state = model(x[which, :, t : t + 1], None, state)
                found.append(outputs)
            kept = any(steady_stepper(cells[0]) is not None for cells in model.cells())
        return torch.cat(found, 1), kept

    alone = [write(0), write(1)]
    assert all(
        torch.equal(a[0], b[0]) and a[1] == b[1]
        for _ in range(5)
        for a, b in zip(in_threads(lambda: write(0), lambda: write(1)), alone)
    )
    assert all(steady_stepper(cells[0]) is None for cells in model.cells())


def test_a_block_that_ends_in_another_thread_holds_nothing_longer() -> None:
    model = Recurrent("gru", 5, 32)
    cell = model.cells()[0][0]

    def steps() -> Iterator[bool]:
        with steady(model):
            yield steady_stepper(cell) is not None

    generator = steps()
    next(generator)
    in_threads(generator.close)
    assert steady_stepper(cell) is None
