"""Forecasts: what came before, what was expected with which interval, and what came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.insight.plots.style import COLOURS, label, plain
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 2
HORIZONS = 2  # of the past that are shown
LEAST = 24  # steps of it, if there are so many


def forecast_figure(forecasts: Sequence[Mapping[str, Any]], *, level: float) -> Figure:
    """A panel for each of some forecasts: "past", "true", "predicted", "low", "high", where None is
    a gap, and "true" may be empty; "name" is what was forecast."""
    rows = -(-len(forecasts) // COLUMNS)
    figure = new_figure(5.0 * min(COLUMNS, len(forecasts)), 2.3 * rows + 0.5)
    grid = figure.subplots(rows, min(COLUMNS, len(forecasts)), squeeze=False).ravel()
    for axes, own in zip(grid, forecasts):
        past, true, forecast, low, high = (
            np.array([np.nan if x is None else x for x in own[key]], dtype=float)
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
        axes.set_title(label(own["name"]), fontsize=8, loc="left")
        axes.set_xlabel("steps from the last that was known", fontsize=8)
        plain(axes)
    for axes in grid[len(forecasts) :]:
        axes.set_axis_off()
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, fontsize=8, frameon=False, loc="outside upper center", ncols=4)
    return figure
