"""Recording what passes a tap."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from unspool.nn import Recurrent, Tap, record, taps
from unspool.nn.taps import recording


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
