"""Series: channels as curves over time, with what a model says of their steps; forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.data.read.recording import Recording
from unspool.insight.plots.style import COLOURS, DASHES, label, plain, quiet
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 2
HORIZONS = 2  # of the past that are shown
LEAST = 24  # steps of it, if there are so many


def forecast_figure(forecasts: Sequence[Mapping[str, Any]], *, level: float) -> Figure:
    """A panel for each of some forecasts: "past", "true", "predicted", "low", "high", where None is
    a gap, and "true" may be empty; "name" is what was forecast, "dates" are those of past and
    future, where there are some."""
    rows = -(-len(forecasts) // COLUMNS)
    figure = new_figure(5.0 * min(COLUMNS, len(forecasts)), 2.3 * rows + 0.5)
    grid = figure.subplots(rows, min(COLUMNS, len(forecasts)), squeeze=False).ravel()
    for axes, series in zip(grid, forecasts):
        past, true, forecast, low, high = (
            np.array([np.nan if x is None else x for x in series[key]], dtype=float)
            for key in ("past", "true", "predicted", "low", "high")
        )
        past = past[-max(LEAST, HORIZONS * len(forecast)) :]
        before, ahead = np.arange(-len(past) + 1, 1), np.arange(1, len(forecast) + 1)
        axes.plot(before, past, color="0.35", linewidth=1.1, label="before")
        axes.fill_between(
            ahead, low, high, color=COLOURS[0], alpha=0.2, linewidth=0,
            label=f"{100 * level:g} % interval",
        )  # fmt: skip
        if len(true):
            axes.plot(ahead, true, color=COLOURS[1], linewidth=1.1, label="what came")
        axes.plot(ahead, forecast, color=COLOURS[0], linewidth=1.5, label="the model")
        axes.axvline(0.5, color="0.8", linewidth=0.8, zorder=0)
        axes.set_title(label(series["name"]), fontsize=8, loc="left")
        axes.set_xlabel("steps from the last that was known", fontsize=8)
        if dates := series.get("dates"):
            ticks = [before[0], 1, ahead[-1]]
            shown = [dates[-len(forecast) - 1 + int(tick)] for tick in ticks]
            axes.set_xticks(ticks, shown, fontsize=7)
            axes.set_xlabel("")
        plain(axes)
    for axes in grid[len(forecasts) :]:
        axes.set_axis_off()
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, fontsize=8, frameon=False, loc="outside upper center", ncols=4)
    return figure


CHANNELS = 8  # drawn in a picture at most


def series_figure(
    series: Recording, *, bands: Mapping[str, Sequence[str]] | None = None, title: str = ""
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
    for panel, (name, labels) in zip(axes[1:], bands.items()):
        band(panel, x, labels, colours)
        panel.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    unit = " of the beginning, in seconds" if series.dated else ""
    axes[-1].set_xlabel("step" if series.times is None else f"time{unit}", fontsize=9)
    return figure


def curves(axes: Axes, series: Recording, x: np.ndarray) -> None:
    names = series.channels or [str(i + 1) for i in range(series.values.shape[1])]
    for i, (name, values) in enumerate(zip(names, series.values.T[:CHANNELS])):
        dash = DASHES[i // len(COLOURS)]
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(x, values, label=name, linewidth=1.1, color=colour, linestyle=dash)
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
