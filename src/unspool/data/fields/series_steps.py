"""The time between the steps of series: how regular it is, as a channel, and made regular."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.data.store.ragged import Ragged

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
    """Values at equal steps from the first time to the last, on straight lines between those that
    were observed; what lies outside of them is a gap."""
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
