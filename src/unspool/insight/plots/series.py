"""Series: channels as curves over time, with what a model says of their steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unspool.data.read.recording import Recording
from unspool.insight.plots.style import COLOURS, DASHES, plain, quiet
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHANNELS = 8  # drawn in a picture at most


def series_figure(
    series: Recording,
    *,
    bands: Mapping[str, Sequence[str]] | None = None,
    title: str = "",
) -> Figure:
    """The channels of a series as curves over time.

    bands    below them, by name: a label for each step, as stretches of one colour
    """
    bands = bands or {}
    figure = new_figure(9, 3 + 0.45 * len(bands))
    ratios = [6.0, *[0.7] * len(bands)]
    axes = figure.subplots(1 + len(bands), 1, sharex=True, height_ratios=ratios, squeeze=False)[
        :, 0
    ]
    x = np.arange(len(series)) if series.times is None else series.times - series.times[0]
    curves(axes[0], series, x)
    if title:
        axes[0].set_title(title, loc="left", fontsize=10)
    names = sorted({label for labels in bands.values() for label in labels})
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    for own, (name, labels) in zip(axes[1:], bands.items()):
        band(own, x, labels, colours)
        own.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    unit = " of the beginning, in seconds" if series.dated else ""
    axes[-1].set_xlabel("step" if series.times is None else f"time{unit}", fontsize=9)
    return figure


def curves(axes: Axes, series: Recording, x: np.ndarray) -> None:
    names = series.channels or [str(i + 1) for i in range(series.values.shape[1])]
    for i, (name, own) in enumerate(zip(names, series.values.T[:CHANNELS])):
        dash = DASHES[i // len(COLOURS)]
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(x, own, label=name, linewidth=1.1, color=colour, linestyle=dash)
    plain(axes)
    axes.legend(
        loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, fontsize=8, ncols=4,
        frameon=False,
    )  # fmt: skip


def band(axes: Axes, x: np.ndarray, labels: Sequence[str], colours: Mapping[str, str]) -> None:
    """Stretches of one label, each with its name where there is room."""
    step = float(np.median(np.diff(x))) if len(x) > 1 else 1.0
    start = 0
    for stop in range(1, len(labels) + 1):
        if stop < len(labels) and labels[stop] == labels[start]:
            continue
        left, right = x[start] - step / 2, x[stop - 1] + step / 2
        axes.axvspan(left, right, color=colours[labels[start]], alpha=0.55, linewidth=0)
        if right - left > 0.04 * (x[-1] - x[0] + step):
            axes.text((left + right) / 2, 0.5, labels[start], ha="center", va="center", fontsize=8)
        start = stop
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    quiet(axes)
