"""VectorField: vectors over time of any source, ragged and with gaps; scaled, cut and batched.

raw: as of its source. values: `Series`. tensors: `SeriesBatch`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.examiner import Examiner
from unspool.data.fields.field import Chunk, Field, Measure, Where
from unspool.data.fields.series_values import (
    Moments,
    Scaler,
    Series,
    StepTimes,
    find_steps,
    moments_of_row,
    resample,
)
from unspool.data.fields.source import SeriesSource, VectorSource, refuse_times
from unspool.data.read import Column
from unspool.data.read.recording import Recording
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged
from unspool.errors import ConfigError, DataError, Option, Setting
from unspool.io.files import stored_state, write_json

FILE = "series.json"


class SeriesBatch(NamedTuple):
    """B series padded to the longest, T steps."""

    values: Tensor  # (B, T, C) float32, padded with 0
    lengths: Tensor  # (B,) int64

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.values, self.lengths


class StreamedSteps(NamedTuple):
    """State between two chunks of a stream: the time of its last step, and that of the source."""

    time: float | None
    state: Any


class RecordingField(Field):
    """Stores, takes and shows values as a `VectorSource` does."""

    sized = True

    def __init__(self, name: str, source: Any) -> None:
        super().__init__(name)
        self.form = self.source = source

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.source.kind

    @property
    def unit(self) -> str:
        return self.source.unit

    @property
    def channels(self) -> list[str]:
        return self.source.channels

    def recording(self, raw: Any, where: str) -> Any:
        return self.source.recording(raw, where)

    def look(self, column: Column) -> None:
        self.source.look(column)

    def storage_key(self) -> Any:
        return self.source.storage_key()

    def writer(self, folder: Path) -> Any:
        return self.source.writer(folder, self.name)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Any:
        return self.source.open(folder, self.name)

    def blank(self, column: Any) -> np.ndarray:
        return self.source.blank(column)

    def without_steps(self, column: Any) -> bool:
        return bool((column.values.lengths == 0).any())

    def what_is_missing(self, column: Any, rows: np.ndarray) -> str:
        return self.source.missing or super().what_is_missing(column, rows)

    def measure(self, values: Any) -> Measure:
        return Measure(int(values.lengths.sum()), values.lengths, np.empty(0), 0.0)

    def advise(self, values: Any, unknown: float) -> Iterator[tuple[Setting | None, str]]:
        return iter(())

    def as_read(self, recording: Recording) -> Recording:
        return recording

    def labels(self, raw: Any) -> list[str]:
        return self.source.step_names(self.as_read(self.recording(raw, "item")))

    def curves(self, recording: Recording) -> Recording:
        return self.source.curves(self.as_read(recording))

    def picture(self, raw: Any) -> dict[str, Any]:
        recording = self.recording(raw, f"the {self.source.noun}")
        return self.source.picture(self.as_read(recording))


class VectorField(RecordingField):
    """Models see (x - mean) / std, 0 in gaps, and for each channel with gaps in training one more
    that is 1 where it was observed.

    source     makes vectors of raw values
    scaling    what values are scaled by: moments of the training rows ("channel"), of the "series"
               or the "window" itself, or "none"
    irregular  "channel": ln(Δt / step) is one more channel; "resample": values are interpolated at
               equal steps
    gappy      numbers of the channels that have gaps in training
    steps      the time from one step to the next in training; None where there are no times
    """

    def __init__(
        self,
        name: str,
        source: VectorSource,
        *,
        scaling: str = "channel",
        irregular: str = "ignore",
        max_length: int = 0,
        window: int = 0,
        missing: str = "drop",
    ) -> None:
        super().__init__(name, source)
        source.longest, self.files = max_length, (FILE, *source.files)
        self.scaler = Scaler(source.scaling or scaling)
        self.irregular, self.max_length, self.window = irregular, max_length, window
        self.missing = "error" if missing == "error" else "drop"
        self.gappy: list[int] = []
        self.steps: StepTimes | None = None

    @property
    def size(self) -> int:
        return self.source.size + len(self.gappy) + (self.irregular == "channel")

    @property
    def inputs(self) -> list[str]:
        names = [*self.source.elements, *(f"{self.channels[i]} observed" for i in self.gappy)]
        return [*names, *(["time between steps"] if self.irregular == "channel" else [])]

    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        longest = int(column.values.lengths[rows].max())
        if self.window and longest < self.window:
            raise DataError(
                f"the window is longer than every {self.source.noun}: {self.window:,}"
                f" {self.unit}, and the longest has {longest:,}",
                where=where,
                remedy="set a smaller window, or none",
            )
        fitted = self.source.fit(column, rows, where=where)
        self.scaler.mean, self.scaler.std = fitted.mean, fitted.std
        self.gappy = np.flatnonzero(fitted.gaps).tolist()
        notes = self.source.fit_notes(column, rows, fitted)
        if self.irregular != "ignore" and column.times is None:
            raise DataError(
                f"irregular={self.irregular} needs the time of each step, and there is none",
                where=where,
                remedy=("name its column with ", Option("time"), ", or leave the setting out"),
            )
        if column.times is not None:
            self.steps = find_steps(column.times.select(rows))
            notes += [] if self.steps is None else self.steps.notes(column.dated, self.irregular)
        return notes

    def invent(self, *, vocab: int, classes: int) -> None:
        self.scaler.mean, self.scaler.std = self.source.invent()

    def values(self, column: Any, progress: Progress = None) -> Series:
        series = self.series_of(column.values, column.times)
        series.seen = getattr(column, "seen", None)
        return series

    def series_of(self, raw: Ragged, times: Ragged | None) -> Series:
        if self.irregular == "resample" and times is not None:
            assert self.steps is not None
            raw, times = resample(raw, times, self.steps.median)
        if self.max_length:
            raw = raw.cut(self.max_length)
            times = None if times is None else times.cut(self.max_length)
        return Series(raw, times, self._moments(raw), self.source)

    def _moments(self, raw: Ragged) -> Moments | None:
        """Return the moments of each row; None: each is scaled by its own when it is read."""
        if self.scaler.mode in self.source.self_scaled:
            return None
        if self.scaler.mode != "series":
            return self.scaler.moments
        moments = [moments_of_row(raw[row]) for row in range(len(raw))]
        empty = np.empty((0, len(self.channels)))
        both = zip(*moments) if moments else (empty, empty)
        return Moments(*(np.asarray(part).reshape(-1, len(self.channels)) for part in both))

    def encode(self, raw: Sequence[Any]) -> Series:
        recordings = [self.recording(value, f"item {i + 1}") for i, value in enumerate(raw)]
        for i, recording in enumerate(recordings):
            self.refuse(recording, f"item {i + 1}")
        values = Ragged.of([recording.values for recording in recordings])
        times = None
        if self.irregular != "ignore":
            times = Ragged.of(
                [recording.times for recording in recordings if recording.times is not None]
            )
        return self.series_of(values, times)

    def refuse(self, recording: Recording, where: str) -> None:
        """Raise an error about a value that a fitted field cannot read."""
        self.source.refuse(recording, where)
        if self.irregular != "ignore" and recording.times is None:
            raise DataError(
                "the model reads the time of each step, and this series has none",
                where=where,
                remedy="give a file with a column of time",
            )

    def check(self, values: Series, where: Where) -> list[str]:
        self.source.refuse_width(values.raw.values.shape[1], where(0))
        return []

    def unknown(self, values: Series, where: Where) -> list[str]:
        return self.source.unknown(values, self.gappy)

    def vectors(self, values: Series, row: int) -> np.ndarray:
        """(T, size) that a model reads of a row"""
        times = None if values.times is None else values.times[row]
        return self._vectors(values.scaled(row), times)

    def _vectors(
        self, x: np.ndarray, times: np.ndarray | None, before: float | None = None
    ) -> np.ndarray:
        """Scaled (T, C), NaN in gaps -> (T, size); `before` is the time of the step before"""
        parts = [self.source.vectors(x)]
        if self.gappy:
            parts.append((~np.isnan(x[:, self.gappy])).astype(np.float32))
        if self.irregular == "channel":
            assert times is not None
            assert self.steps is not None
            parts.append(self.steps.channel(times, before))
        return np.concatenate(parts, 1) if len(parts) > 1 else parts[0]

    def streaming_unsupported_reason(self) -> str | None:
        if self.source.whole_reason is not None:
            return self.source.whole_reason
        if self.scaler.mode in ("series", "window"):
            return (
                f"scaling={self.scaler.mode} takes mean and deviation of a whole series, which has"
                " not ended"
            )
        if self.irregular == "resample":
            return "irregular=resample interpolates between a step and later ones"
        if self.window:
            return "window= merges the answers of windows, the last of which ends with the series"
        return None

    def chunk(self, raw: Any, before: StreamedSteps | None, read: int) -> Chunk:
        time, state = before or StreamedSteps(None, None)
        recording, state = self.source.next_steps(raw, state, read)
        return self._chunk(recording, StreamedSteps(time, state), read)

    def last_chunk(self, before: StreamedSteps | None, read: int) -> Chunk:
        recording = None if before is None else self.source.last_steps(before.state)
        if before is None or recording is None:
            return Chunk((), 0, before)
        return self._chunk(recording, before, read)

    def _chunk(self, recording: Recording, before: StreamedSteps, read: int) -> Chunk:
        if not len(recording):
            return Chunk((), 0, before)
        where = f"step {read + 1}"
        self.refuse(recording, where)
        refuse_times(recording.times, before.time, where)
        room = max(0, self.max_length - read) if self.max_length else len(recording)
        x = self.source.scale(recording.values[:room], self.scaler.moments)
        if not len(x):
            return Chunk((), 0, before, cut=True)
        times = None if recording.times is None else recording.times[:room]
        values = torch.from_numpy(self._vectors(x, times, before.time)[None])
        inputs = SeriesBatch(values, torch.tensor([len(x)])).inputs
        after = before._replace(time=None if times is None else float(times[-1]))
        return Chunk(inputs, len(x), after, len(x) < len(recording))

    def collate(self, values: Series, rows: np.ndarray) -> SeriesBatch:
        lengths = values.lengths[rows].astype(np.int64)
        x = np.zeros((len(rows), int(lengths.max()), self.size), dtype=np.float32)
        for i, row in enumerate(rows):
            x[i, : lengths[i]] = self.vectors(values, int(row))
        return SeriesBatch(torch.from_numpy(x), torch.from_numpy(lengths))

    def portable(self) -> dict[str, Any]:
        """Numbers are scaled outside of a graph; of sound, pixels and the like it reads vectors as
        `vectors` gives them."""
        if not isinstance(self.source, SeriesSource):
            return {"kind": "vectors", "unit": self.unit, "size": self.size}
        if self.scaler.mode == "window" or self.irregular == "resample":
            raise ConfigError(
                "windows that are scaled by themselves, and resampled series, cannot be exported",
                got=f"scaling={self.scaler.mode}, irregular={self.irregular}",
                remedy="train with scaling=channel and irregular=ignore",
            )
        alone = self.scaler.mode == "series"  # each series has its own moments
        mean, std = (None if alone else moment.tolist() for moment in self.scaler.moments)
        timed = self.irregular == "channel" and self.steps is not None
        return {
            "kind": "series",
            "channels": list(self.channels),
            "mean": mean,
            "std": std,
            "step": self.steps.median if timed and self.steps is not None else None,
            "gappy": self.gappy,
            "room": self.max_length or None,
        }

    def portable_item(self, steps: int, rng: np.random.Generator) -> np.ndarray | Recording:
        if not isinstance(self.source, SeriesSource):
            steps = self.source.example_steps(steps)
            return rng.normal(size=(steps, self.size)).astype(np.float32)
        values = rng.normal(size=(steps, len(self.channels))).astype(np.float32)
        if self.irregular == "ignore":
            return values
        return Recording(values, times=rng.integers(1, 9, steps).cumsum().astype(np.float64))

    def portable_batch(self, items: Sequence[Any]) -> SeriesBatch:
        if isinstance(self.source, SeriesSource):
            return self.collate(self.encode(items), np.arange(len(items)))
        x = np.zeros((len(items), max(map(len, items)), self.size), dtype=np.float32)
        for row, item in zip(x, items):
            row[: len(item)] = item
        return SeriesBatch(torch.from_numpy(x), torch.tensor([len(item) for item in items]))

    def example(self, steps: int) -> tuple[Tensor, ...]:
        steps = self.source.example_steps(steps)
        return torch.zeros(1, steps, self.size), torch.tensor([steps])

    def advise(self, values: Series, unknown: float) -> Iterator[tuple[Setting | None, str]]:
        return self.source.advise(values.lengths)

    def examiner(self, values: Series) -> Examiner | None:
        return self.source.examiner(values, self.scaler)

    def as_read(self, recording: Recording) -> Recording:
        if self.irregular == "resample" and recording.times is not None:
            assert self.steps is not None
            raw, times = Ragged.of([recording.values]), Ragged.of([recording.times])
            grid = resample(raw, times, self.steps.median)
            values, at = (np.asarray(part[0]) for part in grid)
            recording = replace(recording, values=values, times=at)
        return recording[: self.max_length or None]

    def save(self, folder: Path) -> None:
        stored = {
            "channels": self.channels,
            "mean": self.scaler.mean.tolist(),
            "std": self.scaler.std.tolist(),
            "gappy": self.gappy,
            "steps": None if self.steps is None else self.steps._asdict(),
        }
        write_json(folder / FILE, stored)
        self.source.save(folder)

    def load(self, folder: Path) -> None:
        with stored_state(folder / FILE, "invalid channels, means or deviations") as stored:
            self.source.channels = [str(name) for name in stored["channels"]]
            mean, std = (np.array(stored[key], dtype=float) for key in ("mean", "std"))
            self.gappy = [int(i) for i in stored["gappy"]]
            self.steps = None if stored["steps"] is None else StepTimes(**stored["steps"])
            size = len(self.channels)
            valid = mean.shape == std.shape == (size,) and size > 0
            valid &= bool(np.isfinite(mean).all() and (std > 0).all())
            valid &= all(0 <= i < size for i in self.gappy)
            if not valid:
                raise ValueError
        self.scaler.mean, self.scaler.std = mean, std
        self.source.load(folder)
