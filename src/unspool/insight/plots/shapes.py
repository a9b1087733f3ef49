"""The shapes of sequence tasks: which steps read something, and which answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from unspool.insight.plots.graph import arrow
from unspool.insight.plots.style import COLOURS
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOX = 0.56


class Shape(NamedTuple):
    """The steps of a network; those that read and those that answer; an example.

    fed   an answer is what the next step reads
    """

    steps: int
    reads: tuple[int, ...]
    answers: tuple[int, ...]
    example: str
    fed: bool = False


SHAPES = {
    "one to one": Shape(1, (0,), (0,), "a network\nwithout recurrence"),
    "one to many": Shape(3, (0,), (0, 1, 2), "--task generate:\na text from its beginning", True),
    "many to one": Shape(3, (0, 1, 2), (2,), "--task classify:\na label for a text"),
    "many to many": Shape(
        5, (0, 1, 2), (2, 3, 4), "--task translate:\na text for a text", fed=True
    ),
    "synced": Shape(3, (0, 1, 2), (0, 1, 2), "--task tag:\na tag for each word"),
}


def shapes_figure() -> Figure:
    """What may go in and come out: blue boxes are read, white ones are states, orange ones are
    answers. The same weights work at every step."""
    widths = [shape.steps + 0.9 for shape in SHAPES.values()]
    figure = new_figure(0.62 * sum(widths), 3.1)
    for axes, (name, shape) in zip(
        figure.subplots(1, len(SHAPES), width_ratios=widths), SHAPES.items()
    ):
        draw_shape(axes, shape)
        axes.set_title(name, fontsize=10)
        axes.text((shape.steps - 1) / 2, -1.05, shape.example, ha="center", va="top", fontsize=8)
        axes.set_xlim(-0.95, shape.steps - 0.05)
        axes.set_ylim(-2.0, 2.6)
        axes.set_aspect("equal")
        axes.axis("off")
    return figure


def draw_shape(axes: Axes, shape: Shape) -> None:
    half = BOX / 2
    for t in range(shape.steps):
        box(axes, t, 1, "white")
        if t:
            arrow(axes, (t - 1 + half, 1), (t - half, 1))
        if t in shape.reads:
            box(axes, t, -0.2, COLOURS[5])
            arrow(axes, (t, -0.2 + half), (t, 1 - half))
        if t in shape.answers:
            box(axes, t, 2.2, COLOURS[4])
            arrow(axes, (t, 1 + half), (t, 2.2 - half))
        if shape.fed and t in shape.answers and t + 1 < shape.steps:
            arrow(axes, (t + half, 2.2 - half), (t + 1 - half, 1 + half), bend=0.15)


def box(axes: Axes, x: float, y: float, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (x - BOX / 2, y - BOX / 2)
    shape = FancyBboxPatch(corner, BOX, BOX, boxstyle="round,pad=0,rounding_size=0.08",
                           facecolor=colour, edgecolor="0.45")  # fmt: skip
    axes.add_patch(shape)
