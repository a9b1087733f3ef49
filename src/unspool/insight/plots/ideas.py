"""Figures of ideas that need no model: positions, activation functions, kernels, gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional as F

from unspool.insight.gradients import fresh, gradient_flow
from unspool.insight.plots.recurrence import gradient_figure
from unspool.insight.plots.style import COLOURS, SIGNED, plain
from unspool.nn.activations import ACTIVATIONS
from unspool.nn.positions import Sinusoidal
from unspool.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISTANCE = 200


def positions_figure(steps: int = 2048, width: int = 512) -> Figure:
    """The sinusoidal encoding of positions (Vaswani et al. 2017, section 3.5): all of it, and its
    first elements over the first positions."""
    encoding = Sinusoidal(width).encoding(steps, like=torch.zeros(1)).numpy()
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


def activations_figure() -> Figure:
    """The activation functions of the course, and their derivatives."""
    names = [name for name, activation in ACTIVATIONS.items() if activation.pieces == 1]
    figure = new_figure(8.4, 4.6)
    grid = figure.subplots(2, 3).ravel()
    for axes, name in zip(grid, names):
        a = torch.linspace(-4, 4, 401, requires_grad=True)
        f = ACTIVATIONS[name].function(a)
        (slope,) = torch.autograd.grad(f.sum(), a)
        x = a.detach().numpy()
        axes.plot(x, f.detach().numpy(), color=COLOURS[0], label="f(a)")
        axes.plot(x, slope.numpy(), color=COLOURS[1], linestyle="--", label="f'(a)")
        axes.set_title(name.replace("_", " "), fontsize=10)
        axes.set_ylim(-1.3, 2.3)
        plain(axes)
    for axes in grid[len(names) :]:
        axes.axis("off")
    lines, texts = grid[0].get_legend_handles_labels()
    grid[-1].legend(lines, texts, frameon=False, loc="center", fontsize=11)
    return figure


KERNELS: dict[str, list[list[float]]] = {
    "identity": [[0, 0, 0], [0, 1, 0], [0, 0, 0]],
    "blur": [[1 / 9] * 3] * 3,
    "sharpen": [[0, -1, 0], [-1, 5, -1], [0, -1, 0]],
    "edges": [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]],
    "upright edges": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
}


def drawing(size: int = 96) -> np.ndarray:
    """A disc, a square and a slope: something with edges in all directions."""
    y, x = np.mgrid[0:size, 0:size] / size
    image = 0.25 + 0.3 * x
    image[(x - 0.34) ** 2 + (y - 0.38) ** 2 < 0.05] = 1.0
    image[(abs(x - 0.68) < 0.15) & (abs(y - 0.66) < 0.15)] = 0.0
    return image


def kernels_figure() -> Figure:
    """A convolution slides a small matrix over an image: what it makes of one depends on its nine
    numbers alone."""
    image = torch.from_numpy(drawing()).float()[None, None]
    figure = new_figure(9.6, 3.9)
    grid = figure.subplots(2, len(KERNELS), height_ratios=[2, 1])
    for (name, numbers), above, below in zip(KERNELS.items(), *grid):
        kernel = torch.tensor(numbers, dtype=torch.float)
        found = F.conv2d(F.pad(image, (1, 1, 1, 1), "replicate"), kernel[None, None])[0, 0]
        signed = bool(abs(float(kernel.sum())) < 1e-6)
        limits = {"vmin": -2, "vmax": 2} if signed else {"vmin": 0, "vmax": 1}
        above.imshow(found.numpy(), cmap="gray", **limits)
        above.set_title(name, fontsize=10)
        below.imshow(kernel.numpy(), cmap=SIGNED, vmin=-8, vmax=8)
        for i, j in np.ndindex(3, 3):
            text = "1/9" if name == "blur" else f"{numbers[i][j]:g}"
            colour = "white" if numbers[i][j] > 6 else "black"
            below.text(j, i, text, ha="center", va="center", fontsize=9, color=colour)
        for axes in (above, below):
            axes.set_xticks([])
            axes.set_yticks([])
    return figure


def smoothing_figure() -> Figure:
    """The same in one dimension: a noisy series, smoothed by kernels of different kinds."""
    t = np.linspace(0, 6, 181)
    noise = np.random.default_rng(1).normal(0, 0.25, len(t))
    series = np.sin(t) + 0.4 * np.sin(3 * t) + noise
    places = np.arange(-12, 13)
    kernels: dict[str, np.ndarray] = {
        "mean of 7": np.where(abs(places) <= 3, 1.0, 0.0),
        "Gaussian, σ = 4": np.exp(-(places**2) / (2 * 4**2)),
    }
    slope = -places * kernels["Gaussian, σ = 4"]
    change = {"its slope": slope / np.abs(slope).sum()}
    figure = new_figure(8.4, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=[2.2, 1])
    left.plot(t, series, ".", color="0.7", markersize=4, label="series")
    for i, (name, kernel) in enumerate({**kernels, **change}.items()):
        whole = kernel / kernel.sum() if name not in change else kernel
        padded = np.pad(series, 12, mode="edge")
        left.plot(t, np.convolve(padded, whole, "valid"), color=COLOURS[i], label=name)
        right.plot(places, whole, ".-", color=COLOURS[i])
    left.set_xlabel("t")
    right.set_xlabel("place in the kernel")
    plain(left)
    plain(right)
    left.legend(frameon=False, fontsize=8)
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
    "positions": positions_figure,
    "activations": activations_figure,
    "kernels": kernels_figure,
    "smoothing": smoothing_figure,
    "gradients": gradients_figure,
}
