"""Drawings: the lines of a pen, with what a model says of their points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unspool.data.read.strokes import Strokes
from unspool.insight.plots.style import SIGNED
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 10.0  # inches


def drawing_figure(
    drawings: Sequence[Strokes],
    *,
    titles: Sequence[str] = (),
    values: np.ndarray | None = None,
    columns: int = 0,
) -> Figure:
    """Drawings in rows of `columns`, y pointing down, as pens and screens have it.

    values   (T,) of a drawing alone: what each point contributes to an answer, red for it, blue
             against it, the thicker the more
    """
    shapes = [box_of(drawing) for drawing in drawings]
    ratio = float(np.clip(np.median([w / h for w, h in shapes]), 0.2, 12)) if shapes else 1.0
    columns = columns or max(1, min(len(drawings), round(6 / ratio) or 1))
    rows = max(1, -(-len(drawings) // columns))
    width = min(WIDE, max(2.5, 2.2 * columns * max(1.0, ratio)))
    if len(drawings) == 1:
        width = min(WIDE, max(4.0, 2.5 * ratio))
    height = width / columns / ratio + (0.3 if titles else 0)
    figure = new_figure(width, min(60.0, rows * height + (0.8 if values is not None else 0)))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for i, drawing in enumerate(axes):
        drawing.set_xticks([])
        drawing.set_yticks([])
        drawing.spines[:].set_visible(False)
        if i < len(drawings):
            draw(drawing, drawings[i], values)
            if i < len(titles) and values is None:
                drawing.set_title(titles[i], fontsize=9)
    if values is not None:
        figure.suptitle(" ".join(titles[:1]), fontsize=9)
        scale_bar(figure, axes[0], values)
    return figure


def box_of(strokes: Strokes) -> tuple[float, float]:
    lines = strokes.lines()
    points = np.concatenate(lines) if lines else np.zeros((1, 2))
    width, height = points.max(0) - points.min(0)
    least = max(width, height, 1e-9) / 50
    return max(width, least), max(height, least)


def draw(axes: Axes, strokes: Strokes, values: np.ndarray | None = None) -> None:
    at = 0
    most = 1.0 if values is None else float(np.abs(values).max()) or 1.0
    for line in strokes.lines():
        if values is None:
            axes.plot(line[:, 0], line[:, 1], color="black", linewidth=1.6, marker=dot(line),
                      markersize=2, solid_capstyle="round")  # fmt: skip
        else:
            coloured(axes, line, values[at : at + len(line)], most)
        at += len(line)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.margins(0.08)


def dot(line: np.ndarray) -> str:
    return "o" if len(line) == 1 else ""


def coloured(axes: Axes, line: np.ndarray, values: np.ndarray, most: float) -> None:
    """Each piece of a line by the point at its end; points themselves as dots."""
    from matplotlib.collections import LineCollection

    strength = np.abs(values) / most
    axes.plot(line[:, 0], line[:, 1], color="0.8", linewidth=1, zorder=1)
    if len(line) > 1:
        pieces = np.stack([line[:-1], line[1:]], 1)
        lines = LineCollection(list(pieces), cmap=SIGNED, zorder=2, capstyle="round")
        lines.set_array(values[1:])
        lines.set_clim(-most, most)
        lines.set_linewidth(1 + 5 * strength[1:])
        axes.add_collection(lines)
    axes.scatter(
        line[:, 0], line[:, 1], c=values, cmap=SIGNED, vmin=-most, vmax=most,
        s=4 + 40 * strength, zorder=3, edgecolors="0.5", linewidths=0.3,
    )  # fmt: skip


def scale_bar(figure: Figure, axes: Axes, values: np.ndarray) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    most = float(np.abs(values).max()) or 1.0
    shown = ScalarMappable(Normalize(-most, most), SIGNED)
    bar = figure.colorbar(shown, ax=axes, location="bottom", fraction=0.05, pad=0.02, aspect=40)
    bar.set_label("contribution: against | for", fontsize=8)
    bar.ax.tick_params(labelsize=8)


def window_figure(weights: np.ndarray, characters: Sequence[str], *, title: str = "") -> Figure:
    """(T, U) the weight of each character as each point was written, the darker the more; a few
    points may weigh far more than all others."""
    size = len(characters)
    figure = new_figure(9, min(14.0, 1.2 + 0.28 * max(size, 4)))
    axes = figure.subplots()
    most = float(np.quantile(weights.max(1), 0.95)) or 1.0
    axes.imshow(weights.T, aspect="auto", cmap="Greys", interpolation="nearest", vmin=0, vmax=most)
    axes.set_yticks(range(size), [c if c != " " else "␣" for c in characters], fontsize=9)
    axes.set_xlabel("point", fontsize=9)
    axes.set_title(title or "the window over the text", loc="left", fontsize=10)
    return figure
