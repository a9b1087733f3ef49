"""Convolution before networks: kernels on an image, over a series and over observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional as F

from unspool.insight.plots.style import COLOURS, SIGNED, plain, quiet
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KERNELS: dict[str, list[list[float]]] = {
    "identity": [[0, 0, 0], [0, 1, 0], [0, 0, 0]],
    "mean": [[1 / 9] * 3] * 3,
    "blur": [[0.0625, 0.125, 0.0625], [0.125, 0.25, 0.125], [0.0625, 0.125, 0.0625]],
    "sharpen": [[0, -1, 0], [-1, 5, -1], [0, -1, 0]],
    "edges": [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]],
    "upright edges": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
}
WRITTEN = {1 / 9: "1/9", 0.25: "1/4", 0.125: "1/8", 0.0625: "1/16"}


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
    figure = new_figure(10.8, 3.7)
    grid = figure.subplots(2, len(KERNELS), height_ratios=[2, 1])
    for (name, numbers), above, below in zip(KERNELS.items(), *grid):
        kernel = torch.tensor(numbers, dtype=torch.float)
        filtered = F.conv2d(F.pad(image, (1, 1, 1, 1), "replicate"), kernel[None, None])[0, 0]
        signed = bool(abs(float(kernel.sum())) < 1e-6)
        limits = {"vmin": -2, "vmax": 2} if signed else {"vmin": 0, "vmax": 1}
        above.imshow(filtered.numpy(), cmap="gray", **limits)
        above.set_title(name, fontsize=10)
        below.imshow(kernel.numpy(), cmap=SIGNED, vmin=-8, vmax=8)
        for i, j in np.ndindex(3, 3):
            number = numbers[i][j]
            text = WRITTEN.get(number, f"{number:g}")
            colour = "white" if number > 6 else "black"
            below.text(j, i, text, ha="center", va="center", fontsize=8, color=colour)
        for axes in (above, below):
            axes.set_xticks([])
            axes.set_yticks([])
    return figure


def smoothing_figure() -> Figure:
    """The same in one dimension: a noisy series, smoothed by kernels of different kinds."""
    t = np.linspace(0, 6, 181)
    noise = np.random.default_rng(1).normal(0, 0.25, len(t))
    series = np.sin(t) + 0.4 * np.sin(3 * t) + noise
    offsets = np.arange(-12, 13)
    kernels: dict[str, np.ndarray] = {
        "mean of 7": np.where(abs(offsets) <= 3, 1.0, 0.0),
        "Gaussian, σ = 4": np.exp(-(offsets**2) / (2 * 4**2)),
    }
    slope = -offsets * kernels["Gaussian, σ = 4"]
    change = {"its slope": slope / np.abs(slope).sum()}
    figure = new_figure(8.4, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=[2.2, 1])
    left.plot(t, series, ".", color="0.7", markersize=4, label="series")
    for i, (name, kernel) in enumerate({**kernels, **change}.items()):
        whole = kernel / kernel.sum() if name not in change else kernel
        padded = np.pad(series, 12, mode="edge")
        left.plot(t, np.convolve(padded, whole, "valid"), color=COLOURS[i], label=name)
        right.plot(offsets, whole, ".-", color=COLOURS[i])
    left.set_xlabel("t")
    right.set_xlabel("position in the kernel")
    plain(left)
    plain(right)
    left.legend(frameon=False, fontsize=8)
    return figure


def gaussian(x: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-(x**2) / (2 * width**2)) / (width * np.sqrt(2 * np.pi))


def density_figure() -> Figure:
    """Kernel density: a Gaussian over each observation, and their mean; its width decides how
    smooth that is; in two dimensions it makes a heat map."""
    draw = np.random.default_rng(2)
    seen = np.array([-2.1, -1.3, -0.4, 1.9, 5.1, 6.2])
    x = np.linspace(-6, 10, 400)
    figure = new_figure(10.2, 3.2)
    left, middle, right = figure.subplots(1, 3)
    each = gaussian(x[:, None] - seen, 1.2) / len(seen)  # (x, observations)
    left.plot(x, each, color="0.7", linewidth=1)
    left.plot(x, each.sum(1), color=COLOURS[0], linewidth=2)
    left.plot(seen, np.zeros_like(seen), "|", color="black", markersize=12)
    left.set_title("a Gaussian over each of six, and their sum", fontsize=9)
    many = np.concatenate([draw.normal(-1, 1, 60), draw.normal(4, 1.5, 40)])
    middle.hist(many, bins=24, density=True, color="0.88")
    for i, width in enumerate((0.15, 0.6, 2.0)):
        density = gaussian(x[:, None] - many, width).mean(1)
        middle.plot(x, density, color=COLOURS[i], label=f"width {width}")
    middle.legend(frameon=False, fontsize=8)
    middle.set_title("its width decides", fontsize=9)
    for axes in (left, middle):
        axes.set_xlabel("x")
        plain(axes)
    points = np.concatenate(
        [draw.normal((0, 0), 0.7, (60, 2)), draw.normal((2.4, 1.6), 0.5, (30, 2))]
    )
    side = np.linspace(-2.5, 4.5, 90)
    across, down = (gaussian(side[:, None] - points[:, i], 0.35) for i in (0, 1))  # (90, points)
    right.imshow(down @ across.T, origin="lower", extent=(-2.5, 4.5, -2.5, 4.5), cmap="cividis")
    right.plot(*points.T, ".", color="white", markersize=2)
    right.set_title("in two dimensions", fontsize=9)
    quiet(right)
    return figure
