"""Images and frames: the pixels that a model reads, and what each part of them contributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.insight.plots.style import SIGNED, label, quiet
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 3.6  # inches of the shorter side of an image
FRAMES = 8  # of a clip that are drawn
FRAME = 1.3  # inches of their longer side


def image_figure(pixels: np.ndarray, values: np.ndarray, *, title: str = "") -> Figure:
    """An image (H, W, C) from 0 to 255, and beside it, or below where it is wide, the contributions
    (H, W) of its parts: red for the answer, blue against it."""
    height, width = values.shape
    wide = width > 2 * height
    size = (min(14.0, SIDE * width / height), SIDE) if not wide else (10.0, 10.0 * height / width)
    rows, columns = (2, 1) if wide else (1, 2)
    figure = new_figure(size[0] * columns + 1.2, size[1] * rows + 0.8)
    left, right = figure.subplots(rows, columns, squeeze=False).ravel()
    show_pixels(left, pixels)
    most = float(np.abs(values).max()) or 1.0
    drawn = right.imshow(values, cmap=SIGNED, vmin=-most, vmax=most, interpolation="nearest")
    figure.colorbar(drawn, ax=[left, right], shrink=0.8, label="contribution")
    for own in (left, right):
        bare(own)
    left.set_title(label(title), loc="left", fontsize=10)
    return figure


def show_pixels(axes: Any, pixels: np.ndarray) -> None:
    """(H, W, C) from 0 to 255"""
    shown = np.clip(pixels / 255, 0, 1)
    grey: dict[str, Any] = {"cmap": "gray", "vmin": 0, "vmax": 1} if shown.shape[2] == 1 else {}
    axes.imshow(shown[..., 0] if grey else shown, interpolation="nearest", **grey)


def bare(axes: Any) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    quiet(axes)


def frames_figure(
    pixels: np.ndarray, values: np.ndarray, steps: Sequence[str], *, title: str = ""
) -> Figure:
    """Frames (T, H, W, C) from 0 to 255, at most eight of them; below each the contributions
    (T, H, W) of its pixels: red for the answer, blue against it; and those of all whole frames."""
    count, height, width, _ = pixels.shape
    chosen = np.unique(np.linspace(0, count - 1, min(FRAMES, count)).round().astype(int))
    high, wide = FRAME * min(1, height / width), FRAME * min(1, width / height)
    columns = len(chosen)
    figure = new_figure(max(5.0, wide * columns + 1.4), 2 * high + 2.4)
    grid = figure.add_gridspec(3, columns, height_ratios=[high, high, 1.1])
    most = float(np.abs(values).max()) or 1.0
    rows: list[list[Any]] = [[], []]
    for column, t in enumerate(chosen):
        above, below = (figure.add_subplot(grid[row, column]) for row in range(2))
        show_pixels(above, pixels[t])
        drawn = below.imshow(values[t], cmap=SIGNED, vmin=-most, vmax=most, interpolation="nearest")
        above.set_title(label(steps[t]), fontsize=8)
        for axes, row in zip((above, below), rows):
            bare(axes)
            row.append(axes)
    figure.colorbar(drawn, ax=rows[0] + rows[1], shrink=0.8, label="contribution")
    bars = figure.add_subplot(grid[2, :])
    whole = values.sum((1, 2))
    bars.bar(range(count), whole, color=["#b2182b" if v > 0 else "#2166ac" for v in whole])
    bars.axhline(0, color="grey", linewidth=0.6)
    bars.set_xticks(chosen, [label(steps[t]) for t in chosen])
    bars.set_xlabel("frame")
    bars.set_ylabel("contribution")
    quiet(bars)
    figure.suptitle(label(title), x=0.02, ha="left", fontsize=10)
    return figure
