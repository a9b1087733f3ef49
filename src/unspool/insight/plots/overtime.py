"""Figures of a model reading a series: channels as curves, and below them on the same axis gates,
attention and contributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.data.read.recording import Recording
from unspool.insight.plots.attention import scale_end
from unspool.insight.plots.recurrence import UNITS
from unspool.insight.plots.series import CHANNELS, curves
from unspool.insight.plots.style import COLOURS, SHARES, SIGNED, WEIGHTS, label, plain, quiet
from unspool.insight.saliency import Saliency
from unspool.insight.trace import Recorded
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from unspool.tasks.forecast.answer import SeriesForecast

TICKS = 7
MARKS = 5  # channels of many that are named
HEADS = 4  # of a layer that are drawn beside each other
Spans = Sequence[tuple[int, int]]  # the steps that each step of the network reads


def stacked(
    series: Recording, heights: Sequence[float], title: str, *, end: int = 0
) -> tuple[Figure, list[Axes]]:
    """The curves of a series, and axes below them with the same steps across, perhaps up to an
    `end` behind it."""
    figure = new_figure(9, 2.2 + sum(heights))
    ratios = [2.0, *heights]
    axes = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios, squeeze=False)[:, 0]
    draw_series(axes[0], series)
    if title:
        axes[0].set_title(title, loc="left", fontsize=10)
    name_steps(axes[-1], series.steps(), end, seconds=is_spectrum(series))
    return figure, list(axes)


def is_spectrum(series: Recording) -> bool:
    """Return whether its channels are bands of frequencies; the times of such are seconds."""
    return bool(series.channels) and all(name.endswith(" Hz") for name in series.channels)


def draw_series(axes: Axes, series: Recording) -> None:
    """Its channels as curves; those that are too many as colours, the last at the top, as of a
    spectrum."""
    if series.values.shape[1] <= CHANNELS:
        curves(axes, series, np.arange(len(series)) + 0.5)
        return
    low, high = np.nanquantile(series.values, (0.05, 0.995))
    look = {"cmap": SHARES, "vmin": float(low), "vmax": float(high)}
    mesh(axes, series.values.T, [(t, t + 1) for t in range(len(series))], **look)
    axes.invert_yaxis()
    some_channels(axes, series.channels)


def some_channels(axes: Axes, names: Sequence[str]) -> None:
    marks = np.unique(np.linspace(0, len(names) - 1, MARKS).astype(int))
    axes.set_yticks(marks + 0.5, [label(names[i]) for i in marks], fontsize=8)


def name_steps(axes: Axes, names: Sequence[str], end: int = 0, *, seconds: bool = False) -> None:
    """Steps across by their names; step i is between i and i + 1."""
    ticks = np.unique(np.linspace(0, len(names) - 1, TICKS).round().astype(int))
    whole = all(name.endswith(":00") for name in names)
    shown = [names[i][:-3] if whole else names[i] for i in ticks]
    axes.set_xticks(ticks + 0.5, [text.replace(" ", "\n") for text in shown], fontsize=8)
    axes.set_xlim(0, max(len(names), end))
    plain_steps = names[0] == "0" and names[-1] == str(len(names) - 1)
    axes.set_xlabel("step" if plain_steps else "seconds" if seconds else "time")


def mesh(axes: Axes, values: np.ndarray, spans: Spans, **look: Any) -> Any:
    """Rows (R, T) as colours, each column as wide as the steps that it stands for."""
    edges = [first for first, _ in spans] + [spans[-1][1]]
    rows = np.arange(len(values) + 1)
    image = axes.pcolormesh(edges, rows, values, rasterized=True, **look)
    axes.invert_yaxis()
    quiet(axes)
    return image


def bar(figure: Figure, image: Any, axes: Axes) -> None:
    colorbar = figure.colorbar(image, ax=axes, pad=0.01, aspect=8)
    colorbar.ax.tick_params(labelsize=7)
    colorbar.outline.set_edgecolor("0.8")


def gates_over_time(series: Recording, layer: Sequence[Recorded], spans: Spans) -> Figure:
    """The gates and states of one layer: units downwards, those whose hidden states change most
    first."""
    busiest = np.argsort(-layer[-1].values.std(0), kind="stable")[:UNITS]
    title = layer[0].title.partition(":")[0]
    figure, (_, *rest) = stacked(series, [0.85] * len(layer), title, end=spans[-1][1])
    for axes, array in zip(rest, layer):
        signed = not array.kind.endswith("gate")
        most = float(np.abs(array.values[:, busiest]).max()) or 1.0 if signed else 1.0
        look = {"cmap": SIGNED if signed else SHARES, "vmin": -most if signed else 0, "vmax": most}
        image = mesh(axes, array.values[:, busiest].T, spans, **look)
        axes.set_ylabel(array.kind.replace("_", "\n"), fontsize=8)
        axes.set_yticks([])
        bar(figure, image, axes)
    return figure


def attention_over_time(series: Recording, layers: Sequence[Recorded], spans: Spans) -> Figure:
    """Attention of steps (downwards) to steps (across): layers downwards, heads across, each below
    the series that it reads."""
    first = sum(stop <= 0 for _, stop in spans)  # a class token, which is not a step
    spans = spans[first:]
    heads = min(HEADS, layers[0].values.shape[0])
    most = scale_end([layer.values[:, first:, first:] for layer in layers])
    figure = new_figure(1.5 + 3.4 * heads, 1.7 + 2.6 * len(layers))
    ratios = [1.2, *[2.4] * len(layers)]
    grid = figure.subplots(1 + len(layers), heads, sharex=True, height_ratios=ratios, squeeze=False)
    for axes in grid[0]:
        draw_series(axes, series)
        if axes.get_legend() is not None:
            axes.get_legend().remove()
    image = None
    for row, layer in zip(grid[1:], layers):
        for head, axes in enumerate(row):
            weights = layer.values[head, first:, first:]
            image = mesh(axes, weights, spans, cmap=WEIGHTS, vmin=0, vmax=most)
            more = f" of {layer.values.shape[0]}" if layer.values.shape[0] > heads else ""
            axes.set_title(f"layer {layer.layer}, head {head + 1}{more}", fontsize=8)
            axes.set_yticks([])
    for axes in grid[-1]:
        name_steps(axes, series.steps(), seconds=is_spectrum(series))
        axes.set_xticks(axes.get_xticks()[[0, -1]], [axes.get_xticklabels()[i] for i in (0, -1)])
    figure.supylabel("each step looks", fontsize=8)
    assert image is not None
    own_bar = figure.colorbar(image, ax=grid[1:], shrink=0.6)
    own_bar.set_label("weight", fontsize=8)
    own_bar.outline.set_edgecolor("0.8")
    return figure


def pooling_over_time(series: Recording, array: Recorded, spans: Spans) -> Figure:
    """The weights with which the states of a series become one vector."""
    figure, (_, axes) = stacked(series, [1.1], "attention pooling")
    bars(axes, array.values, spans, COLOURS[0])
    axes.set_ylabel("weight", fontsize=8)
    return figure


def bars(axes: Axes, values: np.ndarray, spans: Spans, colour: Any) -> None:
    left = [first for first, _ in spans]
    wide = [stop - first for first, stop in spans]
    axes.bar(left, values, width=wide, align="edge", color=colour, linewidth=0)
    axes.axhline(0, color="0.6", linewidth=0.6)
    plain(axes)


def contribution_bars(axes: Axes, why: Saliency, spans: Spans) -> None:
    values = why.values[len(why.values) - len(spans) :]
    colours = [COLOURS[1] if value > 0 else COLOURS[0] for value in values]
    bars(axes, values, spans, colours)
    axes.set_ylabel("contribution", fontsize=8)


def saliency_over_time(series: Recording, why: Saliency, spans: Spans) -> Figure:
    """Contribution of each step, and of each channel at it, to an answer; `spans` of the tokens, of
    which those before 0 are no steps."""
    spans = [span for span in spans if span[1] > 0]
    of = f" at {label(why.asked)}" if why.asked else ""
    said = f"{label(why.answer)}{of}, {why.measure} {why.answer_value:.3f}"
    parts = channel_parts(why, len(spans))
    heights = [1.2, *([min(2.0, max(0.5, 0.2 * len(parts)))] if len(parts) > 1 else [])]
    title = "\n".join([said, *filter(None, [why.account()])])
    figure, (_, axes, *rest) = stacked(series, heights, title)
    contribution_bars(axes, why, spans)
    for below in rest:
        values = np.stack(list(parts.values()))
        most = float(np.abs(values).max()) or 1.0
        image = mesh(below, values, spans, cmap=SIGNED, vmin=-most, vmax=most)
        if len(parts) <= CHANNELS:
            names = [label(name) for name in parts]
            below.set_yticks(np.arange(len(parts)) + 0.5, names, fontsize=8)
        else:
            below.invert_yaxis()
            some_channels(below, list(parts))
        bar(figure, image, below)
    return figure


def channel_parts(why: Saliency, steps: int) -> dict[str, np.ndarray]:
    """Contributions by channel, of those that contribute, at the last so many tokens."""
    if why.parts is None:
        return {}
    parts = why.parts[len(why.parts) - steps :]
    return {name: part for name, part in zip(why.elements, parts.T) if np.abs(part).max() > 0}


def ahead_figure(
    series: Recording, forecast: SeriesForecast, why: Saliency | None, *, first: int, last: int
) -> Figure:
    """The past of the first target, what is expected with its interval, and what each past step
    contributed to one step ahead. `first` and `last`: the steps of the past that are read."""
    figure = new_figure(9, 3.4 if why is None else 4.8)
    ratios = [2.4] if why is None else [2.4, 1.2]
    axes = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios, squeeze=False)[:, 0]
    target = forecast.targets[0]
    channel = list(series.channels).index(target) if target in series.channels else 0
    begin = max(0, 2 * first - last)  # as much again before what is read
    past = series.values[begin:last, channel]
    before = np.arange(begin, last) - begin + 0.5
    ahead = np.arange(last, last + len(forecast.steps)) - begin + 0.5
    axes[0].plot(before, past, color="0.35", linewidth=1.1, label="before")
    axes[0].fill_between(
        ahead, forecast.low[:, 0], forecast.high[:, 0], color=COLOURS[0], alpha=0.2, linewidth=0,
        label="interval",
    )  # fmt: skip
    axes[0].plot(ahead, forecast.center[:, 0], color=COLOURS[0], linewidth=1.5, label="the model")
    axes[0].axvline(last - begin, color="0.7", linewidth=0.8)
    axes[0].legend(loc="upper left", fontsize=8, ncols=3, frameon=False)
    axes[0].set_title(label(target), loc="left", fontsize=10)
    plain(axes[0])
    if why is not None:
        start = first - begin
        contribution_bars(axes[1], why, [(start + t, start + t + 1) for t in range(last - first)])
        axes[1].axvline(last - begin + why.step + 0.5, color=COLOURS[2], linewidth=1.2)
        axes[1].set_title(
            f"of each step to the value at {label(why.asked)} (green): {why.account()}",
            loc="left",
            fontsize=8,
        )
    name_steps(axes[-1], [*series.steps()[begin:last], *forecast.steps])
    return figure
