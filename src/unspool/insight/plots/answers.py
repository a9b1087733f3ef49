"""Figures of answers, reasons and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unspool.insight.plots.style import COLOURS, DASHES, SIGNED, label, labels, plain, quiet
from unspool.insight.saliency import Saliency
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE = 72  # characters of a line of coloured text
LINES = 30


def saliency_figure(saliency: Saliency) -> Figure:
    """The text, each token on the colour of what it contributes: red for the answer, blue against
    it."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    lines = broken(labels(saliency.tokens))[:LINES]
    most = float(np.abs(saliency.values).max()) or 1.0
    colours = ScalarMappable(Normalize(-most, most), colormaps[SIGNED])
    wide = max(sum(len(token) + 1 for _, token in line) for line in lines)
    figure = new_figure(0.3 + 0.0875 * max(wide, 60), 1.2 + 0.28 * len(lines))
    axes = figure.subplots()
    axes.set_xlim(0, max(wide, 60))
    axes.set_ylim(len(lines), 0)
    axes.axis("off")
    for row, line in enumerate(lines):
        at = 0
        for i, token in line:
            colour = colours.to_rgba(saliency.values[i])
            dark = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 0.5
            axes.text(
                at,
                row + 0.5,
                token,
                family="monospace",
                fontsize=10,
                va="center",
                color="white" if dark else "black",
                bbox={"boxstyle": "square,pad=0.15", "facecolor": colour, "edgecolor": "none"},
            )
            at += len(token) + 1
    of = f" at {label(saliency.asked)!r}" if saliency.asked else ""
    said = f"{label(saliency.answer)!r}{of}, {saliency.measure} {saliency.answer_value:.3f}"
    axes.set_title("\n".join([said, *filter(None, [saliency.account()])]), loc="left", fontsize=10)
    bar = figure.colorbar(
        colours, ax=axes, orientation="horizontal", shrink=0.5, aspect=40, ticks=[-most, 0, most]
    )
    bar.ax.set_xticklabels(["against it", "0", "for it"], fontsize=8)
    bar.outline.set_edgecolor("0.8")
    return figure


def broken(tokens: Sequence[str]) -> list[list[tuple[int, str]]]:
    """Numbered tokens in lines of at most `LINE` characters."""
    lines: list[list[tuple[int, str]]] = [[]]
    used = 0
    for i, token in enumerate(tokens):
        if used and used + len(token) > LINE:
            lines.append([])
            used = 0
        lines[-1].append((i, token))
        used += len(token) + 1
    return lines


def learning_figure(runs: Mapping[str, Sequence[Mapping[str, Any]]], *, metric: str) -> Figure:
    """The learning curves of runs, by their names and their metrics.jsonl: the training loss, and
    what was measured on the validation part. A ring marks the best weights."""
    measured = f"valid_{metric}"
    panels = {
        what: key
        for what, key in (("training loss", "loss"), (f"validation {metric}", measured))
        if any(key in record for records in runs.values() for record in records)
    }
    figure = new_figure(4.5 * len(panels), 3.4)
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for i, (name, records) in enumerate(runs.items()):
        look: dict[str, Any] = {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": DASHES[i % len(DASHES)],
        }
        for axes, key in zip(grid, panels.values()):
            curve = [record for record in records if key in record]
            steps, values = [r["step"] for r in curve], [r[key] for r in curve]
            axes.plot(steps, values, marker="." if key == measured else "", **look, label=name)
            for j in [j for j, r in enumerate(curve) if key == measured and r.get("best")][-1:]:
                axes.plot(steps[j], values[j], "o", color=look["color"], mfc="none", markersize=9)
                axes.set_title("ring: the weights that were kept", fontsize=8, loc="right")
    for axes, what in zip(grid, panels):
        axes.set_xlabel("step")
        axes.set_ylabel(what.replace("_", " "))
        plain(axes)
    if len(runs) > 1:
        grid[0].legend(frameon=False, fontsize=8)
    return figure


