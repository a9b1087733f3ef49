"""series: vectors over time, ragged and with gaps; scaled by what the training rows show.

raw: as of all recordings (`recordings.py`). values: `Series`. tensors: `SeriesBatch`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.field import Chunk, Where
from unspool.data.fields.recordings import RecordingsField, count, refuse_times
from unspool.data.fields.series_examiner import SeriesExaminer
from unspool.data.fields.series_steps import Steps, find_steps, resample
from unspool.data.fields.series_values import (
    STATISTICS,
    Moments,
    Series,
    blocks,
    channel_statistics,
    fit_moments,
    moments_of_row,
)
from unspool.data.read.recording import Recording
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import Ragged
from unspool.data.store.vectors import VectorColumn
from unspool.errors import DataError, RunError
from unspool.io.files import AGAIN, read_json, write_json

FILE = "series.json"


class SeriesBatch(NamedTuple):
    """B series padded to the longest, T steps."""

    values: Tensor  # (B, T, C) float32, padded with 0
    lengths: Tensor  # (B,) int64

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a model reads."""
        return self.values, self.lengths


class SeriesField(RecordingsField):
    """Mean and standard deviation of each channel are fitted; models see (x - mean) / std, 0 in
    gaps, and for each channel with gaps in training one more that is 1 where it was observed.

    scaling    by what values are scaled: those of the training rows ("channel"), of the "series" or
               the "window" itself, or "none"
    irregular  "channel": ln(Δt / step) is one more channel; "resample": values are interpolated at
               equal steps
    channels   names
    gappy      numbers of the channels that have gaps in training
    steps      the time from one step to the next in training; None where there are no times
    """

    kind = "series"

    def __init__(
        self,
        name: str,
        *,
        scaling: str = "channel",
        irregular: str = "ignore",
        max_length: int = 0,
        window: int = 0,
        missing: str = "drop",
    ) -> None:
        super().__init__(name)
        self.scaling, self.irregular, self.max_length = scaling, irregular, max_length
        self.window = window
        self.missing = "error" if missing == "error" else "drop"
        self.channels: list[str] = []
        self.mean, self.std = np.zeros(0), np.ones(0)  # (C,)
        self.gappy: list[int] = []
        self.steps: Steps | None = None

    @property
    def size(self) -> int:
        """Of the vectors that a model reads."""
        return len(self.channels) + len(self.gappy) + (self.irregular == "channel")

    @property
    def inputs(self) -> list[str]:
        """What the elements of these vectors are called."""
        names = [*self.channels, *(f"{self.channels[i]} observed" for i in self.gappy)]
        return [*names, *(["time between steps"] if self.irregular == "channel" else [])]

    def fit(
        self,
        column: VectorColumn,
        rows: np.ndarray,
        *,
        where: str,
        progress: Progress | None = None,
    ) -> list[str]:
        self.channels = list(column.channels)
        series = column.values.select(rows)
        if self.window and int(series.lengths.max()) < self.window:
            raise DataError(
                f"the window is longer than every series: {self.window:,} steps, and the longest"
                f" has {int(series.lengths.max()):,}",
                where=where,
                remedy="set a smaller window, or none",
            )
        found = fit_moments(series)
        self.mean, self.std = found.mean, found.std
        self.gappy = np.flatnonzero(found.gaps).tolist()
        steps, gaps = int(series.lengths.sum()), int(found.gaps.sum())
        listed = ", ".join(self.channels[:8]) + (", ..." if len(self.channels) > 8 else "")
        notes = [
            f"{self.kind}: {count(len(self.channels), 'channel')} ({listed}), {steps:,} steps in"
            f" train, from {series.lengths.min():,} to {series.lengths.max():,} a series"
        ]
        if gaps:
            notes.append(
                f"{gaps:,} gaps in {count(len(self.gappy), 'channel')} of train"
                f" ({100 * gaps / (steps * len(self.channels)):.2f} % of the values): they are 0"
                " after scaling, and one more channel each says where"
            )
        if found.constant.all():
            raise DataError(
                "every channel is constant in the training rows, so there is nothing to learn",
                where=where,
                got=f"{self.channels[0]} = {self.mean[0]:g}",
                remedy="name the columns of the values with --series",
            )
        if found.constant.any():
            names = [self.channels[i] for i in np.flatnonzero(found.constant)]
            notes.append(f"constant in train: {', '.join(names[:8])}")
        if self.irregular != "ignore" and column.times is None:
            raise DataError(
                f"irregular={self.irregular} needs the time of each step, and there is none",
                where=where,
                remedy="name its column with --time, or leave the setting out",
            )
        if column.times is not None:
            self.steps = find_steps(column.times.select(rows))
            notes += [] if self.steps is None else self.steps.notes(column.dated, self.irregular)
        return notes

    def invent(self, *, vocab: int, classes: int) -> None:
        self.channels = ["1"]
        self.mean, self.std = np.zeros(1), np.ones(1)

    def values(self, column: VectorColumn, progress: Progress | None = None) -> Series:
        return self.series_of(column.values, column.times)

    def series_of(self, raw: Ragged, times: Ragged | None) -> Series:
        """The values of rows as they are stored."""
        if self.irregular == "resample" and times is not None:
            assert self.steps is not None
            raw, times = resample(raw, times, self.steps.median)
        if self.max_length:
            raw = raw.cut(self.max_length)
            times = None if times is None else times.cut(self.max_length)
        return Series(raw, times, self._moments(raw))

    def _moments(self, raw: Ragged) -> Moments | None:
        if self.scaling == "window":
            return None
        if self.scaling == "none":
            return Moments(np.zeros_like(self.mean), np.ones_like(self.std))
        if self.scaling == "channel":
            return Moments(self.mean, self.std)
        found = [moments_of_row(raw[row]) for row in range(len(raw))]
        empty = np.empty((0, len(self.channels)))
        both = zip(*found) if found else (empty, empty)
        return Moments(*(np.asarray(each).reshape(-1, len(self.channels)) for each in both))

    @property
    def feature_names(self) -> list[str]:
        """Names of what `features` gives."""
        names = [f"{channel} {name}" for channel in self.channels for name in STATISTICS]
        return [*names, "ln length"]

    def features(self, x: np.ndarray) -> np.ndarray:
        """Scaled values (T, C) -> (F,) what a linear model reads"""
        return channel_statistics(x)

    def encode(self, raw: Sequence[Any]) -> Series:
        found = [self.recording(each, f"item {i + 1}") for i, each in enumerate(raw)]
        for i, own in enumerate(found):
            self.refuse(own, f"item {i + 1}")
        values = Ragged.of([own.values for own in found])
        times = None
        if self.irregular != "ignore":
            times = Ragged.of([own.times for own in found if own.times is not None])
        return self.series_of(values, times)

    def refuse(self, own: Recording, where: str) -> None:
        """What a fitted field cannot read."""
        if not len(own):
            raise DataError("the series is empty", where=where, remedy="give at least one step")
        self.refuse_channels(own, where)
        if self.irregular != "ignore" and own.times is None:
            raise DataError(
                "the model reads the time of each step, and this series has none",
                where=where,
                remedy="give a file with a column of time",
            )

    def check(self, values: Series, where: Where) -> list[str]:
        self.refuse_width(values.raw.values.shape[1], where(0))
        return []

    def unknown(self, values: Series, where: Where) -> list[str]:
        """Gaps where training had none."""
        found = fit_moments(values.raw).gaps
        new = [i for i in np.flatnonzero(found) if i not in self.gappy]
        names = ", ".join(self.channels[i] for i in new)
        many = f"{int(found[new].sum()):,} gaps in channels that had none in training"
        return [f"{many}, read as their mean: {names}"] if new else []

    def vectors(self, values: Series, row: int) -> np.ndarray:
        """(T, size) what a model reads of a row"""
        times = None if values.times is None else values.times[row]
        return self._vectors(values.scaled(row), times)

    def _vectors(
        self, x: np.ndarray, times: np.ndarray | None, before: float | None = None
    ) -> np.ndarray:
        """Of scaled values (T, C), where a gap is NaN; `before` is the time of the step before."""
        gaps = np.isnan(x)
        parts = [np.where(gaps, np.float32(0), x)]
        if self.gappy:
            parts.append((~gaps[:, self.gappy]).astype(np.float32))
        if self.irregular == "channel":
            assert times is not None
            assert self.steps is not None
            parts.append(self.steps.channel(times, before))
        return np.concatenate(parts, 1) if len(parts) > 1 else parts[0]

    def hide(self, vectors: np.ndarray, step: int, mean: np.ndarray) -> None:
        """Put a mean vector (size,) in the place of one that the network reads, of (T, size)."""
        vectors[step] = mean

    def streaming_unsupported_reason(self) -> str | None:
        if self.scaling in ("series", "window"):
            return (
                f"scaling={self.scaling} takes mean and deviation of a whole series, which has not"
                " ended"
            )
        if self.irregular == "resample":
            return "irregular=resample interpolates between a step and later ones"
        if self.window:
            return "window= merges the answers of windows, the last of which ends with the series"
        return None

    def chunk(self, raw: Any, before: Any, read: int) -> Chunk:
        """`before` is the time of the last step that was read."""
        own = self.as_steps(raw)
        if not len(own):
            return Chunk((), 0, before)
        where = f"step {read + 1}"
        self.refuse(own, where)
        refuse_times(own.times, before, where)
        room = max(0, self.max_length - read) if self.max_length else len(own)
        x = own.values[:room]
        if self.scaling == "channel":
            x = ((x - self.mean) / self.std).astype(np.float32)
        if not len(x):
            return Chunk((), 0, before, cut=True)
        times = None if own.times is None else own.times[:room]
        values = torch.from_numpy(self._vectors(x, times, before)[None])
        inputs = SeriesBatch(values, torch.tensor([len(x)])).inputs
        return Chunk(inputs, len(x), None if times is None else float(times[-1]), len(x) < len(own))

    def collate(self, values: Series, rows: np.ndarray) -> SeriesBatch:
        lengths = values.lengths[rows].astype(np.int64)
        x = np.zeros((len(rows), int(lengths.max()), self.size), dtype=np.float32)
        for i, row in enumerate(rows):
            x[i, : lengths[i]] = self.vectors(values, int(row))
        return SeriesBatch(torch.from_numpy(x), torch.from_numpy(lengths))

    def example(self, steps: int) -> tuple[Tensor, ...]:
        """The inputs of one series, for a summary."""
        return torch.zeros(1, steps, self.size), torch.tensor([steps])

    def advise(self, values: Series, unknown: float) -> Iterator[tuple[str | None, str]]:
        longest, median = int(values.lengths.max()), int(np.median(values.lengths))
        if longest > 2000:
            yield (
                "--set window=128",
                f"series have up to {longest:,} steps (median {median:,}); windows of them are"
                " learnt from sooner, and their answers are merged",
            )

    def examiner(self, values: Series) -> SeriesExaminer | None:
        return SeriesExaminer(self.channels, self.mean, self.std, next(blocks(values.raw)))

    def as_read(self, own: Recording) -> Recording:
        """At equal steps, where it is resampled."""
        values, times = own.values, own.times
        if self.irregular == "resample" and times is not None:
            assert self.steps is not None
            grid = resample(Ragged.of([values]), Ragged.of([times]), self.steps.median)
            values, times = (np.asarray(each[0]) for each in grid)
        cut = slice(self.max_length or None)
        return replace(own, values=values[cut], times=None if times is None else times[cut])

    def labels(self, raw: Any) -> list[str]:
        """What each step is called: its time, or its number."""
        return self.as_read(self.recording(raw, "item")).steps()

    @property
    def files(self) -> tuple[str, ...]:
        return (FILE,)

    def save(self, folder: Path) -> None:
        stored = {
            "channels": self.channels,
            "mean": self.mean.tolist(),
            "std": self.std.tolist(),
            "gappy": self.gappy,
            "steps": None if self.steps is None else self.steps._asdict(),
        }
        write_json(folder / FILE, stored)

    def load(self, folder: Path) -> None:
        stored = read_json(folder / FILE)
        try:
            self.channels = [str(name) for name in stored["channels"]]
            self.mean, self.std = (np.array(stored[key], dtype=float) for key in ("mean", "std"))
            self.gappy = [int(i) for i in stored["gappy"]]
            self.steps = None if stored["steps"] is None else Steps(**stored["steps"])
            size = len(self.channels)
            fine = self.mean.shape == self.std.shape == (size,) and size > 0
            fine &= bool(np.isfinite(self.mean).all() and (self.std > 0).all())
            fine &= all(0 <= i < size for i in self.gappy)
        except (KeyError, TypeError, ValueError, OverflowError):
            fine = False
        if not fine:
            raise RunError(
                "not the channels, means and deviations of series",
                where=folder / FILE,
                remedy=AGAIN,
            )
