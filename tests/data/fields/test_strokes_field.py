"""What is done to drawings on request, and that it is done once."""

from __future__ import annotations

import numpy as np
import pytest

from unspool.data.fields.strokes import (
    Preparation,
    StrokesSource,
    box,
    simplified,
    smoothed,
    stroke_items,
    upright,
)
from unspool.data.fields.vectors import VectorField
from unspool.data.read.strokes import as_strokes, from_lines
from unspool.errors import DataError

RNG = np.random.default_rng(2)
LINES = [RNG.normal(size=(n, 2)).cumsum(0) for n in (20, 1, 9)]


def test_smoothing_is_the_mean_of_neighbours() -> None:
    found = smoothed(LINES[0], 2)
    np.testing.assert_allclose(found[5], LINES[0][3:8].mean(0))
    np.testing.assert_allclose(found[1], LINES[0][0:3].mean(0))
    np.testing.assert_allclose(found[[0, -1]], LINES[0][[0, -1]])
    assert smoothed(LINES[1], 3).tolist() == LINES[1].tolist()


def test_points_on_a_line_are_left_out() -> None:
    line = np.array([[0, 0], [1, 0.01], [2, 0], [3, 0], [3, 1], [3, 2.0]])
    assert simplified(line, 0.1).tolist() == [[0, 0], [3, 0], [3, 2]]
    assert len(simplified(line, 0.0)) == 5  # (2, 0) is between (1, 0.01) and (3, 0), not on it
    assert simplified(LINES[1], 1.0).tolist() == LINES[1].tolist()
    closed = np.array([[0, 0], [1, 1], [0, 0.0]])
    assert simplified(closed, 0.1).tolist() == closed.tolist()


def test_slant_is_removed() -> None:
    upright_one = [np.array([[0, 0], [0, 5], [3, 5], [3, 0.0]])]
    slanted = [line @ np.array([[1, 0], [0.4, 1]]) for line in upright_one]
    np.testing.assert_allclose(upright(slanted)[0], upright_one[0], atol=1e-12)


@pytest.mark.parametrize(("size", "axis"), [("height", 1), ("box", None)])
def test_size(size, axis) -> None:
    found = box(Preparation(size=size).of(from_lines(LINES)).lines())
    assert (found.max() if axis is None else found[axis]) == pytest.approx(1)
    flat = Preparation(size=size).of(from_lines([np.array([[0, 0], [4, 0.0]])]))
    assert box(flat.lines()).tolist() == [1, 0]
    dot = Preparation(size=size).of(from_lines([np.array([[3, 3.0]])]))
    assert dot.values.tolist() == [[0, 0, 1]]


def test_what_is_prepared_is_not_prepared_again() -> None:
    field = VectorField(
        "strokes", StrokesSource(Preparation(smoothing=2, slant="remove", size="height"))
    )
    once = field.recording([line.tolist() for line in LINES], "here")
    assert field.recording(once, "here") is once
    other = VectorField("strokes", StrokesSource(Preparation(size="box")))
    assert other.recording(once, "here") is not once  # what one field has made, another may read
    assert field.storage_key() != VectorField("strokes", StrokesSource(Preparation())).storage_key()


def test_where_a_drawing_stands_does_not_matter() -> None:
    field = VectorField("strokes", StrokesSource(Preparation()))
    moved = [line + 100 for line in LINES]
    a, b = (field.recording([line.tolist() for line in own], "here") for own in (LINES, moved))
    np.testing.assert_allclose(a.values, b.values, atol=1e-4)
    assert a.values[0].tolist() == [0, 0, 0]


def test_one_drawing_or_several() -> None:
    one = [[[0, 0], [1, 2]], [[3, 3], [4, 5]]]
    assert list(stroke_items(one)) == [one]
    assert list(stroke_items([one, one])) == [one, one]
    offsets = [[0, 0, 0], [1, 2, 1]]
    assert list(stroke_items([offsets, offsets])) == [offsets, offsets]
    strokes = as_strokes(one, "here")
    assert list(stroke_items(strokes)) == [strokes]
    with pytest.raises(DataError, match="a str is not a drawing"):
        stroke_items("one")


def test_an_example_that_was_prepared_is_not_prepared_again() -> None:
    """As a page keeps it: smoothing twice would be another drawing."""
    field = VectorField("strokes", StrokesSource(Preparation(smoothing=2, size="height")))
    once = field.recording([RNG.normal(size=(9, 2)).tolist()], "here")
    kept = field.form.from_json(field.form.to_json(once), "here")
    again = field.recording(kept, "here")
    assert np.allclose(again.values, once.values, atol=1e-5)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([[1, 2, 0], [3, None, 1]], "here: point 2 of the drawing is not finite"),
        ([[1, 2, 0], [3, 4, 7]], "here: pen up is 0 or 1, and at point 2 it is neither"),
        ([[[1, 2], [3, 4]]], "here: a series has steps and channels"),
    ],
)
def test_what_a_page_sends_that_is_no_drawing(value, says) -> None:
    with pytest.raises(DataError, match=says):
        VectorField("strokes", StrokesSource(Preparation())).form.from_json(value, "here")


@pytest.mark.parametrize("given", [[[[1, 2], 3]], [[[1, 2], [3, 4]], 5]])
def test_lists_that_are_no_drawing(given) -> None:
    field = VectorField("strokes", StrokesSource(Preparation()))
    with pytest.raises(DataError, match=r"not a drawing|not a list of points"):
        [field.recording(each, "here") for each in field.form.items(given)]
