"""Figures of ideas that need no model, by name: positions, activation functions, gradients, and
those of the other modules of this folder."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from unspool.insight.gradients import fresh, gradient_flow
from unspool.insight.plots.blocks import attention_figure, transformer_figure
from unspool.insight.plots.graph import arrow
from unspool.insight.plots.kernels import density_figure, kernels_figure, smoothing_figure
from unspool.insight.plots.recurrence import gradient_figure
from unspool.insight.plots.style import COLOURS, DASHES, SIGNED, plain
from unspool.insight.plots.wiring import cells_figure, steps_figure
from unspool.io.pictures import new_figure
from unspool.nn.activations import ACTIVATIONS
from unspool.nn.positions import Sinusoidal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOX = 0.56


class NetworkShape(NamedTuple):
    """The steps of a network; those that read and those that answer; an example.

    fed   an answer is what the next step reads
    """

    steps: int
    reads: tuple[int, ...]
    answers: tuple[int, ...]
    example: str
    fed: bool = False


SHAPES = {
    "one to one": NetworkShape(1, (0,), (0,), "a network\nwithout recurrence"),
    "one to many": NetworkShape(
        3, (0,), (0, 1, 2), "--task generate:\na text from its beginning", True
    ),
    "many to one": NetworkShape(3, (0, 1, 2), (2,), "--task classify:\na label for a text"),
    "many to many": NetworkShape(
        5, (0, 1, 2), (2, 3, 4), "--task translate:\na text for a text", fed=True
    ),
    "synced": NetworkShape(3, (0, 1, 2), (0, 1, 2), "--task tag:\na tag for each word"),
}


def shapes_figure() -> Figure:
    """Shapes of inputs and outputs: blue boxes are read, white ones are states, orange ones are
    answers. The same weights work at every step."""
    widths = [shape.steps + 0.9 for shape in SHAPES.values()]
    figure = new_figure(0.62 * sum(widths), 3.1)
    for axes, (name, shape) in zip(
        figure.subplots(1, len(SHAPES), width_ratios=widths), SHAPES.items()
    ):
        draw_shape(axes, shape)
        axes.set_title(name, fontsize=10)
        axes.text((shape.steps - 1) / 2, -1.05, shape.example, ha="center", va="top", fontsize=8)
        axes.set_xlim(-0.95, shape.steps - 0.05)
        axes.set_ylim(-2.0, 2.6)
        axes.set_aspect("equal")
        axes.axis("off")
    return figure


def draw_shape(axes: Axes, shape: NetworkShape) -> None:
    half = BOX / 2
    for t in range(shape.steps):
        box(axes, t, 1, "white")
        if t:
            arrow(axes, (t - 1 + half, 1), (t - half, 1))
        if t in shape.reads:
            box(axes, t, -0.2, COLOURS[5])
            arrow(axes, (t, -0.2 + half), (t, 1 - half))
        if t in shape.answers:
            box(axes, t, 2.2, COLOURS[4])
            arrow(axes, (t, 1 + half), (t, 2.2 - half))
        if shape.fed and t in shape.answers and t + 1 < shape.steps:
            arrow(axes, (t + half, 2.2 - half), (t + 1 - half, 1 + half), bend=0.15)


def box(axes: Axes, x: float, y: float, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (x - BOX / 2, y - BOX / 2)
    shape = FancyBboxPatch(corner, BOX, BOX, boxstyle="round,pad=0,rounding_size=0.08",
                           facecolor=colour, edgecolor="0.45")  # fmt: skip
    axes.add_patch(shape)


DISTANCE = 200


def sinusoids(steps: int, width: int) -> np.ndarray:
    return Sinusoidal(width).encoding(steps, like=torch.zeros(1)).numpy()


def positions_figure(steps: int = 2048, width: int = 512) -> Figure:
    """The sinusoidal encoding of positions (Vaswani et al. 2017, section 3.5): all of it, and some
    of its elements over the first positions."""
    encoding = sinusoids(steps, width)
    sines_first = np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], 1)
    figure = new_figure(7.0, 6.4)
    above, below = figure.subplots(2, 1, height_ratios=[1.7, 1])
    image = above.imshow(
        sines_first.T, cmap=SIGNED, vmin=-1, vmax=1, aspect="auto", interpolation="antialiased"
    )
    above.set_xlabel("position")
    above.set_ylabel("cosines                    sines")
    above.set_yticks(
        [0, width // 4, width // 2, 3 * width // 4], [0, width // 2, 1, width // 2 + 1]
    )
    figure.colorbar(image, ax=above, ticks=[-1, 0, 1])
    for i, element in enumerate(width * k // 12 // 2 * 2 for k in range(1, 5)):
        below.plot(encoding[:100, element], color=COLOURS[i], label=f"element {element}")
    below.set_xlabel("position")
    below.set_xlim(0, 99)
    plain(below)
    below.legend(frameon=False, fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def curves_figure(steps: int = 60, width: int = 20) -> Figure:
    """Why these waves: the first five elements of a short encoding, and the products of encodings,
    which depend on how far apart two positions are and on nothing else."""
    encoding = sinusoids(steps, width)
    figure = new_figure(9.6, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=[1.6, 1])
    for i in range(5):
        left.plot(encoding[:, i], color=COLOURS[i], linestyle=DASHES[i], label=f"element {i}")
    left.set_xlabel("position")
    left.set_title(f"the first of {width} elements", fontsize=9)
    left.legend(frameon=False, fontsize=8, ncols=5, loc="lower center", bbox_to_anchor=(0.5, -0.4))
    for i, start in enumerate((5, 25, 45)):
        near = np.arange(max(0, start - 25), min(steps, start + 26))
        products = encoding[near] @ encoding[start] / (width / 2)
        right.plot(near - start, products, color=COLOURS[i], linestyle=DASHES[i],
                   label=f"from position {start}")  # fmt: skip
    right.set_xlabel("distance")
    right.set_title("product of two encodings", fontsize=9)
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        plain(axes)
    return figure


def activations_figure() -> Figure:
    """The activation functions of the course, and their derivatives."""
    figure = new_figure(8.4, 4.6)
    grid = figure.subplots(2, 3).ravel()
    for axes, (name, (function, pieces)) in zip(grid, ACTIVATIONS.items()):
        a = torch.linspace(-4, 4, 401, requires_grad=True)
        # Of maxout the two pieces are a choice: here a and -a/2.
        f = function(a if pieces == 1 else torch.stack([a, -a / 2], -1)).reshape(-1)
        (slope,) = torch.autograd.grad(f.sum(), a)
        x = a.detach().numpy()
        axes.plot(x, f.detach().numpy(), color=COLOURS[0], label="f(a)")
        axes.plot(x, slope.numpy(), color=COLOURS[1], linestyle="--", label="f'(a)")
        title = name.replace("_", " ") + (" of a and -a/2" if pieces == 2 else "")
        axes.set_title(title, fontsize=10)
        axes.set_ylim(-1.3, 2.3)
        plain(axes)
    grid[0].legend(frameon=False, loc="upper left", fontsize=9)
    return figure


def gradients_figure() -> Figure:
    """Gradients through 200 steps of fresh cells: what vanishes, what explodes and what lasts."""
    bias = round(math.log(DISTANCE), 1)
    cells = {
        "elman": fresh("elman", 32, 64),
        "elman, U doubled": fresh("elman", 32, 64, scale=2.0),
        "irnn": fresh("irnn", 32, 64),
        "gru": fresh("gru", 32, 64),
        "lstm, forget bias 1": fresh("lstm", 32, 64),
        f"lstm, forget bias {bias}": fresh("lstm", 32, 64, options={"forget_bias": bias}),
    }
    return gradient_figure(gradient_flow(cells, distance=DISTANCE))


IDEAS: dict[str, Callable[[], Figure]] = {
    "activations": activations_figure,
    "density": density_figure,
    "smoothing": smoothing_figure,
    "kernels": kernels_figure,
    "shapes": shapes_figure,
    "gradients": gradients_figure,
    "lstm": steps_figure,
    "cells": cells_figure,
    "attention": attention_figure,
    "positions": positions_figure,
    "curves": curves_figure,
    "transformer": transformer_figure,
}
