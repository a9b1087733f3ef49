"""Values of vector fields: rows of vectors, their scaling, and the time between their steps."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from unspool.data.store.ragged import Ragged, Windows, gather

BLOCK = 1 << 20  # steps that are summed at once
ROWS = 1 << 16  # of one series
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
STATISTICS = (
    "mean", "sd", "min", "max", *(f"{100 * q:g} %" for q in QUANTILES), "slope", "first", "last",
    "mean change", "lag 1",
)  # fmt: skip


class Moments(NamedTuple):
    """Mean and standard deviation of each channel, (C,) or (N, C); 1 for a deviation of 0."""

    mean: np.ndarray
    std: np.ndarray


@dataclass
class Scaler:
    """Standardises vectors by the mean and standard deviation of each channel, (C,).

    mode   "channel": those of the training rows; "series", "window": those of a row itself;
           "none": values stay as they are
    """

    mode: str = "channel"
    mean: np.ndarray = field(default_factory=lambda: np.zeros(0))
    std: np.ndarray = field(default_factory=lambda: np.ones(0))

    @property
    def moments(self) -> Moments:
        if self.mode == "none":
            return Moments(np.zeros_like(self.mean), np.ones_like(self.std))
        return Moments(self.mean, self.std)

    def unscaled(self, values: np.ndarray) -> np.ndarray:
        """(T, C) that a model reads or writes -> float32 in the units of the file"""
        return (values * self.std + self.mean).astype(np.float32)


class Scales(Protocol):
    """Turns stored rows into steps of scaled vectors."""

    def scale(self, x: np.ndarray, moments: Moments | None) -> np.ndarray: ...

    def step_counts(self, lengths: np.ndarray) -> np.ndarray: ...


class Series:
    """N rows of vectors as they are stored; scaled when a row is read.

    raw      (M, C); a gap is NaN
    times    (M,) float64; None where steps have none
    moments  (C,) of all rows, or (N, C) of each; None: each row by its own
    seen     what was found in the files of the rows, where that was counted
    """

    def __init__(
        self,
        raw: Ragged,
        times: Ragged | None,
        moments: Moments | None,
        source: Scales,
        seen: Any = None,
    ) -> None:
        self.raw, self.times, self.moments = raw, times, moments
        self.source, self.seen = source, seen
        self.lengths = self.tokens = source.step_counts(raw.lengths)

    def __len__(self) -> int:
        return len(self.raw)

    def scaled(self, row: int) -> np.ndarray:
        """(T, C) float32; a gap is NaN"""
        moments = self.moments
        if moments is not None and moments.mean.ndim == 2:
            moments = Moments(moments.mean[row], moments.std[row])
        return self.source.scale(self.raw[row], moments)

    def digests(self) -> np.ndarray:
        return np.array([digest(self.raw[row]) for row in range(len(self))], np.uint64)

    def prints(self, common: dict[str, int]) -> np.ndarray:
        return self.digests().view(np.int64)

    def _with(self, raw: Ragged, times: Ragged | None, rows: np.ndarray) -> Series:
        moments = self.moments
        if moments is not None and moments.mean.ndim == 2:
            moments = Moments(moments.mean[rows], moments.std[rows])
        return Series(raw, times, moments, self.source, self.seen)

    def select(self, rows: np.ndarray) -> Series:
        times = None if self.times is None else self.times.select(rows)
        return self._with(self.raw.select(rows), times, rows)

    def windows(self, windows: Windows) -> Series:
        times = None if self.times is None else self.times.windows(windows)
        return self._with(self.raw.windows(windows), times, windows.origin)


def digest(x: np.ndarray) -> int:
    """64 bits of an array, the same in every process."""
    return int.from_bytes(hashlib.blake2b(x.tobytes(), digest_size=8).digest(), "little")


def moments_of_row(x: np.ndarray) -> Moments:
    """(T, C) -> (C,) each, in blocks of steps; of a channel without a value 0 and 1"""
    parts = [x[start : start + ROWS] for start in range(0, max(1, len(x)), ROWS)]
    seen = [~np.isnan(part) for part in parts]
    count = np.maximum(sum(mask.sum(0) for mask in seen), 1)
    sums = [np.where(mask, part, 0).sum(0, dtype=np.float64) for mask, part in zip(seen, parts)]
    mean = sum(sums) / count
    squares = [(np.where(mask, part - mean, 0) ** 2).sum(0) for mask, part in zip(seen, parts)]
    std = np.sqrt(sum(squares) / count)
    return Moments(mean, np.where(std > 1e-12 * np.maximum(1, np.abs(mean)), std, 1.0))


def channel_statistics(x: np.ndarray) -> np.ndarray:
    """(T, C), NaN in gaps -> (C K + 1,): `STATISTICS` of each channel, then
    the logarithm of the length; 0 where a channel has no value."""
    steps = np.arange(len(x)) - (len(x) - 1) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a channel without a value
        mean, std = np.nanmean(x, 0), np.nanstd(x, 0)
        rest = np.nan_to_num(x - mean)
        change = np.diff(x, axis=0) if len(x) > 1 else np.zeros_like(x)
        square = np.maximum((rest**2).sum(0), 1e-12)
        rows = [
            mean,
            std,
            np.nanmin(x, 0),
            np.nanmax(x, 0),
            *np.nanquantile(x, QUANTILES, axis=0),
            steps @ rest / max(1e-12, float(steps @ steps)) * len(x),
            x[0],
            x[-1],
            np.nanmean(np.abs(change), 0),
            (rest[1:] * rest[:-1]).sum(0) / square,
        ]
    return np.append(np.nan_to_num(np.stack(rows, 1)).reshape(-1), math.log(len(x)))


class FittedChannels(NamedTuple):
    """(C,) each: mean, standard deviation, gaps, and whether all values are the same."""

    mean: np.ndarray
    std: np.ndarray
    gaps: np.ndarray
    constant: np.ndarray


def fit_moments(series: Ragged) -> FittedChannels:
    """Fit to all steps of some series, in two passes over blocks of them."""
    width = series.values.shape[1]
    total, squares, seen = np.zeros(width), np.zeros(width), np.zeros(width, dtype=np.int64)
    for x in blocks(series):
        seen += (~np.isnan(x)).sum(0)
        total += np.nansum(x, 0, dtype=np.float64)
    mean = total / np.maximum(seen, 1)
    for x in blocks(series):
        squares += np.nansum((x - mean) ** 2, 0)
    std = np.sqrt(squares / np.maximum(seen, 1))
    constant = std <= 1e-6 * np.abs(mean)
    gaps = int(series.lengths.sum()) - seen
    return FittedChannels(mean, np.where(constant | (std == 0), 1.0, std), gaps, constant)


def blocks(series: Ragged) -> Iterator[np.ndarray]:
    """Their steps one after the other, about a million at a time."""
    ends = np.cumsum(series.lengths)
    cuts = np.searchsorted(ends, np.arange(BLOCK, int(ends[-1]) + BLOCK, BLOCK), "left") + 1
    start = 0
    for stop in np.unique(np.minimum(cuts, len(series))).tolist():
        if stop > start:
            yield gather(series.select(np.arange(start, stop)))
        start = stop


UNEVEN = 0.01  # of the median: a step that differs by more is irregular


class StepTimes(NamedTuple):
    """The time from one step to the next.

    median      of all
    least, most
    uneven      share of the steps that differ from the median by more than a hundredth of it
    """

    median: float
    least: float
    most: float
    uneven: float

    def notes(self, dated: bool, irregular: str) -> list[str]:
        unit = " s" if dated else ""
        if not self.uneven:
            return [f"time: equal steps of {self.median:g}{unit}"]
        done = {
            "ignore": "read as if they were equal; irregular=channel reads the time too,"
            " irregular=resample interpolates",
            "channel": "the time between steps is one more channel",
            "resample": f"interpolated at steps of {self.median:g}{unit}",
        }[irregular]
        return [
            f"time: irregular steps, {100 * self.uneven:.1f} % differ from the median of"
            f" {self.median:g}{unit} ({self.least:g} to {self.most:g}); {done}"
        ]

    def channel(self, times: np.ndarray, before: float | None = None) -> np.ndarray:
        """(T, 1) float32: ln(Δt / median), 0 at the first step and at steps of the median; `before`
        is the time of the step before the first."""
        first = times[:1] - self.median if before is None else before
        ratio = np.diff(times, prepend=first) / self.median
        return np.log(np.maximum(ratio, 1e-6)).astype(np.float32)[:, None]


def find_steps(times: Ragged) -> StepTimes | None:
    """Return the steps of all series; None where none has two."""
    differences = [np.diff(times[row]) for row in range(len(times))]
    steps = np.concatenate([*differences, np.empty(0)])
    if not len(steps):
        return None
    median = float(np.median(steps))
    uneven = float((np.abs(steps - median) > UNEVEN * median).mean())
    return StepTimes(median, float(steps.min()), float(steps.max()), uneven)


def resample(raw: Ragged, times: Ragged, step: float) -> tuple[Ragged, Ragged]:
    """Linear interpolation at equal steps; what lies outside of the observed values is a gap."""
    values, grids = [], []
    for row in range(len(raw)):
        x, t = np.asarray(raw[row]), np.asarray(times[row])
        grid = t[0] + step * np.arange(1 + int((t[-1] - t[0]) / step + 1e-6)) if len(t) else t
        resampled = np.full((len(grid), x.shape[1]), np.nan, dtype=np.float32)
        for k, channel in enumerate(x.T):
            seen = ~np.isnan(channel)
            if seen.any():
                resampled[:, k] = np.interp(grid, t[seen], channel[seen], left=np.nan, right=np.nan)
        values.append(resampled)
        grids.append(grid)
    return Ragged.of(values), Ragged.of(grids)
