"""MiniRocket (Dempster et al. 2021): series of any length -> how often each of thousands of fixed
convolutions exceeds a threshold.

A kernel has nine weights: 2 at three of its taps, -1 at the others, so there are 84 kernels, and
none is learnt. With dilation d and threshold b, kernel w of a series x gives

    ppv = mean over t of [Σ_j w_j x_{t + (j - 4) d} > b]        the share of positive values

Thresholds are quantiles of the same convolution of training series. In several channels a kernel
sums the convolutions of a random few.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from unspool.data.fields.series_values import Series

TAPS = 9
PEAKS = list(combinations(range(TAPS), 3))  # taps with the weight 2
WEIGHTS = np.array(
    [[2.0 if j in peaks else -1.0 for j in range(TAPS)] for peaks in PEAKS]
)  # (84, 9)
KERNELS = len(WEIGHTS)
MOST = 9_996 // KERNELS  # thresholds per kernel over all dilations, as published
FEWEST = 3
NUMBERS = 12_000_000  # features of all training rows together, beyond which there are fewer
DILATIONS = 32
CHANNELS = 9  # that one kernel reads, at most
GOLDEN = (math.sqrt(5) + 1) / 2


class Dilation(NamedTuple):
    """All kernels with one dilation.

    size         steps from one tap to the next
    channels     (84, C) bool: the channels that each kernel reads
    thresholds   (84, n)
    """

    size: int
    channels: np.ndarray
    thresholds: np.ndarray

    def convolve(self, x: np.ndarray, kernels: slice = slice(None)) -> np.ndarray:
        """(T, C) -> (84, T), with zeros beyond both ends"""
        steps, channels = x.shape
        padded = np.zeros((steps + (TAPS - 1) * self.size, channels), np.float32)
        start = TAPS // 2 * self.size
        padded[start : start + steps] = x
        taps = [padded[j * self.size : j * self.size + steps] for j in range(TAPS)]
        stacked = np.stack(taps, 1).reshape(steps, -1)  # (T, 9 C)
        weights = WEIGHTS[kernels, :, None] * self.channels[kernels, None, :]  # (K, 9, C)
        return weights.astype(np.float32).reshape(-1, TAPS * channels) @ stacked.T

    def inner(self, steps: int) -> slice:
        """The steps whose taps all lie within the series; all steps of a short one."""
        margin = TAPS // 2 * self.size
        return slice(margin, steps - margin) if steps > 2 * margin else slice(0, steps)


class MiniRocket:
    """Features of series, fitted to those of a training part.

    width       channels of the series
    dilations   none until it is fitted
    """

    title = "MiniRocket"

    def __init__(self) -> None:
        self.width = 0
        self.dilations: list[Dilation] = []

    @property
    def names(self) -> list[str]:
        return [
            f"kernel {','.join(map(str, PEAKS[k]))}, dilation {dilation.size}, threshold {n + 1}"
            for dilation in self.dilations
            for k in range(KERNELS)
            for n in range(dilation.thresholds.shape[1])
        ]

    def fit(self, series: Series) -> None:
        """Choose dilations by the length of series, channels at random and thresholds as quantiles
        of the convolutions of random series."""
        rows = np.flatnonzero(series.lengths > 0)
        per_kernel = min(MOST, max(FEWEST, NUMBERS // (KERNELS * len(rows))))
        rng = self._choose(series.scaled(rows[0]).shape[1], series.lengths[rows], per_kernel)
        quantiles = iter((np.arange(1, KERNELS * per_kernel + 1) * GOLDEN) % 1)
        for dilation in self.dilations:
            for k, thresholds in enumerate(dilation.thresholds):
                x = np.nan_to_num(series.scaled(int(rng.choice(rows))))
                y = dilation.convolve(x, slice(k, k + 1))[0]
                thresholds[:] = np.quantile(y, [next(quantiles) for _ in thresholds])

    def invent(self, channels: int) -> None:
        """Settle on features for a summary without data."""
        self._choose(channels, np.array([100]), MOST)

    def _choose(self, width: int, lengths: np.ndarray, per_kernel: int) -> np.random.Generator:
        rng, self.width = np.random.default_rng(0), width
        self.dilations = [
            Dilation(size, choose_channels(rng, width), np.zeros((KERNELS, count)))
            for size, count in dilations(int(np.median(lengths)), per_kernel)
        ]
        return rng

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Scaled values (T, C), NaN in gaps -> (F,)"""
        x = np.nan_to_num(x)
        shares = []
        for number, dilation in enumerate(self.dilations):
            y = dilation.convolve(x)[:, None, :] > dilation.thresholds[:, :, None]  # (84, n, T)
            share = y.mean(-1)
            # Every other kernel leaves out the steps that see zeros beyond the ends.
            odd = slice(1 - number % 2, None, 2)
            share[odd] = y[odd, :, dilation.inner(len(x))].mean(-1)
            shares.append(share.reshape(-1))
        return np.concatenate(shares)

    def to_json(self) -> dict[str, Any]:
        stored = [
            {
                "size": dilation.size,
                "channels": [np.flatnonzero(row).tolist() for row in dilation.channels],
                "thresholds": dilation.thresholds.tolist(),
            }
            for dilation in self.dilations
        ]
        return {"width": self.width, "dilations": stored}

    def load_json(self, stored: dict[str, Any], width: int) -> None:
        self.width, self.dilations = int(stored["width"]), []
        if self.width != width:
            raise ValueError("another number of channels")
        for each in stored["dilations"]:
            size, thresholds = int(each["size"]), np.array(each["thresholds"], float)
            channels = np.zeros((KERNELS, width), bool)
            for row, numbers in zip(channels, each["channels"], strict=True):
                row[numbers] = True
            valid = 0 < size < 2**31 and thresholds.ndim == 2 and len(thresholds) == KERNELS
            if not valid or not np.isfinite(thresholds).all():
                raise ValueError("not a dilation")
            self.dilations.append(Dilation(size, channels, thresholds))


def dilations(steps: int, per_kernel: int) -> list[tuple[int, int]]:
    """Dilations for series of so many steps, from 1 to where a kernel spans a series, each with the
    number of its thresholds per kernel: more for smaller ones."""
    most = min(per_kernel, DILATIONS)
    largest = max(0.0, math.log2(max(1, steps - 1) / (TAPS - 1)))
    sizes, counts = np.unique(
        np.logspace(0, largest, most, base=2).astype(np.int64), return_counts=True
    )
    counts = (counts * (per_kernel / most)).astype(np.int64)
    for i in range(per_kernel - int(counts.sum())):
        counts[i % len(counts)] += 1
    return list(zip(sizes.tolist(), counts.tolist()))


def choose_channels(rng: np.random.Generator, channels: int) -> np.ndarray:
    """(84, C) bool: from one to nine channels for each kernel, fewer more often"""
    largest = math.log2(min(channels, CHANNELS) + 1)
    counts = (2 ** rng.uniform(0, largest, KERNELS)).astype(np.int64)
    mask = np.zeros((KERNELS, channels), bool)
    for row, count in zip(mask, counts):
        row[rng.choice(channels, count, replace=False)] = True
    return mask
