"""Figures of ideas: what stands in them is right."""

from __future__ import annotations

import numpy as np
import pytest

from unspool.insight.plots.blocks import BAHDANAU, HIGH, Box
from unspool.insight.plots.ideas import SHAPES, activations_figure, curves_figure
from unspool.insight.plots.kernels import KERNELS, gaussian
from unspool.insight.plots.wiring import CELLS, LSTM, STEPS, Point, Wire
from unspool.nn import ACTIVATIONS
from unspool.nn import CELLS as ALL


def passes(wire: Wire, at: Point) -> bool:
    """Whether a wire, which runs along the axes, goes through a point."""
    return any(
        min(a[0], b[0]) <= at[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= at[1] <= max(a[1], b[1])
        for a, b in zip(wire.points, wire.points[1:])
    )


@pytest.mark.parametrize("name", CELLS)
def test_every_node_of_a_cell_is_wired_and_every_wire_begins_somewhere(name) -> None:
    wiring = CELLS[name]
    assert name in ALL
    for node in wiring.nodes:
        assert any(passes(wire, node.at) for wire in wiring.wires), node
    for wire in wiring.wires:
        start = wire.points[0]
        others = [other for other in wiring.wires if other is not wire]
        outside = start[0] == 0 or start[1] < 0  # comes in from the left or from below
        assert outside or any(passes(other, start) for other in others), wire


def test_the_four_steps_have_all_equations_of_the_lstm() -> None:
    assert sorted(i for _, lines in STEPS.values() for i in lines) == list(range(6))
    assert {node.step for node in LSTM.nodes} == set(STEPS)


def test_kernels_keep_brightness_or_find_change() -> None:
    for name, numbers in KERNELS.items():
        assert np.sum(numbers) == pytest.approx(0 if "edges" in name else 1), name


def test_a_gaussian_is_a_density() -> None:
    x = np.linspace(-10, 10, 2001)
    assert gaussian(x, 0.7).sum() * (x[1] - x[0]) == pytest.approx(1)


def test_steps_of_the_shapes_exist() -> None:
    for shape in SHAPES.values():
        assert {*shape.reads, *shape.answers} <= set(range(shape.steps))


def test_products_of_positions_depend_on_their_distance_alone() -> None:
    lines = curves_figure().axes[1].get_lines()
    found = [dict(zip(*line.get_data())) for line in lines]
    for distance in range(-5, 15):
        assert len({round(float(own[distance]), 4) for own in found}) == 1
    assert found[0][0] == pytest.approx(1)


def test_every_activation_function_is_drawn_with_its_slope() -> None:
    figure = activations_figure()
    assert len(figure.axes) == len(ACTIVATIONS)
    for axes in figure.axes:
        f, slope = (line.get_ydata() for line in axes.get_lines())
        numeric = np.gradient(f, axes.get_lines()[0].get_xdata())
        far = abs(axes.get_lines()[0].get_xdata()) > 0.05  # some have a corner at 0
        np.testing.assert_allclose(slope[far], numeric[far], atol=1e-3)


def on_edge(box: Box, point: tuple[float, float]) -> bool:
    """Whether a point lies on the border of a box."""
    across, upwards = abs(point[0] - box.at[0]), abs(point[1] - box.at[1])
    wide, high = box.wide / 2, HIGH / 2
    beside = across == pytest.approx(wide) and upwards <= high
    return beside or (upwards == pytest.approx(high) and across <= wide)


def test_the_attention_of_a_decoder_is_drawn_as_it_is_computed() -> None:
    """e_j = a(s_{t-1}, h_j), c_t = Σ α_j h_j, s_t = g(y_{t-1}, c_t, s_{t-1})"""
    made_of = {
        box.text: {
            other.text
            for way in BAHDANAU.ways
            if on_edge(box, way.points[-1])
            for other in BAHDANAU.boxes
            if on_edge(other, way.points[0])
        }
        for box in BAHDANAU.boxes
    }
    h = {f"$h_{j}$" for j in range(1, 5)}
    softmax = "softmax: weights α"
    context = next(name for name in made_of if name.startswith("context"))
    for j in range(1, 5):
        assert made_of[f"$e_{j}$"] == {f"$h_{j}$", "$s_{t-1}$"}
    assert made_of[softmax] == {f"$e_{j}$" for j in range(1, 5)}
    assert made_of[context] == {softmax, *h}
    assert made_of["$s_t$"] == {context, "$s_{t-1}$", "$y_{t-1}$"}
    assert made_of["$y_t$"] == {context, "$s_t$"}
    assert all(made_of[name] == set() for name in (*h, "$s_{t-1}$", "$y_{t-1}$"))
