"""Pictures of images, captions, filters of images, and music."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.data.read.music import Piece, pitch_name
from unspool.insight.ngrams import NgramTable
from unspool.insight.plots.style import COLOURS, SIGNED, TOKENS, WEIGHTS, heat, label, labels, quiet
from unspool.insight.trace import Trace
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GIVEN, WRITTEN = "0.6", "#1f5fa8"
STEPS = 16  # of an inch


def roll_figure(piece: Piece, prompted: int = 0, *, title: str = "") -> Figure:
    """A bar a note, grey where it was given, blue where it was written; the louder, the darker."""
    width = float(np.clip(len(piece) / STEPS, 5, 24))
    pitches = piece.notes[:, 2] if len(piece.notes) else np.array([60])
    low, high = int(pitches.min()) - 2, int(pitches.max()) + 2
    figure = new_figure(width, float(np.clip((high - low) / 10, 2.5, 6)))
    axes = figure.subplots()
    for first, last, pitch, velocity in piece.notes.tolist():
        axes.broken_barh(
            [(first / piece.grid, (last - first) / piece.grid)],
            (pitch - 0.42, 0.84),
            color=GIVEN if first < prompted else WRITTEN,
            alpha=0.4 + 0.6 * velocity / 127 if velocity != 64 else 1.0,
            linewidth=0,
        )
    if 0 < prompted < len(piece):
        axes.axvline(prompted / piece.grid, color="black", linewidth=1, linestyle=":")
    ticks = [pitch for pitch in range(low, high + 1) if pitch % 12 == 0]
    axes.set_yticks(ticks, [pitch_name(pitch) for pitch in ticks])
    axes.set_ylim(low, high)
    axes.set_xlim(0, max(1, len(piece)) / piece.grid)
    axes.grid(color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel("beats")
    axes.set_title(title or str(piece), fontsize=9)
    return figure


FILTERS = 24  # of a layer, those that answer most
CLASSES, EACH = 8, 12  # of n-grams: classes, and filters of each, that a picture has room for


def features_figure(trace: Trace) -> Figure:
    """The activations of the filters of the first layer at each token: those that answer most on
    this text, ordered by where they do so most."""
    array = trace.find("features")[0]
    values = array.values[:TOKENS]
    chosen = np.argsort(-values.max(0), kind="stable")[:FILTERS]
    chosen = chosen[np.argsort(values[:, chosen].argmax(0), kind="stable")]
    tokens = labels(trace.tokens[:TOKENS])
    figure = new_figure(1.9 + max(3.0, 0.26 * len(tokens)), 1.2 + 0.17 * len(chosen))
    axes = figure.subplots()
    image = heat(axes, values[:, chosen].T, most=float(values.max()) or 1.0, colours=WEIGHTS)
    axes.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=8)
    axes.set_yticks(range(len(chosen)), chosen.tolist(), fontsize=7)
    axes.set_xlabel("token in the middle of the n-gram", fontsize=8)
    axes.set_ylabel("filter")
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label("activation")
    bar.outline.set_edgecolor("0.8")
    return figure


def ngram_figure(table: NgramTable, *, filters: int = 4, ngrams: int = 5) -> Figure:
    """For each class the filters that raise its score most, with the n-grams that activate them; of
    many classes those whose filters move most."""
    speaking = [feature for feature in table.features if feature.ngrams]
    classes = sorted(list(dict.fromkeys(feature.label for feature in speaking))[:CLASSES])
    filters, ngrams = min(filters, EACH), min(ngrams, EACH)
    chosen = [[f for f in speaking if f.label == name][:filters] for name in classes]
    filters = max(map(len, chosen), default=1)
    columns = max(1, len(classes))
    figure = new_figure(3.4 * columns, 0.4 + (0.5 + 0.19 * ngrams) * filters)
    grid = figure.subplots(filters, columns, squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for column, (name, features) in enumerate(zip(classes, chosen)):
        for axes, feature in zip(grid[:, column], features):
            axes.axis("on")
            best = feature.ngrams[:ngrams]
            axes.barh(
                range(len(best)), [n.activation for n in best], color=COLOURS[column % len(COLOURS)]
            )
            axes.set_yticks(range(len(best)), [label(n.text) for n in best], fontsize=7)
            axes.invert_yaxis()
            axes.tick_params(axis="x", labelsize=7)
            axes.set_title(f"for {label(name)}: filter {feature.filter}", fontsize=8)
            axes.spines[["top", "right"]].set_visible(False)
    return figure


ACROSS = 6  # panels in a row
CAPTION_SIDE = 1.9  # inches of the longer side of an image
WORDS = 35  # that are shown
DARK = 0.25  # what is left of the light where a word did not look


def attention_maps(field: Any, weights: np.ndarray, columns: int) -> np.ndarray:
    """Weights (T, S) over the steps of an image of so many columns, at its pixels: (T, H, W)"""
    return np.stack([field.source.shape.spread(row, columns) for row in weights])


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
    scale = CAPTION_SIDE / max(height, width)
    figure = new_figure(across * (scale * width + 0.15), down * (scale * height + 0.35) + 0.4)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    shown = np.clip(np.broadcast_to(pixels, (height, width, 3)) / 255, 0, 1)
    grid[0].imshow(shown)
    grid[0].set_title("the image", fontsize=8, loc="left")
    for axes, word, weights in zip(grid[1:], words, maps):
        light = DARK + (1 - DARK) * weights / (float(weights.max()) or 1.0)
        axes.imshow(shown * light[..., None])
        axes.set_title(f"{label(word)}  {concentration(weights):.0%}", fontsize=8, loc="left")
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
    for panel in (left, right):
        bare(panel)
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
