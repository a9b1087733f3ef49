"""Recurrent cells at work: their gates over time, and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unspool.insight.gradients import GradientFlow
from unspool.insight.plots.style import COLOURS, DASHES, TOKENS, heat, labels, plain
from unspool.insight.trace import Recorded, Trace
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNITS = 32  # shown of each gate


def layers_of(trace: Trace) -> list[list[Recorded]]:
    """Recorded arrays of cells, layer by layer and direction by direction."""
    layers: dict[tuple[str, int | None, str | None], list[Recorded]] = {}
    for array in trace.arrays:
        if array.axes[-1] == "unit" and array.direction is not None:
            layers.setdefault((array.part, array.layer, array.direction), []).append(array)
    return list(layers.values())


def gates_figure(trace: Trace, layer: list[Recorded]) -> Figure:
    """The gates and states of one layer: units downwards, tokens across. The units are those whose
    hidden states change most, from the busiest downwards, the same in every part."""
    hidden = layer[-1].values
    busiest = np.argsort(-hidden.std(0), kind="stable")[:UNITS]
    sides = {"read": trace.tokens, "written": trace.written}
    tokens = labels(sides[layer[0].axes[0]][:TOKENS])
    figure = new_figure(1.9 + max(3.0, 0.24 * len(tokens)), 0.9 + 1.15 * len(layer))
    grid = figure.subplots(len(layer), squeeze=False, sharex=True)[:, 0]
    for axes, array in zip(grid, layer):
        signed = not array.kind.endswith("gate")
        image = heat(axes, array.values[:TOKENS, busiest].T, signed=signed)
        axes.set_ylabel(array.kind.replace("_", "\n"), fontsize=8)
        axes.set_yticks([])
        figure.colorbar(image, ax=axes, pad=0.01, aspect=8).ax.tick_params(labelsize=7)
    grid[-1].set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=8)
    figure.suptitle(layer[0].title.partition(":")[0], fontsize=9)
    return figure


def gradient_figure(flow: GradientFlow) -> Figure:
    """Gradient norm by distance from the output, on a logarithmic scale."""
    figure = new_figure(6.4, 4.0)
    draw_gradients(figure.subplots(), flow)
    return figure


def draw_gradients(axes: Axes, flow: GradientFlow) -> None:
    floor = 1e-20  # below it a gradient is nothing, and the scale should not go on for its sake
    for i, line in enumerate(flow.flows):
        norms = np.where((line.norms < floor) | ~np.isfinite(line.norms), np.nan, line.norms)
        axes.plot(
            norms,
            color=COLOURS[i % len(COLOURS)],
            linestyle=DASHES[i % len(DASHES)],
            linewidth=1.8,
            label=f"{line.name}: {line.verdict}",
        )
    axes.set_yscale("log")
    axes.set_xlim(0, len(flow.flows[0].norms) - 1)
    axes.set_xlabel("steps before the output")
    axes.set_ylabel("norm of the gradient of the state")
    plain(axes)
    axes.legend(frameon=False, fontsize=8)
