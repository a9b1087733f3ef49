"""Positions against the papers' formulas in plain Python and against ONNX's operator."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from unspool.errors import ConfigError
from unspool.nn.positions import Learned, Rotary, Sinusoidal, added_positions


def sinusoid(pos: int, column: int, width: int) -> float:
    angle = pos / math.pow(10000, (column - column % 2) / width)
    return math.cos(angle) if column % 2 else math.sin(angle)


@pytest.mark.parametrize("width", [1, 2, 5, 8, 31])
@pytest.mark.parametrize("offset", [0, 3, 100_000])
def test_sinusoids_are_the_formula(width: int, offset: int) -> None:
    expected = [[sinusoid(offset + t, c, width) for c in range(width)] for t in range(6)]
    x = torch.randn(2, 6, width, dtype=torch.double)
    torch.testing.assert_close(
        Sinusoidal(width)(x, offset), x + torch.tensor(expected, dtype=x.dtype), rtol=0, atol=1e-10
    )
    single = Sinusoidal(width)(torch.zeros(2, 6, width), offset)
    torch.testing.assert_close(single[0], torch.tensor(expected), rtol=0, atol=1e-6)


def test_sinusoids_are_not_saved() -> None:
    assert Sinusoidal(4).state_dict() == {}
    assert Rotary(4).state_dict() == {}


def test_a_step_gets_the_position_of_its_offset() -> None:
    x = torch.randn(2, 7, 6)
    for layer in (Sinusoidal(6), Learned(7, 6)):
        whole = layer(x)
        steps = [layer(x[:, t : t + 1], t) for t in range(7)]
        torch.testing.assert_close(torch.cat(steps, 1), whole)


def test_learned_positions_are_added_and_learned() -> None:
    layer = Learned(5, 3).double()
    x = torch.randn(2, 4, 3, dtype=torch.double, requires_grad=True)
    torch.testing.assert_close(layer(x) - x, layer.P[:4].expand(2, -1, -1))
    layer(x).sum().backward()
    assert layer.P.grad is not None
    assert layer.P.grad[:, 0].tolist() == [2, 2, 2, 2, 0]


def test_learned_positions_end() -> None:
    layer = Learned(5, 3)
    with pytest.raises(ValueError, match=r"learned for 5 time steps; got 6"):
        layer(torch.zeros(1, 6, 3))
    with pytest.raises(ValueError, match=r"learned for 5 time steps; got 6"):
        layer(torch.zeros(1, 1, 3), 5)


def test_rotary_is_the_rotation_of_each_pair() -> None:
    x = torch.randn(2, 3, 5, 6, dtype=torch.double)
    y = Rotary(6)(x, 4)
    for t in range(5):
        for i in range(3):
            turn = complex(math.cos(a := (t + 4) * 10000 ** (-2 * i / 6)), math.sin(a))
            expected = torch.view_as_complex(x[..., t, 2 * i : 2 * i + 2].contiguous()) * turn
            torch.testing.assert_close(
                y[..., t, 2 * i : 2 * i + 2], torch.view_as_real(expected), rtol=0, atol=1e-12
            )


def test_rotary_scores_depend_on_the_distance_only() -> None:
    rotary = Rotary(8)
    q, k = torch.randn(2, 1, 8, dtype=torch.double)
    for distance in (-3, 0, 5):
        scores = [rotary(q, t) @ rotary(k, t + distance).mT for t in (3, 10, 1000)]
        for score in scores:
            torch.testing.assert_close(score, scores[0], rtol=0, atol=1e-10)
    assert (rotary(q, 3) @ rotary(k, 3).mT - rotary(q, 3) @ rotary(k, 4).mT).abs() > 1e-3


def test_rotary_against_onnx() -> None:
    B, A, T, d = 2, 3, 5, 6
    x = torch.randn(B, A, T, d, dtype=torch.double)
    angle = np.arange(T)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    node = helper.make_node(
        "RotaryEmbedding", ["x", "cos", "sin", "positions"], ["y"], interleaved=1
    )
    kinds = {"x": TensorProto.DOUBLE, "cos": TensorProto.DOUBLE, "sin": TensorProto.DOUBLE}
    graph = helper.make_graph(
        [node],
        "rotary",
        [
            *(helper.make_tensor_value_info(n, k, None) for n, k in kinds.items()),
            helper.make_tensor_value_info("positions", TensorProto.INT64, None),
        ],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    feeds = {
        "x": x.numpy(),
        "cos": np.cos(angle),
        "sin": np.sin(angle),
        "positions": np.tile(np.arange(T), (B, 1)),
    }
    (y,) = ReferenceEvaluator(model).run(None, feeds)
    torch.testing.assert_close(Rotary(d)(x), torch.from_numpy(y), rtol=0, atol=1e-10)


def test_gradients() -> None:
    x = torch.randn(1, 3, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(Rotary(4), [x])
    assert torch.autograd.gradcheck(Sinusoidal(4), [x])
    assert torch.autograd.gradcheck(Learned(3, 4).double(), [x])


def test_choices() -> None:
    assert isinstance(added_positions("sinusoidal", 4), Sinusoidal)
    assert isinstance(added_positions("learned", 4, length=3), Learned)
    assert added_positions("rotary", 4) is None
    assert added_positions("none", 4) is None
    with pytest.raises(ConfigError, match=r"unknown positions.*Did you mean 'learned'"):
        added_positions("learnt", 4)
    with pytest.raises(ValueError, match="need a length"):
        added_positions("learned", 4)
    with pytest.raises(ValueError, match="must be even; got 5"):
        Rotary(5)


def test_descriptions() -> None:
    assert Sinusoidal(4).describe() == "sinusoidal positions"
    assert Learned(5, 4).describe() == "learned positions, at most 5"
