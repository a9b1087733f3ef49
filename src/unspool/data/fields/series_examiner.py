"""Checks of series: spikes, flat channels, gaps, and the same recording twice."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from unspool.data.fields.examiner import Examiner, Flaw
from unspool.data.fields.ngrams import mix
from unspool.data.fields.series_values import digest
from unspool.data.read.recording import Recording, as_recording
from unspool.data.store.ragged import Ragged

SPIKE = 20.0  # standard deviations, as the quartiles of the training part suggest them
PIECE = 16  # steps of a shingle
LEVELS = 8  # of a feature


class SeriesExaminer(Examiner):
    """Values are compared in standard deviations of the training part, rounded."""

    FLAWS: ClassVar[Mapping[str, Flaw]] = {
        "gaps": Flaw("have gaps", "they are read as 0 with a channel that says so"),
        "flat": Flaw("have a channel that never changes", "look whether the sensor was on"),
        "spikes": Flaw(
            f"have values more than {SPIKE:g} standard deviations from the median",
            "mend them, or leave the cells empty as gaps",
        ),
    }
    shingle = f"{PIECE} steps"

    def __init__(
        self,
        channels: Sequence[str],
        mean: np.ndarray,
        std: np.ndarray,
        steps: np.ndarray,
        recording: Callable[[Any, str], Recording] = as_recording,
    ) -> None:
        """`steps` (M, C) are some of the training part; `recording` makes one of a raw value."""
        self.channels, self.mean, self.std = channels, mean, std
        self.recording = recording
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a channel without a value
            low, self.median, high = np.nanquantile(steps, (0.25, 0.5, 0.75), axis=0)
        self.spread = np.where(high > low, (high - low) / 1.349, std)

    def shingles(self, values: Any, rows: np.ndarray) -> Ragged:
        return Ragged.of([self._pieces(values.raw[int(row)]) for row in rows])

    def features(self, values: Any, rows: np.ndarray) -> Ragged:
        """Return the levels of the mean, deviation, least, most and slope of each channel."""
        return Ragged.of([self._levels(values.raw[int(row)]) for row in rows])

    def _pieces(self, x: np.ndarray) -> np.ndarray:
        z = np.nan_to_num((x - self.mean) / self.std)
        whole = np.round(z, 2).astype(np.float32) + np.float32(0)  # no -0
        pieces = range(0, len(whole), PIECE)
        return np.array([digest(whole[i : i + PIECE]) for i in pieces], np.uint64)

    def _levels(self, x: np.ndarray) -> np.ndarray:
        z = np.nan_to_num((x - self.mean) / self.std)
        change = np.abs(np.diff(z, axis=0)).mean(0) if len(z) > 1 else np.zeros(z.shape[1])
        figures = np.stack([z.mean(0), z.std(0), z.min(0), z.max(0), z[-1] - z[0], change])
        level = np.clip(np.round(figures * LEVELS / 2), -4 * LEVELS, 4 * LEVELS).astype(np.int64)
        number = np.arange(level.size).reshape(level.shape)
        return mix((number * 1000 + level + 500).astype(np.uint64).reshape(-1))

    def flaws(self, raw: Sequence[Any]) -> dict[str, np.ndarray]:
        arrays = [self.recording(value, "").values for value in raw]
        return {
            "gaps": np.array([bool(np.isnan(x).any()) for x in arrays]),
            "flat": np.array([len(x) > 1 and bool((x == x[:1]).all(0).any()) for x in arrays]),
            "spikes": np.array([bool(self._spikes(x).any()) for x in arrays]),
        }

    def _spikes(self, x: np.ndarray) -> np.ndarray:
        return np.abs(np.nan_to_num((x - self.median) / self.spread)) > SPIKE

    def excerpt(self, raw: Any, flaw: str | None = None) -> str:
        recording = self.recording(raw, "")
        x = recording.values
        if flaw == "gaps":
            step, channel = (int(axis[0]) for axis in np.nonzero(np.isnan(x)))
            place = f"step {step + 1} of {self._name(channel)}"
            return f"{int(np.isnan(x).sum()):,} gaps, the first at {place}"
        if flaw == "flat":
            flat = np.flatnonzero((x == x[:1]).all(0))
            return ", ".join(f"{self._name(i)} = {x[0, i]:g}" for i in flat[:5])
        if flaw == "spikes":
            step, channel = (int(axis[0]) for axis in np.nonzero(self._spikes(x)))
            return f"step {step + 1} of {self._name(channel)}: {x[step, channel]:g}"
        return str(recording)

    def _name(self, channel: int) -> str:
        return self.channels[channel] if channel < len(self.channels) else str(channel + 1)
