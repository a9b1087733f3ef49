"""Sound: its spectrum as colours over time, and what a model says at each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unspool.data.read.recording import Recording
from unspool.insight.plots.style import COLOURS, SHARES, SIGNED, WEIGHTS, label, plain, quiet
from unspool.io.pictures import new_figure
from unspool.tasks.reading import StepLattice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROWS = 30  # tokens of a lattice that are shown
WRITTEN = 60  # tokens whose names stand above a lattice


def spectrum_figure(
    frames: Recording, duration: float, *, values: np.ndarray | None = None, title: str = ""
) -> Figure:
    """A heat map of the bands over time; `values` (T,) below it: what each frame contributes to an
    answer, red for it, blue against it. `duration`: seconds of a frame."""
    figure = new_figure(9, 3.4)
    ratios = [6.0] if values is None else [6.0, 0.6]
    axes = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios, squeeze=False)[:, 0]
    draw_spectrum(axes[0], frames, duration)
    axes[0].set_title(label(title), loc="left", fontsize=10)
    if values is not None:
        most = float(np.abs(values).max()) or 1.0
        end = len(frames) * duration
        axes[1].imshow(
            values[None], cmap=SIGNED, vmin=-most, vmax=most, aspect="auto", extent=(0, end, 0, 1)
        )
        axes[1].set_yticks([])
        axes[1].set_ylabel("for it", rotation=0, ha="right", va="center", fontsize=9)
        quiet(axes[1])
    axes[-1].set_xlabel("seconds", fontsize=9)
    return figure


def draw_spectrum(axes: Axes, frames: Recording, duration: float) -> None:
    end, count = len(frames) * duration, frames.values.shape[1]
    low, high = np.quantile(frames.values, (0.05, 0.995))
    axes.imshow(
        frames.values.T,
        cmap=SHARES,
        vmin=float(low),
        vmax=float(high),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        extent=(0, end, -0.5, count - 0.5),
    )
    marks = np.unique(np.linspace(0, count - 1, 5).astype(int))
    axes.set_yticks(marks, [frames.channels[i] if frames.channels else str(i) for i in marks])
    axes.tick_params(labelsize=8)
    quiet(axes)


def lattice_figure(
    frames: Recording, duration: float, lattice: StepLattice, *, title: str = ""
) -> Figure:
    """The probabilities of tokens over time, with the text where its tokens were written, above the
    spectrum; the darker the more probable. Tokens that are never likely are left out."""
    p, end = lattice.probabilities, len(frames) * duration
    likely = [int(i) for i in np.argsort(-p[:, 1:].max(0), kind="stable")[:ROWS] + 1]
    likely = [i for i in likely if p[:, i].max() > 0.02] or likely[:1]
    rows = sorted(likely, key=lambda i: lattice.names[i], reverse=True)
    figure = new_figure(max(7.0, min(14.0, 2.0 * end)), 2.6 + 0.19 * len(rows) + 1.0)
    ratios = [max(1.2, 0.19 * len(rows)), 0.7, 2.3]
    top, blank, below = figure.subplots(3, 1, sharex=True, height_ratios=ratios)
    top.imshow(
        p[:, rows].T,
        cmap=WEIGHTS,
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
        origin="lower",
        extent=(0, len(p) * lattice.duration, -0.5, len(rows) - 0.5),
    )
    top.set_yticks(range(len(rows)), [label(lattice.names[i]) for i in rows], fontsize=8)
    quiet(top)
    for name, first, stop in lattice.places[:WRITTEN]:
        middle = (first + stop) / 2 * lattice.duration
        top.annotate(
            label(name), (middle, 1.02), xycoords=("data", "axes fraction"), ha="center",
            fontsize=9, color=COLOURS[1],
        )  # fmt: skip
    top.set_title(label(title), loc="left", fontsize=10, pad=16)
    steps = (np.arange(len(p)) + 0.5) * lattice.duration
    blank.plot(steps, p[:, 0], color="0.4", linewidth=1.0)
    blank.set_ylim(-0.05, 1.05)
    blank.set_yticks([0, 1])
    blank.set_ylabel("blank", rotation=0, ha="right", va="center", fontsize=9)
    blank.tick_params(labelsize=8)
    plain(blank)
    draw_spectrum(below, frames, duration)
    below.set_xlim(0, end)
    below.set_xlabel("seconds", fontsize=9)
    return figure
