"""Where each word of a caption looked at an image (Xu et al. 2015, figure 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.insight.plots.style import label, quiet
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACROSS = 6  # panels in a row
SIDE = 1.9  # inches of the longer side of an image
WORDS = 35  # that are shown
DARK = 0.25  # what is left of the light where a word did not look


def attention_maps(field: Any, weights: np.ndarray, columns: int) -> np.ndarray:
    """Weights (T, S) over the steps of an image of so many columns, at its pixels: (T, H, W)"""
    return np.stack([field.source.shape.spread(own, columns) for own in weights])


def caption_figure(
    pixels: np.ndarray, maps: np.ndarray, words: Sequence[str], *, title: str = ""
) -> Figure:
    """An image (H, W, C) from 0 to 255, and for each word the same image, dark but where it looked:
    maps (T, H, W). The place that a word looked at most has its own colours; beside the word stands
    the share of its weight that lies on the tenth of the image with most of it."""
    words, maps = list(words)[:WORDS], maps[:WORDS]
    height, width = pixels.shape[:2]
    panels = len(words) + 1
    across = min(ACROSS, panels)
    down = math.ceil(panels / across)
    scale = SIDE / max(height, width)
    figure = new_figure(across * (scale * width + 0.15), down * (scale * height + 0.35) + 0.4)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    shown = np.clip(np.broadcast_to(pixels, (height, width, 3)) / 255, 0, 1)
    grid[0].imshow(shown)
    grid[0].set_title("the image", fontsize=8, loc="left")
    for axes, word, own in zip(grid[1:], words, maps):
        light = DARK + (1 - DARK) * own / (float(own.max()) or 1.0)
        axes.imshow(shown * light[..., None])
        axes.set_title(f"{label(word)}  {concentration(own):.0%}", fontsize=8, loc="left")
    for axes in grid:
        axes.set_xticks([])
        axes.set_yticks([])
        quiet(axes)
    for axes in grid[panels:]:
        axes.set_visible(False)
    figure.suptitle(label(title), fontsize=10, x=0.004, ha="left")
    return figure


def concentration(weights: np.ndarray) -> float:
    """The share of all weight that lies on the tenth of the pixels with most of it; 0.1 where it is
    spread evenly."""
    flat = np.sort(weights.ravel())[::-1]
    most = max(1, round(0.1 * len(flat)))
    return float(flat[:most].sum() / (flat.sum() or 1.0))
