"""Recording: one series as a file has it, or as it is in memory; and the numbers and times of
cells.

    as_recording(array)             of what is in memory: an array, or lists of numbers
    Parser(names).values(cells)     of the cells of a row
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from unspool.data.read.zones import zoned_name
from unspool.data.values import (
    FIRST_DAY,
    ISO,
    LAST_DAY,
    form_zone,
    is_date,
    is_missing,
    seconds,
    written,
)
from unspool.errors import DataError, Option, Setting

NUMERIC = "biuf"  # kinds of dtypes
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Recording:
    """Vectors over time.

    values    (T, C) float32; a gap is NaN
    channels  their names; empty where they have none
    times     (T,) float64, ascending; None where a step has no time. Dates are seconds since 1970
    dated     whether the times are dates
    name      what people call it
    static    values that it has as a whole
    zone      of the clock by which dates are read, as in `data/read/zones.py`; empty: none is known
    """

    values: np.ndarray
    channels: tuple[str, ...] = ()
    times: np.ndarray | None = None
    dated: bool = False
    name: str = ""
    static: tuple[Any, ...] = ()
    zone: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, steps: slice) -> Recording:
        times = None if self.times is None else self.times[steps]
        return replace(self, values=self.values[steps], times=times)

    def __str__(self) -> str:
        steps, channels = self.values.shape
        size = f"{steps:,} steps" + (f" of {channels} channels" if channels > 1 else "")
        return f"{self.name}: {size}" if self.name else size

    def steps(self, first: int = 0) -> list[str]:
        """Name each step: its time, or its number from `first` on."""
        if self.times is None:
            return [str(first + step) for step in range(len(self))]
        return self.time_names(self.times)

    def time_names(self, times: np.ndarray) -> list[str]:
        """Format times of this recording, or later ones, for people."""
        return [
            zoned_name(time, self.zone) or time_name(time, dated=self.dated) + self.zone
            for time in times.tolist()
        ]


def time_name(time: float, *, dated: bool) -> str:
    """Format a time for people; a date after the year 9999 stays a number."""
    if not dated or not FIRST_DAY <= time <= LAST_DAY:
        return f"{time:.10g}"
    return datetime.fromtimestamp(time, UTC).isoformat(" ").removesuffix("+00:00")


def is_numeric(value: Any) -> bool:
    """Whether a value is a series: an array or a list of numbers, or of lists of them."""
    if isinstance(value, Recording):
        return True
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return value.ndim in (1, 2) and getattr(value.dtype, "kind", "f") in NUMERIC
    if not isinstance(value, list | tuple):
        return False
    first = next((item for item in value if item is not None), None)
    if isinstance(first, list | tuple):
        return all(item is None or isinstance(item, int | float) for item in first)
    return isinstance(first, int | float) and not isinstance(first, bool)


def as_recording(raw: Any, where: str, channels: Sequence[str] = (), name: str = "") -> Recording:
    """An array (T, C) or (T,), or lists of numbers in which None is a gap."""
    if isinstance(raw, Recording):
        return raw
    try:
        # A tensor gives an array; None becomes NaN.
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # what is too large becomes infinite, and is refused
            values = np.asarray(raw, dtype=np.float32)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise DataError(
            "is not an array of numbers",
            where=where,
            got=raw,
            remedy="give an array (steps, channels)",
        ) from None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise DataError(
            f"a series has steps and channels, and this array has {values.ndim} dimensions",
            where=where,
            got=f"shape {values.shape}",
            remedy="give arrays (steps, channels)",
        )
    refuse_infinite(values, where, channels)
    return Recording(values, tuple(channels), name=name)


def numbers(values: np.ndarray) -> list[float | None]:
    """(T,) for JSON: six figures of each, and None for a gap."""
    return [None if math.isnan(x) else float(f"{x:.6g}") for x in values.tolist()]


def recording_to_json(recording: Recording) -> dict[str, Any]:
    """Serialise for `recording_from_json`; a name, channels and times only where there are some."""
    fields: dict[str, Any] = {"values": [numbers(step) for step in recording.values]}
    if recording.times is not None:
        fields |= {"times": recording.times.tolist(), "dated": recording.dated}
        fields |= {"zone": recording.zone} if recording.zone else {}
    if recording.channels:
        fields["channels"] = list(recording.channels)
    if recording.static:
        fields["static"] = list(recording.static)
    return {"name": recording.name, **fields} if recording.name else fields


STEPS_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 1},
    "minItems": 1,
}
SERIES_SCHEMA: dict[str, Any] = {
    "anyOf": [
        STEPS_SCHEMA,
        {
            "type": "object",
            "properties": {
                "values": STEPS_SCHEMA,
                "times": {"type": "array", "items": {"type": "number"}},
                "channels": {"type": "array", "items": {"type": "string"}},
                "name": {"type": "string"},
            },
            "required": ["values"],
        },
    ]
}


def file_schema(name: str, media: str) -> dict[str, Any]:
    """The schema of a file in JSON, its bytes in base64 under `name`."""
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "contentEncoding": "base64", "contentMediaType": media},
            "name": {"type": "string"},
        },
        "required": [name],
    }


def recording_from_json(value: Any, where: str) -> Recording:
    """{"values": [[1, 2], ...]} with perhaps times, dated, channels, static and name."""
    if not isinstance(value, dict):
        value = {"values": value}
    try:
        values = value["values"]
        channels = tuple(str(name) for name in value.get("channels") or ())
        times = value.get("times")
        name, dated = str(value.get("name") or ""), bool(value.get("dated", False))
        static, zone = tuple(value.get("static") or ()), str(value.get("zone") or "")
        stamps = None if times is None else np.array(times, dtype=np.float64)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise DataError(
            "no series: it has no values, or times that are no numbers",
            where=where,
            remedy='write {"values": [[1, 2], [3, 4]], "times": [0, 1]}, a step a list',
        ) from None
    recording = as_recording(values, where, channels, name)
    if channels and len(channels) != recording.values.shape[1]:
        raise DataError(
            f"has {len(channels)} names of channels, and values of {recording.values.shape[1]}",
            where=where,
            remedy="give each channel a name, or none",
        )
    if stamps is not None:
        if stamps.shape != (len(recording),) or not np.isfinite(stamps).all():
            raise DataError(
                f"has {len(recording):,} steps, and other times than these",
                where=where,
                got=f"{stamps.size:,} times",
                remedy="give a finite time for each step",
            )
        if (np.diff(stamps) <= 0).any():
            step = int(np.argmax(np.diff(stamps) <= 0)) + 2
            raise DataError(
                f"step {step} is not later than the one before",
                where=where,
                remedy="put the steps in the order of time",
            )
    return Recording(
        recording.values, channels, stamps, dated and stamps is not None, name, static, zone
    )


def refuse_infinite(values: np.ndarray, where: str, channels: Sequence[str] = ()) -> None:
    if not np.isinf(values).any():
        return
    step, channel = (int(axis[0]) for axis in np.nonzero(np.isinf(values)))
    named = f"{channels[channel]!r}" if channels else f"{channel + 1}"
    raise DataError(
        f"step {step + 1} of channel {named} is infinite, or too large for 32 bits",
        where=where,
        got=values[step, channel],
        remedy="correct it, or leave it empty as a gap",
    )


class Parser:
    """Cells to numbers.

    names    of their columns, for messages
    option   by which other columns are named
    """

    def __init__(self, names: Sequence[str], option: str = "series") -> None:
        self.names, self.option = names, option

    def values(self, cells: Sequence[Any], where: str) -> list[float]:
        """Parse cells; a missing one is NaN, and a DataError is raised for anything else."""
        try:
            numbers = list(map(float, cells))
            if sum(map(abs, numbers)) < LARGEST:
                return numbers
        except (TypeError, ValueError, OverflowError):
            pass
        return [self._value(cell, i, where) for i, cell in enumerate(cells)]

    def _value(self, cell: Any, column: int, where: str) -> float:
        if is_missing(cell) or cell == "?":
            return math.nan
        try:
            number = float(cell)
        except (TypeError, ValueError, OverflowError):
            number = math.inf
        if isinstance(cell, str) and cell.startswith("["):
            raise DataError(
                f"column {self.names[column]!r} holds lists in cells of text",
                where=where,
                got=cell,
                remedy='write rows as JSON lines, {"series": [[0.5, 1], [2, 3]]}, or a step a row',
            )
        if isinstance(cell, bool) or not abs(number) < LARGEST:
            raise DataError(
                f"column {self.names[column]!r} holds no number",
                where=where,
                got=cell,
                remedy=(
                    "correct it, empty the cell, or name the values with ",
                    Option(self.option),
                ),
            )
        return number


def step_of(
    values: np.ndarray, cells: Sequence[Any], form: str, where: str, **of: str
) -> Recording:
    """Values (T, C) with their times: dates of the format that a run has settled, of ISO's, or
    numbers.

    of   column: of the times, for messages; name: of the recording
    """
    dates = [written(cell) for cell in cells]
    column, name = of.get("column", "time"), of.get("name", "")
    if dates and all(math.isfinite(seconds(date, form)) for date in dates):
        times = np.array([seconds(date, form) for date in dates])
        return Recording(values, times=times, dated=True, name=name, zone=form_zone(form))
    times = np.array([parse_time(cell, column, where) for cell in cells])
    return Recording(values, times=times, dated=all(map(is_date, dates)), name=name)


def parse_time(cell: Any, column: str, where: str, form: str | None = None) -> float:
    """A number, or the seconds of a date, of a format that is known, or else ISO's."""
    try:
        text = cell.strip() if isinstance(cell, str) else written(cell)
        time = seconds(text, form) if form is not None else float(cell)
        if time != time and form is not None:
            time = seconds(written(text), form)
    except OverflowError:
        time = math.inf
    except (TypeError, ValueError):
        time = seconds(str(cell).strip(), ISO)
    if not math.isfinite(time):
        known = "a number, or a date as 2026-05-01 13:45:00" if form in (None, ISO) else form
        raise DataError(
            f"column {column!r} holds no time",
            where=where,
            got=cell if isinstance(cell, str) else written(cell),
            remedy=(
                f"write {known}; ",
                Setting(date_format="%d/%m/%Y"),
                " names another format, ",
                Option(time="none"),
                " does without",
            ),
        )
    return time
