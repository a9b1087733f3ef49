"""Attention and the Transformer as boxes and arrows: what is made of what.

Blue boxes have weights, white ones have none.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from unspool.insight.plots.style import COLOURS
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, float]
HIGH = 0.5  # of a box


class Box(NamedTuple):
    text: str
    at: Point  # its middle
    wide: float = 2.4
    weights: bool = False


class Way(NamedTuple):
    """An arrow along some points."""

    points: tuple[Point, ...]
    colour: str = "0.35"


class Scheme(NamedTuple):
    title: str
    boxes: tuple[Box, ...]
    ways: tuple[Way, ...]
    names: dict[str, Point]  # of what comes in and goes out
    frames: tuple[tuple[float, float, float, float], ...] = ()  # left, bottom, right, top


def up(x: float, *heights: float) -> tuple[Way, ...]:
    """Arrows from box to box, upwards: between their middles, less the boxes themselves."""
    return tuple(Way(((x, a + HIGH / 2), (x, b - HIGH / 2))) for a, b in pairwise(heights))


def around(x: float, bottom: float, top: float, aside: float) -> Way:
    """From below a layer past it into the sum behind it."""
    return Way(
        ((x, bottom), (aside, bottom), (aside, top), (x + (aside > x) * 2.4 - 1.2, top)), COLOURS[1]
    )


READ = (0.0, 1.0, 2.0, 3.0)  # where the states of the encoder are
LEFT, STATE = -0.9, 4.75  # where these go up to the context, and the states of the decoder
BAHDANAU = Scheme(
    "a decoder looks at what was read",
    (
        *(Box(f"$h_{j}$", (x, 0.0), 0.7) for j, x in enumerate(READ, start=1)),
        *(Box(f"$e_{j}$", (x, 1.2), 0.7, weights=True) for j, x in enumerate(READ, start=1)),
        Box("softmax: weights α", (1.5, 2.4), 3.7),
        Box(r"context $c_t = \Sigma_j\, \alpha_j h_j$", (1.5, 3.6), 3.7),
        Box("$s_{t-1}$", (STATE, 0.65), 0.9),
        Box("$s_t$", (STATE, 3.6), 0.9, weights=True),
        Box("$y_t$", (STATE, 4.8), 0.9, weights=True),
        Box("$y_{t-1}$", (6.2, 3.6), 0.9),
    ),
    (
        *(Way(((x - 0.15, 0.25), (x - 0.15, 0.95))) for x in READ),
        *(Way(((x, 1.45), (x, 2.15))) for x in READ),
        *up(1.5, 2.4, 3.6),
        *up(STATE, 0.65, 3.6, 4.8),
        *(
            Way(((STATE - 0.45, 0.65), (x + 0.15, 0.65), (x + 0.15, 0.95)), COLOURS[2])
            for x in READ
        ),
        *(
            Way(((x, -0.25), (x, -0.5), (LEFT, -0.5), (LEFT, 3.6), (-0.35, 3.6)), COLOURS[0])
            for x in READ
        ),
        Way(((3.35, 3.6), (STATE - 0.45, 3.6))),
        Way(((1.5, 3.85), (1.5, 4.8), (STATE - 0.45, 4.8))),
        Way(((5.75, 3.6), (STATE + 0.45, 3.6))),
    ),
    {"$e_j = a(s_{t-1}, h_j)$: how well they fit": (1.5, -0.95)},
)
SCALED = Scheme(
    "scaled dot-product attention",
    (
        Box("$Q K^T$", (1.1, 1.2)),
        Box(r"/ $\sqrt{d}$", (1.1, 2.1)),
        Box("mask (of a decoder)", (1.1, 3.0)),
        Box("softmax", (1.1, 3.9)),
        Box("weights times $V$", (1.9, 4.8), 4.0),
    ),
    (
        Way(((0.4, 0.25), (0.4, 0.95))),
        Way(((1.8, 0.25), (1.8, 0.95))),
        *up(1.1, 1.2, 2.1, 3.0, 3.9, 4.8),
        Way(((3.4, 0.25), (3.4, 4.55))),
        Way(((1.9, 5.05), (1.9, 5.5))),
    ),
    {"$Q$": (0.4, 0.0), "$K$": (1.8, 0.0), "$V$": (3.4, 0.0)},
)
HEADS = Scheme(
    "several heads",
    (
        *(Box(f"$W_{m}$", (x, 1.2), 1.1, weights=True) for m, x in zip("QKV", (0.4, 1.9, 3.4))),
        Box("attention: head 1, head 2, …", (1.9, 2.4), 4.2),
        Box("side by side", (1.9, 3.6), 4.2),
        Box("$W_O$", (1.9, 4.8), 4.2, weights=True),
    ),
    (
        *(way for x in (0.4, 1.9, 3.4) for way in up(x, 0.0, 1.2, 2.4)),
        *up(1.9, 2.4, 3.6, 4.8),
        Way(((1.9, 5.05), (1.9, 5.5))),
    ),
    {"queries": (0.4, 0.0), "keys": (1.9, 0.0), "values": (3.4, 0.0)},
)
RIGHT = 5.6  # where the decoder is
TRANSFORMER = Scheme(
    "",
    (
        Box("embedding + positions", (0, 0), weights=True),
        Box("self-attention", (0, 1.5), weights=True),
        Box("sum, norm", (0, 2.3), weights=True),
        Box("feed-forward", (0, 3.5), weights=True),
        Box("sum, norm", (0, 4.3), weights=True),
        Box("embedding + positions", (RIGHT, 0), weights=True),
        Box("masked self-attention", (RIGHT, 1.5), weights=True),
        Box("sum, norm", (RIGHT, 2.3), weights=True),
        Box("attention to the source", (RIGHT, 3.5), weights=True),
        Box("sum, norm", (RIGHT, 4.3), weights=True),
        Box("feed-forward", (RIGHT, 5.5), weights=True),
        Box("sum, norm", (RIGHT, 6.3), weights=True),
        Box("linear", (RIGHT, 7.5), weights=True),
        Box("softmax", (RIGHT, 8.3)),
    ),
    (
        *up(0, -0.8, 0, 1.5, 2.3, 3.5, 4.3),
        around(0, 1.0, 2.3, -1.6),
        around(0, 2.9, 4.3, -1.6),
        *up(RIGHT, -0.8, 0, 1.5, 2.3, 3.5, 4.3, 5.5, 6.3, 7.5, 8.3, 9.1),
        around(RIGHT, 1.0, 2.3, RIGHT + 1.6),
        around(RIGHT, 2.9, 4.3, RIGHT + 1.6),
        around(RIGHT, 4.9, 6.3, RIGHT + 1.6),
        Way(((0, 4.55), (0, 5.3), (2.8, 5.3), (2.8, 3.5), (RIGHT - 1.2, 3.5))),
    ),
    {
        "what is read": (0, -1.0),
        "what was written": (RIGHT, -1.0),
        "what is written next": (RIGHT, 9.3),
        "encoder: N blocks": (0, 5.75),
        "keys, values": (3.5, 3.75),
        "decoder:\nN blocks": (RIGHT - 2.3, 6.3),
    },
    ((-1.9, 0.75, 1.5, 4.85), (RIGHT - 1.5, 0.75, RIGHT + 1.9, 6.85)),
)


def attention_figure() -> Figure:
    """Attention in three schemes: Bahdanau et al. (2015), and Vaswani et al. (2017), figure 2."""
    figure = new_figure(11.0, 4.0)
    drawings = figure.subplots(1, 3, width_ratios=(8.0, 4.6, 4.6))
    for axes, scheme in zip(drawings, (BAHDANAU, SCALED, HEADS)):
        draw_scheme(axes, scheme)
        axes.set_ylim(-1.2, 5.6)
    return figure


def transformer_figure() -> Figure:
    """The whole Transformer (Vaswani et al. 2017, figure 1), with the norm behind each sum."""
    figure = new_figure(7.0, 7.4)
    draw_scheme(figure.subplots(), TRANSFORMER)
    return figure


def draw_scheme(axes: Axes, scheme: Scheme) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    for left, bottom, right, top in scheme.frames:
        axes.add_patch(
            Rectangle((left, bottom), right - left, top - bottom, fc="0.96", ec="0.7", zorder=0)
        )
    for way in scheme.ways:
        draw_way(axes, way)
    for box in scheme.boxes:
        x, y = box.at
        patch = FancyBboxPatch(
            (x - box.wide / 2, y - HIGH / 2), box.wide, HIGH,
            boxstyle="round,pad=0,rounding_size=0.08", ec="0.25", lw=1.0, zorder=2,
            fc="#cfe6f7" if box.weights else "white",
        )  # fmt: skip
        axes.add_patch(patch)
        axes.text(x, y, box.text, ha="center", va="center", fontsize=8.5, zorder=3)
    for name, (x, y) in scheme.names.items():
        axes.text(x, y, name, ha="center", va="center", fontsize=8.5)
    axes.set_title(scheme.title, fontsize=10)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.axis("off")


def draw_way(axes: Axes, way: Way) -> None:
    *before, last = way.points
    axes.plot(*zip(*before), color=way.colour, linewidth=1.1, zorder=1)
    look = {"arrowstyle": "-|>", "color": way.colour, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", last, before[-1], arrowprops=look, zorder=1)
