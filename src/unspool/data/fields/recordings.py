"""What all fields of recordings share: how vectors over time are given, stored, shown and measured.

raw: a `Recording`, an array (T, C) or (T,), or lists of numbers. Stored: a `VectorColumn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.data.fields.field import Field, Measure
from unspool.data.read.recording import (
    Recording,
    as_recording,
    numbers,
    recording_from_json,
    recording_to_json,
)
from unspool.data.store.columns import WhereStep
from unspool.data.store.vectors import VectorColumn, VectorWriter
from unspool.errors import DataError

CURVES = 8  # channels that can be told apart as curves
STORED = 12_000  # numbers of an example that a run keeps, at most


class StoredSize(NamedTuple):
    """Of an example: its steps, and what it takes as a share of what one may."""

    steps: int
    share: float


class SeriesWriter:
    """Recordings, or what they can be made of, to a `VectorColumn`; all have the same channels.

    recording   makes one of a raw value and where it stands
    """

    def __init__(
        self, folder: Path, name: str, recording: Callable[[Any, str], Recording] = as_recording
    ) -> None:
        self.writer = VectorWriter(folder, name)
        self.recording = recording
        self.channels: tuple[str, ...] | None = None
        self.first = ""  # where the channels were first seen
        self.timed = self.dated = False

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for i, raw in enumerate(values):
            own = self.recording(raw, where(i))
            if len(own):
                self._same(own, where(i))
            self.writer.add(own.values, own.times, own.static)

    def _same(self, own: Recording, where: str) -> None:
        names = own.channels or tuple(str(i + 1) for i in range(own.values.shape[1]))
        if self.channels is None:
            self.channels, self.first = names, where
            self.timed, self.dated = own.times is not None, own.dated
        if len(names) != len(self.channels):
            raise DataError(
                f"has {count(len(names), 'channel')}, and {self.first} has {len(self.channels)}",
                where=where,
                remedy="give every series the same channels",
            )

    def close(self) -> None:
        names = self.channels or ("1",)
        self.writer.close(names, timed=self.timed, dated=self.dated)


class RecordingsField(Field):
    """What fields of recordings have in common: how they are stored, given and measured."""

    unit = "steps"
    sized = True
    channels: list[str]
    spectral: ClassVar[bool] = False  # whether its channels are bands of frequencies
    pictured: ClassVar[bool] = False  # whether its steps are parts of an image, or
    filmed: ClassVar[bool] = False  # frames of a video
    cost: int = 1  # steps of usual vectors that take as long as one

    @property
    def duration(self) -> float:
        """Of a step, in seconds where all are equally long."""
        return 1.0

    @property
    def stride(self) -> int:
        """Steps that the input layer of a network makes one of."""
        return 1

    def recording(self, raw: Any, where: str) -> Recording:
        """A raw value as vectors over time."""
        return as_recording(raw, where)

    def as_steps(self, raw: Any) -> Recording:
        """The next steps of a recording that comes as a stream."""
        return as_steps(raw, len(self.channels))

    def storage_key(self) -> Any:
        return self.kind

    def writer(self, folder: Path) -> SeriesWriter:
        return SeriesWriter(folder, self.name, self.recording)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> VectorColumn:
        return VectorColumn.load(folder, self.name)

    def blank(self, column: VectorColumn) -> np.ndarray:
        """Rows without a step, or without a number in any."""
        found = column.values.lengths == 0
        for row in np.flatnonzero(~found).tolist():
            own = column.values[row]
            found[row] = bool(np.isnan(own[0, 0])) and bool(np.isnan(own).all())
        return found

    def refuse_channels(self, own: Recording, where: str) -> None:
        """A series of other channels than a fitted field has learnt."""
        if own.values.shape[1] != len(self.channels):
            raise DataError(
                f"the model has learnt {count(len(self.channels), 'channel')}"
                f" ({', '.join(self.channels[:8])}), and this series has {own.values.shape[1]}",
                where=where,
                remedy="give arrays (steps, channels), or name the columns with --series",
            )

    def refuse_width(self, width: int, where: str) -> None:
        """A file of other channels than a fitted field has learnt."""
        if width != len(self.channels):
            raise DataError(
                f"the model has learnt {count(len(self.channels), 'channel')}, and the file has"
                f" {width}",
                where=where,
                remedy=f"name those of {', '.join(self.channels[:8])} with --series",
            )

    def items(self, given: Any) -> Iterable[Any]:
        return series_items(given, len(self.channels))

    def shown(self, raw: Any) -> str:
        return str(self.recording(raw, "item"))

    @property
    def shown_as(self) -> str:
        return "curves" if len(self.channels) <= CURVES else "heat map"

    def picture(self, raw: Any) -> dict[str, Any]:
        own = self.as_read(self.recording(raw, "the series"))
        return {
            "channels": self.channels,
            "values": [numbers(channel) for channel in own.values.T],
            "steps": own.steps(),
        }

    def extent(self, raw: Any) -> str:
        """How long a recording is, in words."""
        own = self.recording(raw, "the series")
        return f"{len(own):,} steps" + (f" to {own.steps()[-1]}" if own.dated else "")

    def may_be_stored(self, raw: Any) -> bool:
        """Whether `to_json` is worth its time, as far as that is known without reading it."""
        return True

    def stored_size(self, value: Any) -> StoredSize:
        """Of what `to_json` gives."""
        values = value["values"]
        return StoredSize(len(values), sum(map(len, values)) / STORED)

    def as_read(self, own: Recording) -> Recording:
        """With the steps that a model reads."""
        return own

    def curves(self, own: Recording) -> Recording:
        """What is drawn over time: its channels."""
        return self.as_read(own)

    def to_json(self, raw: Any) -> dict[str, Any]:
        return recording_to_json(self.recording(raw, "the series"))

    def from_json(self, value: Any, where: str) -> Recording:
        return recording_from_json(value, where)

    def measure(self, values: Any) -> Measure:
        return Measure(int(values.lengths.sum()), values.lengths, np.empty(0), 0.0)


def as_steps(raw: Any, channels: int) -> Recording:
    """The next steps of a series: a `Recording`; an array (T, C); or one step, a vector (C,). With
    one channel (T,) are T steps, and a number is one."""
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
    """Times go forwards, also from one chunk to the next."""
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


def series_items(given: Any, channels: int) -> Iterable[Any]:
    """An array (N, T, C) is N series, one (T, C) or (T,) is one; with one channel (N, T) is N.
    Anything else is a sequence of series."""
    dimensions = getattr(given, "ndim", 0)
    if isinstance(given, Recording) or dimensions == 1:
        return [given]
    if dimensions == 2 and (channels > 1 or given.shape[1] == 1 < len(given)):
        return [given]
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise DataError(
            f"a {type(given).__name__} is no series",
            got=given,
            remedy="give arrays (steps, channels); of a file: predict --file FILE",
        )
    return given
