"""Images: the pixels that a model reads, and what each part of them contributes to an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.insight.plots.style import SIGNED, label, quiet
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 3.6  # inches of the shorter side of an image


def image_figure(pixels: np.ndarray, values: np.ndarray, *, title: str = "") -> Figure:
    """An image (H, W, C) from 0 to 255, and beside it, or below where it is wide, the contributions
    (H, W) of its parts: red for the answer, blue against it."""
    height, width = values.shape
    wide = width > 2 * height
    size = (min(14.0, SIDE * width / height), SIDE) if not wide else (10.0, 10.0 * height / width)
    rows, columns = (2, 1) if wide else (1, 2)
    figure = new_figure(size[0] * columns + 1.2, size[1] * rows + 0.8)
    left, right = figure.subplots(rows, columns, squeeze=False).ravel()
    shown = np.clip(pixels / 255, 0, 1)
    grey: dict[str, Any] = {"cmap": "gray", "vmin": 0, "vmax": 1} if shown.shape[2] == 1 else {}
    left.imshow(shown[..., 0] if grey else shown, interpolation="nearest", **grey)
    most = float(np.abs(values).max()) or 1.0
    drawn = right.imshow(values, cmap=SIGNED, vmin=-most, vmax=most, interpolation="nearest")
    figure.colorbar(drawn, ax=[left, right], shrink=0.8, label="contribution")
    for own in (left, right):
        own.set_xticks([])
        own.set_yticks([])
        quiet(own)
    left.set_title(label(title), loc="left", fontsize=10)
    return figure
