"""VectorSource: raw values of one kind -> vectors over time; how people give and see such values.

raw values -> `recording` -> `Recording` -> writer -> stored column. A `VectorField` scales and
batches the vectors of any source. A new kind derives from `VectorSource` and overrides what
differs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.data.fields.examiner import Examiner
from unspool.data.fields.sentinels import sentinel_notes
from unspool.data.fields.series_examiner import SeriesExaminer
from unspool.data.fields.series_values import (
    STATISTICS,
    FittedChannels,
    Moments,
    Scaler,
    Series,
    blocks,
    channel_statistics,
    fit_moments,
    moments_of_row,
)
from unspool.data.fields.tokens import Display
from unspool.data.read import Column
from unspool.data.read.recording import (
    SERIES_SCHEMA,
    Recording,
    as_recording,
    numbers,
    recording_from_json,
    recording_to_json,
)
from unspool.data.store.vectors import VectorColumn, VectorWriter
from unspool.errors import DataError, Option, Setting

CURVES = 8  # channels that can be told apart as curves
STORED = 12_000  # numbers of an example that a run keeps, at most
LONG = 2000  # steps from which windows are advised


class StoredSize(NamedTuple):
    """Steps of an example, and its size as a share of the largest that a run keeps."""

    steps: int
    share: float


class SeriesWriter:
    """Writes recordings with the same channels to a `VectorColumn`.

    recording   makes one of a raw value and its position in a file
    """

    def __init__(self, folder: Path, name: str, recording: Callable[[Any, str], Recording]) -> None:
        self.writer = VectorWriter(folder, name)
        self.recording = recording
        self.channels: tuple[str, ...] | None = None
        self.first = ""  # where the channels were first seen
        self.timed = self.dated = False

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for i, raw in enumerate(values):
            recording = self.recording(raw, where(i))
            if len(recording):
                self._check_channels(recording, where(i))
            self.writer.add(recording.values, recording.times, recording.static)

    def _check_channels(self, recording: Recording, where: str) -> None:
        names = recording.channels or tuple(str(i + 1) for i in range(recording.values.shape[1]))
        if self.channels is None:
            self.channels, self.first = names, where
            self.timed, self.dated = recording.times is not None, recording.dated
        if len(names) != len(self.channels):
            raise DataError(
                f"has {count(len(names), 'channel')}, and {self.first} has {len(self.channels)}",
                where=where,
                remedy="give every series the same channels",
            )

    def close(self) -> None:
        names = self.channels or ("1",)
        self.writer.close(names, timed=self.timed, dated=self.dated)


class VectorSource(ABC):
    """One kind of vectors over time; the defaults are those of sensor data.

    kind          of input, as `data.input` names it
    noun, unit    names of one value and of its steps
    missing       description of rows without a value
    files         written by `save`
    scaling       of all values, where settings do not matter
    self_scaled   scalings for which each row is scaled by its own moments when it is read
    whole_reason  why a value cannot be read as it arrives; None where it can
    duration      seconds of a step, where all are equally long
    stride        steps that the input layer of a network merges into one
    cost          how many ordinary vectors take as long to compute as one of these
    most_steps    steps of the longest value; 0 where that is not known
    longest       steps of a value that a field keeps; 0: all
    channels      names of the elements of a stored vector
    """

    kind: ClassVar[str]
    noun: ClassVar[str] = "series"
    unit: str = "steps"
    missing: ClassVar[str | None] = None
    files: ClassVar[tuple[str, ...]] = ()
    scaling: ClassVar[str | None] = None
    self_scaled: ClassVar[tuple[str, ...]] = ("window",)
    whole_reason: ClassVar[str | None] = None
    duration: float = 1.0
    stride: int = 1
    cost: int = 1
    most_steps: int = 0
    longest: int = 0
    limited: ClassVar[bool] = True
    sample_text: ClassVar[str] = "some text"
    step_noun: ClassVar[str] = "step"

    def __init__(self) -> None:
        self.channels: list[str] = []

    # From raw values to stored vectors

    @abstractmethod
    def recording(self, raw: Any, where: str) -> Recording:
        """Return a raw value as vectors over time."""

    def look(self, column: Column) -> None:
        """Settle what the settings leave open from the first values."""
        return

    def storage_key(self) -> Any:
        return self.kind

    def writer(self, folder: Path, name: str) -> Any:
        return SeriesWriter(folder, name, self.recording)

    def open(self, folder: Path, name: str) -> Any:
        return VectorColumn.load(folder, name)

    def blank(self, column: Any) -> np.ndarray:
        """(N,) bool: rows without a step, or without a number in any"""
        empty = column.values.lengths == 0
        for row in np.flatnonzero(~empty).tolist():
            x = column.values[row]
            empty[row] = bool(np.isnan(x[0, 0])) and bool(np.isnan(x).all())
        return empty

    # Fitting and scaling

    def fit(self, column: Any, rows: np.ndarray, *, where: str) -> FittedChannels:
        """Learn channels from the training rows; return their moments."""
        self.channels = list(column.channels)
        fitted = fit_moments(column.values.select(rows))
        if fitted.constant.all():
            raise DataError(
                "every channel is constant in the training rows, so there is nothing to learn",
                where=where,
                got=f"{self.channels[0]} = {fitted.mean[0]:g}",
                remedy=("name the columns of the values with ", Option("series")),
            )
        return fitted

    def fit_notes(self, column: Any, rows: np.ndarray, fitted: FittedChannels) -> list[str]:
        notes = [self.summary(column.values.lengths[rows]), *self.flaw_notes(column, rows, fitted)]
        return notes + sentinel_notes(column.values.select(rows), self.channels)

    def summary(self, lengths: np.ndarray) -> str:
        """Describe training rows of such lengths in one line."""
        listed = ", ".join(self.channels[:8]) + (", ..." if len(self.channels) > 8 else "")
        return (
            f"{self.kind}: {count(len(self.channels), 'channel')} ({listed}),"
            f" {int(lengths.sum()):,} steps in train, from {lengths.min():,} to"
            f" {lengths.max():,} a series"
        )

    def flaw_notes(self, column: Any, rows: np.ndarray, fitted: FittedChannels) -> list[str]:
        """Report gaps and constant channels."""
        notes, gaps = [], int(fitted.gaps.sum())
        if gaps:
            total = int(column.values.lengths[rows].sum()) * len(self.channels)
            notes.append(
                f"{gaps:,} gaps in {count(int((fitted.gaps > 0).sum()), 'channel')} of train"
                f" ({100 * gaps / total:.2f} % of the values): they are 0 after scaling, and one"
                " more channel each says where"
            )
        if fitted.constant.any():
            names = [self.channels[i] for i in np.flatnonzero(fitted.constant)]
            notes.append(f"constant in train: {', '.join(names[:8])}")
        return notes

    def invent(self) -> Moments:
        """Settle on invented channels, for a summary without data; return their moments."""
        self.channels = self.channels or ["1"]
        return Moments(np.zeros(len(self.channels)), np.ones(len(self.channels)))

    def scale(self, x: np.ndarray, moments: Moments | None) -> np.ndarray:
        """(T, C) stored vectors -> float32, standardised; None: by their own moments"""
        mean, std = moments_of_row(x) if moments is None else moments
        return ((x - mean) / std).astype(np.float32)

    # Reading by a model

    @property
    def stored_width(self) -> int:
        """Numbers of a stored vector."""
        return len(self.channels)

    @property
    def size(self) -> int:
        """Numbers of a vector that a model reads."""
        return len(self.channels)

    @property
    def elements(self) -> list[str]:
        return self.channels

    def step_counts(self, lengths: np.ndarray) -> np.ndarray:
        """(N,) stored vectors of rows -> steps that a model reads"""
        return lengths

    def vectors(self, x: np.ndarray) -> np.ndarray:
        """Scaled (T, C), NaN in gaps -> (T', size) that a model reads"""
        return np.where(np.isnan(x), np.float32(0), x)

    def hide(self, vectors: np.ndarray, step: int, mean: np.ndarray) -> None:
        """Replace one of the steps (T, size) that a network reads by a mean vector (size,)."""
        vectors[step] = mean

    def example_steps(self, steps: int) -> int:
        """Steps of an example input, where a summary wants so many."""
        return steps

    def fixed_settings(self) -> dict[str, Any]:
        """Settings that a fine-tuned model takes over from this one."""
        return {}

    def refuse(self, recording: Recording, where: str) -> None:
        """Raise an error about a value that a fitted source cannot read."""
        if not len(recording):
            raise DataError("the series is empty", where=where, remedy="give at least one step")
        self.refuse_channels(recording, where)

    def refuse_channels(self, recording: Recording, where: str) -> None:
        width = recording.values.shape[1]
        if width != len(self.channels):
            raise DataError(
                f"the model was trained on {count(len(self.channels), 'channel')}"
                f" ({', '.join(self.channels[:8])}), and this series has {width}",
                where=where,
                remedy=("give arrays (steps, channels), or name columns with ", Option("series")),
            )

    def refuse_width(self, width: int, where: str) -> None:
        """Raise an error about a file with other channels than those of training."""
        if width != self.stored_width:
            raise DataError(
                f"the model was trained on {count(len(self.channels), 'channel')}, and the file has"
                f" {width}",
                where=where,
                remedy=(f"name those of {', '.join(self.channels[:8])} with ", Option("series")),
            )

    def unknown(self, values: Series, gappy: list[int]) -> list[str]:
        """Report gaps where training had none."""
        gaps = fit_moments(values.raw).gaps
        new = [i for i in np.flatnonzero(gaps) if i not in gappy]
        names = ", ".join(self.channels[i] for i in new)
        note = f"{int(gaps[new].sum()):,} gaps in channels that had none in training"
        return [f"{note}, read as their mean: {names}"] if new else []

    def next_steps(self, raw: Any, state: Any, read: int) -> tuple[Recording, Any]:
        """Return the next steps of a stream of which `read` steps were read, and its new state."""
        return as_steps(raw, len(self.channels)), None

    def last_steps(self, state: Any) -> Recording | None:
        """Return the steps that were waiting for more of a stream, which has ended."""
        return None

    @property
    def feature_names(self) -> list[str]:
        names = [f"{channel} {name}" for channel in self.channels for name in STATISTICS]
        return [*names, "ln length"]

    def features(self, x: np.ndarray) -> np.ndarray:
        """Scaled values (T, C) -> (F,) input of a linear model"""
        return channel_statistics(x)

    # Values as people give them

    json_schema: ClassVar[dict[str, Any]] = SERIES_SCHEMA  # of what `from_json` takes

    def option(self, name: str) -> Option:
        return Option(name)

    def items(self, values: Any) -> Iterable[Any]:
        """Return the raw values of what a user passes to `predict`: one of them, or several."""
        return series_items(values, len(self.channels))

    def named(self, name: str) -> Any:
        """Return the raw value that a file name stands for on the command line, or None."""
        return None

    def shown(self, raw: Any) -> str:
        """Name a raw value, as an answer repeats it."""
        return str(self.recording(raw, "item"))

    def to_json(self, raw: Any) -> dict[str, Any]:
        return recording_to_json(self.recording(raw, "the series"))

    def from_json(self, value: Any, where: str) -> Any:
        return recording_from_json(value, where)

    def may_be_stored(self, raw: Any) -> bool:
        """Whether an example may fit in a run folder, as far as is known without reading it."""
        return True

    def stored_size(self, value: Any) -> StoredSize:
        """Measure what `to_json` returns."""
        values = value["values"]
        return StoredSize(len(values), sum(map(len, values)) / STORED)

    # Values as people see them

    @property
    def display(self) -> Display:
        return Display("curves" if len(self.channels) <= CURVES else "heat map")

    def picture(self, recording: Recording) -> dict[str, Any]:
        """Return what a page draws of a value, for JSON: names of `channels`, `values` (C, T) with
        None in gaps, and names of `steps`."""
        return {
            "channels": self.channels,
            "values": [numbers(channel) for channel in recording.values.T],
            "steps": recording.steps(),
        }

    def extent(self, raw: Any) -> str:
        recording = self.recording(raw, f"the {self.noun}")
        end = f" to {recording.steps()[-1]}" if recording.dated else ""
        return f"{len(recording):,} steps{end}"

    def step_names(self, recording: Recording) -> list[str]:
        return recording.steps()

    def curves(self, recording: Recording) -> Recording:
        """Return the channels that are drawn over time."""
        return recording

    def curve_values(self, parts: np.ndarray) -> np.ndarray:
        """Sum numbers of the elements of steps, (T, size), by curve."""
        return parts

    def curve_names(self, elements: tuple[str, ...]) -> tuple[str, ...]:
        return elements

    # Data checks and files

    def advise(self, lengths: np.ndarray) -> Iterator[tuple[Setting | None, str]]:
        longest, median = int(lengths.max()), int(np.median(lengths))
        if longest > LONG:
            yield (
                Setting(window=128),
                f"series have up to {longest:,} steps (median {median:,}); windows of them are"
                " learnt from sooner, and their answers are merged",
            )

    def examiner(self, values: Series, scaler: Scaler) -> Examiner | None:
        steps = next(blocks(values.raw))
        return SeriesExaminer(self.channels, scaler.mean, scaler.std, steps, self.recording)

    def save(self, folder: Path) -> None:
        return

    def load(self, folder: Path) -> None:
        """Load what `save` has written, once `channels` are known."""
        return


class SeriesSource(VectorSource):
    """Numbers over time as a table or an array has them."""

    kind = "series"
    missing = "no number in the series"

    def recording(self, raw: Any, where: str) -> Recording:
        return as_recording(raw, where)


def as_steps(raw: Any, channels: int) -> Recording:
    """A `Recording`, an array (T, C), or one step: a vector (C,), or a number of one channel."""
    if isinstance(raw, Recording):
        return raw
    if np.ndim(raw) == 0:
        return as_recording([raw], "step")
    if np.ndim(raw) == 1 and channels > 1 and len(raw):
        return as_recording([raw], "step")
    if np.size(raw) == 0:
        return Recording(np.empty((0, channels), np.float32))
    return as_recording(raw, "step")


def refuse_times(times: np.ndarray | None, before: float | None, where: str) -> None:
    """Raise an error unless times ascend, also from one chunk to the next."""
    if times is None:
        return
    all_times = times if before is None else np.concatenate([[before], times])
    falls = np.flatnonzero(np.diff(all_times) <= 0)
    if len(falls):
        at = int(falls[0])
        raise DataError(
            f"time {all_times[at + 1]:.10g} is not after the one of the step before,"
            f" {all_times[at]:.10g}",
            where=where,
            remedy="give steps in the order of time",
        )


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def series_items(values: Any, channels: int) -> Iterable[Any]:
    """Arrays (N, T, C) are N series, and (N, T) with one channel; (T, C) and (T,) are one."""
    dimensions = getattr(values, "ndim", 0)
    if isinstance(values, Recording) or dimensions == 1:
        return [values]
    if dimensions == 2 and (channels > 1 or values.shape[1] == 1 < len(values)):
        return [values]
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(
            f"a {type(values).__name__} is not a series",
            got=values,
            remedy=("give arrays (steps, channels); of a file: predict ", Option(file="FILE")),
        )
    return values
