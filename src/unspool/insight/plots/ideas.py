"""Figures of ideas that need no model, by name: positions, activation functions, gradients, and
those of the other modules of this folder."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch

from unspool.insight.gradients import fresh, gradient_flow
from unspool.insight.plots.blocks import attention_figure, transformer_figure
from unspool.insight.plots.kernels import density_figure, kernels_figure, smoothing_figure
from unspool.insight.plots.recurrence import gradient_figure
from unspool.insight.plots.shapes import shapes_figure
from unspool.insight.plots.style import COLOURS, DASHES, SIGNED, plain
from unspool.insight.plots.wiring import cells_figure, steps_figure
from unspool.io.pictures import new_figure
from unspool.nn.activations import ACTIVATIONS
from unspool.nn.positions import Sinusoidal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
