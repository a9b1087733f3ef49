"""What `Recurrent` refuses, and what only it does: stacking, dropout between layers, states."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import Tensor

from unspool import native
from unspool.errors import ConfigError
from unspool.nn import CELLS, GRU, LSTM, Recurrent, cell_options, map_state
from unspool.nn.recurrent_paths import run_sequence, unroll


def test_layers_read_the_layer_below() -> None:
    model = Recurrent("lstm", 3, 4, layers=2, bidirectional=True)
    x, lengths = torch.randn(2, 5, 3), torch.tensor([5, 3])
    for k, cells in enumerate(model.cells()):
        start = cells[0].start(2)
        there = run_sequence(cells[0], x, lengths, start)
        back = unroll(cells[1], x, lengths, start, backwards=True)
        x = torch.cat([there[0], back[0]], -1)
        assert cells[0].inputs == (8 if k else 3)
    outputs, state = model(torch.zeros(2, 5, 3))
    assert [[len(cell) for cell in layer] for layer in state] == [[2, 2], [2, 2]]
    assert model.size == outputs.shape[-1] == 8


def test_dropout_stands_between_layers_only() -> None:
    x = torch.randn(2, 5, 3)
    one = Recurrent("gru", 3, 4, dropout=0.9)
    assert torch.equal(one(x).outputs, one(x).outputs)
    two = Recurrent("gru", 3, 4, layers=2, dropout=0.9)
    assert not torch.equal(two(x).outputs, two(x).outputs)
    state = (*two.start(2)[:1], ((torch.ones(2, 4),),))
    assert (two(x, None, state).outputs != 0).all(), "none after the last layer"
    two.eval()
    assert torch.equal(two(x).outputs, two(x).outputs)


def test_a_state_can_be_mapped() -> None:
    model = Recurrent("lstm", 3, 4, layers=2)
    x = torch.randn(5, 6, 3)
    state = model(x).state
    cut = map_state(state, Tensor.detach)
    assert not any(s.requires_grad for layer in cut for cell in layer for s in cell)
    rows = torch.tensor([4, 0])
    some = model(x[rows], None, map_state(state, lambda s: s[rows]))
    torch.testing.assert_close(some.outputs, model(x, None, state).outputs[rows])


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2, 5, 4), "shape (batch, time, 3), or integers (batch, time); got (2, 5, 4)"),
        (torch.zeros(2, 3), "got (2, 3)"),
        (torch.zeros(2, 5, 3, dtype=torch.long), "got (2, 5, 3)"),
        (torch.zeros(2, 0, 3), "no time steps"),
    ],
)
def test_inputs_that_do_not_fit(x: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Recurrent("lstm", 3, 4)(x)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([0, 5], "lengths must lie between 1 and 5; got 0 to 5"),
        ([1, 6], "lengths must lie between 1 and 5; got 1 to 6"),
        ([1, 2, 3], "lengths must have shape (2,); got (3,)"),
    ],
)
def test_lengths_that_do_not_fit(lengths: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Recurrent("lstm", 3, 4)(torch.zeros(2, 5, 3), torch.tensor(lengths))


def test_states_that_do_not_fit() -> None:
    model = Recurrent("lstm", 3, 4)
    x = torch.zeros(2, 5, 3)
    for state in (model.start(3), Recurrent("gru", 3, 4).start(2), model.start(2) * 2):
        with pytest.raises(ValueError, match="the state must be"):
            model(x, None, state)


def test_unknown_cells_and_options_name_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"unknown cell; got 'lstn'\. Did you mean 'lstm'"):
        Recurrent("lstn", 3, 4)
    with pytest.raises(
        ConfigError, match=r"GRU has no such option; got 'rest'\. Did you mean 'res"
    ):
        Recurrent("gru", 3, 4, options={"rest": "after"})
    with pytest.raises(ConfigError, match=r"MinGRU has no such option; got 'x'\. It has none"):
        Recurrent("mingru", 3, 4, options={"x": 1})


def test_options_are_those_of_the_constructor() -> None:
    assert cell_options(LSTM) == {"forget_bias": 1.0}
    assert cell_options(GRU) == {"reset": "after", "update": "keep"}
    assert {name: list(cell_options(cell)) for name, cell in CELLS.items()} == {
        "elman": ["activation"],
        "irnn": ["input_std"],
        "lstm": ["forget_bias"],
        "peephole": ["peepholes", "matrix", "forget_bias"],
        "coupled": ["forget_bias"],
        "gru": ["reset", "update"],
        "mingru": [],
        "minlstm": ["forget_bias"],
    }


def test_an_id_outside_the_vocabulary_is_an_error() -> None:
    with pytest.raises(IndexError):
        Recurrent("lstm", 3, 4)(torch.tensor([[3]]))


def test_padding_may_hold_ids_outside_the_vocabulary() -> None:
    model = Recurrent("lstm", 3, 4)
    ids = torch.tensor([[1, 2], [1, -100]])
    assert torch.equal(
        model(ids, torch.tensor([2, 1])).outputs[1, 0], model(ids[1:, :1]).outputs[0, 0]
    )


def test_inference_mode_gives_the_same_answer() -> None:
    x, lengths = torch.randn(2, 5, 3), torch.tensor([5, 2])
    for name in CELLS:
        model = Recurrent(name, 3, 4, bidirectional=True).eval()
        with torch.inference_mode():
            quick = model(x, lengths).outputs
        torch.testing.assert_close(quick, model(x, lengths).outputs)


def test_mingru_and_minlstm_in_parallel_and_in_sequence() -> None:
    """The scan over 200 steps against 200 steps, with gradients, in float64."""
    for name in ("mingru", "minlstm"):
        torch.manual_seed(4)
        model = Recurrent(name, 3, 8, layers=2).double()
        x = torch.randn(2, 200, 3, dtype=torch.double)
        found = []
        for fast in (True, False):
            model.fast = fast
            model.zero_grad()
            outputs = model(x, torch.tensor([200, 77])).outputs
            outputs.square().sum().backward()
            found.append([outputs, *(p.grad.clone() for p in model.parameters())])
        for a, b in zip(*found):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_lengths_may_be_a_list_or_a_tuple() -> None:
    torch.manual_seed(0)
    layer, x = Recurrent("gru", 3, 4, bidirectional=True), torch.randn(3, 5, 3)
    wanted = layer(x, torch.tensor([5, 2, 3])).outputs
    for lengths in ([5, 2, 3], (5, 2, 3), np.array([5, 2, 3])):
        assert torch.equal(layer(x, lengths).outputs, wanted)
    with pytest.raises(ValueError, match=r"lengths must have shape \(3,\); got \(2,\)"):
        layer(x, [5, 2])
    with pytest.raises(ValueError, match="lengths must lie between 1 and 5; got 0 to 5"):
        layer(x, [5, 0, 3])


@pytest.mark.parametrize("cell", ["lstm", "gru", "elman", "mingru"])
def test_second_derivatives(cell) -> None:
    """The loop has them (`gradgradcheck` decides); the kernels have not, and name the loop."""
    torch.manual_seed(0)
    loop = Recurrent(cell, 2, 3, fast=False).double()
    x = torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: loop(x, [3, 2]).outputs, (x,))
    kernels, x = Recurrent(cell, 2, 3), torch.randn(2, 3, 2, requires_grad=True)
    (first,) = torch.autograd.grad(kernels(x, [3, 2]).outputs.pow(2).sum(), x, create_graph=True)
    if native.INSTRUCTIONS:
        with pytest.raises(RuntimeError, match=r"no second derivative; build .* with fast=False"):
            first.sum().backward()


@pytest.mark.filterwarnings("ignore:.*jit.trace:DeprecationWarning")
def test_tracing_is_refused_in_words() -> None:
    with pytest.raises(RuntimeError, match=r"torch\.jit\.trace would fix the number of steps"):
        torch.jit.trace(Recurrent("lstm", 3, 4), (torch.randn(2, 5, 3),))