def confusion_figure(confusion: np.ndarray, names: Sequence[str]) -> Figure:
    """Confusion matrix: truth downwards, answers across. Colours are shares of a row, numbers are
    counts."""
    counts = np.asarray(confusion)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    size = len(names)
    figure = new_figure(2.2 + 0.55 * size, 1.6 + 0.5 * size)
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(size), labels(names), rotation=90 if size > 3 else 0)
    axes.set_yticks(range(size), labels(names))
    axes.set_xlabel("answer")
    axes.set_ylabel("truth")
    quiet(axes)
    if size <= 25:
        for i, j in np.ndindex(size, size):
            colour = "white" if shares[i, j] > 0.5 else "black"
            axes.text(j, i, str(counts[i, j]), ha="center", va="center", color=colour, fontsize=8)
    bar = figure.colorbar(image, ax=axes, shrink=0.7, ticks=[0, 0.5, 1])
    bar.set_label("share of the truth")
    bar.outline.set_edgecolor("0.8")
    return figure


def classes_figure(scores: Mapping[str, Mapping[str, float]]) -> Figure:
    """Precision, recall and F1 of each class, with its number of examples on the right."""
    figure = new_figure(5.6, 1.3 + 0.28 * len(scores))
    axes = figure.subplots()
    rows = range(len(scores))
    for row, score in zip(rows, scores.values()):
        axes.plot([score["precision"], score["recall"]], [row, row], color="0.8", zorder=1)
    for i, metric in enumerate(("precision", "recall", "f1")):
        values = [score[metric] for score in scores.values()]
        name = "F1" if metric == "f1" else metric
        axes.scatter(values, rows, s=26, marker="<>o"[i], color=COLOURS[i], label=name, zorder=2)
    for row, score in zip(rows, scores.values()):
        axes.text(1.04, row, f"{score['support']:,}", va="center", ha="left", fontsize=8)
    axes.text(1.04, -0.8, "count", va="center", ha="left", fontsize=8)
    axes.set(xlim=(-0.02, 1.02), ylim=(len(scores) - 0.5, -0.5), yticks=rows)
    axes.set_yticklabels(labels(list(scores)))
    axes.grid(axis="y", color="0.93")
    axes.set_axisbelow(True)
    plain(axes)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def reliability_figure(calibration: Mapping[str, Any]) -> Figure:
    """The share of answers that are right against their confidence, without and with the
    temperature of a run; on the diagonal the two are equal. Below, how many answers there are."""
    temperature = calibration["temperature"]
    kinds = {"before": "without temperature", "after": f"temperature {temperature:.2f}"}
    if temperature == 1:
        kinds = {"after": "not calibrated"}
    figure = new_figure(4.6, 5.6)
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    top.plot([0, 1], [0, 1], color="0.5", linewidth=1)
    for i, (key, name) in enumerate(reversed(kinds.items())):
        stage = calibration[key]
        bins = stage["reliability"]
        look: dict[str, Any] = {"color": COLOURS[i], "linestyle": DASHES[i]}
        top.plot(
            bins["confidence"],
            bins["accuracy"],
            marker="os"[i],
            markersize=4,
            label=f"{name}: ECE {stage['ece']:.3f}",
            **look,
        )
        below.plot(bins["confidence"], bins["rows"], marker="os"[i], markersize=3, **look)
    top.set(xlim=(0, 1), ylim=(0, 1))
    top.set_ylabel("share that is right")
    top.legend(frameon=False, fontsize=8, loc="upper left")
    below.set_yscale("log")
    below.set_xlabel("confidence")
    below.set_ylabel("answers")
    for axes in (top, below):
        plain(axes)
    return figure


def scatter_figure(points: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Predicted numbers against true ones, a panel for each number; on the diagonal they are equal.

    points   by the name of a number: "true" and "predicted"
    """
    figure = new_figure(3.9 * len(points) + 0.3, 4.0)
    grid = figure.subplots(1, len(points), squeeze=False)[0]
    for axes, (name, pairs) in zip(grid, points.items()):
        both = np.concatenate([pairs["true"], pairs["predicted"]])
        pad = 0.04 * (float(np.ptp(both)) or 1.0)
        low, high = float(both.min()) - pad, float(both.max()) + pad
        axes.plot([low, high], [low, high], color="0.5", linewidth=1, zorder=1)
        alpha = 0.7 if len(pairs["true"]) <= 200 else 0.25  # many lie on each other
        axes.scatter(
            pairs["true"], pairs["predicted"], s=12, color=COLOURS[0], alpha=alpha, linewidths=0
        )
        axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        ticks = [at for at in axes.get_yticks() if low <= at <= high]
        axes.set(xticks=ticks, yticks=ticks)
        axes.set_xlabel(f"true {label(name)}")
        axes.set_ylabel(f"predicted {label(name)}")
        axes.set_title(f"{len(pairs['true']):,} examples", fontsize=8, loc="right")
        plain(axes)
    return figure
