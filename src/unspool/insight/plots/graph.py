"""A model unrolled in time: its layers as rows of boxes, with shapes and parameter counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from unspool.insight.plots.style import COLOURS
from unspool.insight.summary import ModelSummary, SummaryLayer
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = ("1", "2", "3", "…", "T")
BEFORE = ("0", "1", "2", "…", "T-1")  # a decoder reads what it has written at the step before
BOX, GAP, RISE = 0.62, 1.0, 1.05  # width of a box, from step to step, from layer to layer
BEND = 0.2  # of what goes over to a decoder
LETTER = 0.085  # width of a letter
ASIDE = ("positions", "dropout")  # of a Transformer: added to what is already there


class LayerRow(NamedTuple):
    """A layer as it is drawn: a box a step, or one for all; and what connects the steps."""

    layer: SummaryLayer
    each: bool
    forwards: bool = False
    backwards: bool = False
    everyone: bool = False  # each step looks at all
    earlier: bool = False  # each step looks at those before it


def rows_of(layers: Sequence[SummaryLayer]) -> list[LayerRow]:
    """Rows of the graph; stacked recurrent layers and blocks are one row, as in a summary."""
    rows = []
    for layer in layers:
        last = layer.path.rpartition(".")[2]
        if last in ASIDE or layer.path in ("encoder", "decoder"):
            continue
        kind = layer.kind
        blocks = "block" in kind
        recurrent = last in ("network", "recurrent") and not blocks and "convolution" not in kind
        rows.append(
            LayerRow(
                layer,
                ", T" in layer.shape,
                forwards=recurrent,
                backwards=recurrent and "bidirectional" in kind,
                everyone=blocks and "encoder" in kind,
                earlier=blocks and "decoder" in kind,
            )
        )
    return rows


def graph_figure(summary: ModelSummary) -> Figure:
    """The computational graph of a model over the steps 1, 2, 3, ..., T; a decoder stands to the
    right of what it reads. What is not drawn is named with its parameters."""
    layers = [layer for layer in summary.layers if not layer.path.startswith("characters")]
    sides = [
        [layer for layer in layers if layer.path.startswith("decoder") == decoder]
        for decoder in (False, True)
    ]
    groups = [rows for side in sides if (rows := rows_of(side))]
    longest = max(len(line) for rows in groups for row in rows for line in lines_of(row.layer))
    wide = GAP * len(STEPS) + LETTER * longest
    high = max(len(rows) for rows in groups) * RISE
    if len(groups) == 2:
        high = max(high, len(groups[0]) * RISE + BEND * wide / 2)
    figure = new_figure(wide * len(groups) * 0.82, (high + 1.7) * 0.82)
    axes = figure.subplots()
    for i, (rows, letter, steps) in enumerate(zip(groups, "xy", (STEPS, BEFORE))):
        draw_group(axes, rows, letter, steps, left=i * wide)
    if len(groups) == 2:
        draw_bridge(axes, groups[0], groups[1], sides[1], right=wide)
    axes.set_xlim(-0.5, wide * len(groups) - 0.4)
    axes.set_ylim(-0.95, high + 0.2)
    axes.set_aspect("equal")
    axes.axis("off")
    drawn = {row.layer.path for rows in groups for row in rows}
    undrawn = [
        f"{layer.path} ({layer.kind}): {layer.parameters:,}"
        for layer in summary.layers
        if layer.path not in drawn and layer.parameters
    ]
    title = [f"{summary.parameters:,} parameters", *(["of which not drawn"] if undrawn else [])]
    axes.set_title("\n".join([*title, *undrawn]), fontsize=9, loc="left")
    return figure


def draw_bridge(
    axes: Axes,
    read: Sequence[LayerRow],
    written: Sequence[LayerRow],
    decoder: Sequence[SummaryLayer],
    *,
    right: float,
) -> None:
    """Inputs of a decoder: the last state of the encoder, to begin with; with attention all states,
    at every step, of which the first is drawn."""
    blocks = any("decoder block" in layer.kind for layer in decoder)
    top = len(read) * RISE - (RISE - BOX)
    level = next(i for i, row in enumerate(written) if row.forwards or row.earlier)
    columns = [GAP * i for i in range(len(STEPS))]
    if not blocks:
        start, end = (columns[-1], top), (right - BOX / 2, level * RISE + BOX / 2)
        arrow(axes, start, end, color=COLOURS[1], linewidth=2, bend=-BEND)
    said = " ".join(layer.kind for layer in decoder)
    if blocks or ("attention" in said and "no attention" not in said):
        end = (right - BOX / 2, level * RISE + 0.8 * BOX)
        for x in drawn_columns(columns):
            arrow(axes, (x, top), end, color=COLOURS[2], linewidth=1.2, bend=-BEND)
        above = (top + end[1]) / 2 + BEND * right / 2 + 0.1  # the highest of these bows
        axes.text(right / 2, above, "attention: such a look at all, at every step", fontsize=8,
                  color=COLOURS[2], ha="center")  # fmt: skip


def lines_of(layer: SummaryLayer) -> list[str]:
    """The caption of a row."""
    return [*layer.kind.split(", ", 1), layer.shape, f"{layer.parameters:,} parameters"]


def draw_group(
    axes: Axes, rows: Sequence[LayerRow], letter: str, steps: Sequence[str], *, left: float
) -> None:
    """The rows of an encoder or of a decoder, the first at the bottom."""
    columns = [left + GAP * i for i in range(len(steps))]
    for x, name in zip(columns, steps):
        if name == "…":
            axes.text(x, -0.7, "…", ha="center", va="center")
        else:
            axes.text(x, -0.7, f"${letter}_{{{name}}}$", ha="center", va="center")
            arrow(axes, (x, -0.5), (x, 0))
    for level, row in enumerate(rows):
        y = level * RISE
        draw_row(axes, row, columns, y)
        if level + 1 < len(rows):
            above = rows[level + 1]
            for x in drawn_columns(columns) if row.each else [sum(columns) / len(columns)]:
                to = x if above.each else sum(columns) / len(columns) + 0.35 * (x - columns[2])
                arrow(axes, (x, y + BOX), (to, y + RISE))
        axes.text(
            columns[-1] + 0.45,
            y + BOX / 2,
            "\n".join(lines_of(row.layer)),
            va="center",
            fontsize=7.5,
        )


def drawn_columns(columns: Sequence[float]) -> list[float]:
    return [x for x, name in zip(columns, STEPS) if name != "…"]


def draw_row(axes: Axes, row: LayerRow, columns: Sequence[float], y: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    shape: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=0.08", "linewidth": 1.2}
    colour = COLOURS[0] if row.forwards or row.everyone or row.earlier else "0.45"
    if not row.each:
        start = columns[1] - BOX / 2
        box = FancyBboxPatch(
            (start, y), columns[3] - columns[1] + BOX, BOX, fc="white", ec=colour, **shape
        )
        axes.add_patch(box)
        return
    for x, name in zip(columns, STEPS):
        if name == "…":
            axes.text(x, y + BOX / 2, "…", ha="center", va="center")
        else:
            box = FancyBboxPatch((x - BOX / 2, y), BOX, BOX, fc="white", ec=colour, **shape)
            axes.add_patch(box)
    for a, b in pairwise(columns):
        edge = BOX / 2
        if row.forwards:
            at = y + BOX * (0.68 if row.backwards else 0.5)
            arrow(axes, (a + edge, at), (b - edge, at), color=COLOURS[0])
        if row.backwards:
            arrow(axes, (b - edge, y + BOX * 0.3), (a + edge, y + BOX * 0.3), color=COLOURS[1])
    for a in drawn_columns(columns):
        for b in drawn_columns(columns):
            if row.everyone or (row.earlier and a <= b):
                axes.plot([a, b], [y, y + BOX], color=COLOURS[0], alpha=0.25, linewidth=0.8)


def arrow(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    color: str = "0.45",
    linewidth: float = 1.0,
    bend: float = 0.0,
) -> None:
    look = {
        "arrowstyle": "-|>",
        "connectionstyle": f"arc3,rad={bend}",
        "color": color,
        "linewidth": linewidth,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    axes.annotate("", end, start, arrowprops=look)
