"""Rows of a table as the steps of recordings: a row of another reader is a step, and rows with one
id, or of one file, are a recording."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from unspool.data.read.files import Report, path_columns
from unspool.data.read.layout import DEEP_SAMPLE, Long
from unspool.data.read.reader import SAMPLE, Column, Reader, Row
from unspool.data.read.recording import Parser, Recording, parse_time
from unspool.data.read.table import Table
from unspool.data.read.zones import clock_of
from unspool.data.values import ISO, form_zone, written, zone_of, zone_seconds
from unspool.errors import DataError, Option

SERIES = "series"


@dataclass
class Growing:
    """A recording while its rows are read."""

    key: Any
    line: int
    file: int
    values: array[float] = field(default_factory=lambda: array("f"))
    times: array[float] = field(default_factory=lambda: array("d"))
    others: list[list[Any]] = field(default_factory=list)  # of each step, what else was asked for
    lines: array[int] = field(default_factory=lambda: array("q"))
    offsets: array[int] = field(default_factory=lambda: array("i"))  # of times with a zone
    ending: str = ""  # that gives the last offset


class StepRows(Reader):
    """Columns: the series; every other column, with the one value that it has in a recording; what
    the names of files and folders say.

    of_steps   every other column again, with the values of all steps
    """

    title = "steps"

    def __init__(self, inner: Table, layout: Long) -> None:
        self.files, self.inner, self.layout = inner.files, inner.reader, layout
        self.table, self.header = inner, True
        self.zone = form_zone(layout.dates)
        for name in ("name", "shape", "binary", "first_line", "bad_files"):
            setattr(self, name, getattr(inner.reader, name))
        self.by_file = layout.id is None
        steps = {*layout.times, *layout.channels}
        self.others = [column for column in inner.columns if column not in steps]
        self.paths = path_columns(inner.files) if self.by_file and inner.by_file else []
        self.parser = Parser([column.name for column in layout.channels])
        self.keys = [] if layout.id is None else list(layout.id.members)
        names = [SERIES, *(c.name for c in self.others), *(name for name, _ in self.paths)]
        every = range(len(names) + len(self.others))
        first = list(islice(self._recordings(every, None, sampled=True), SAMPLE))
        columns = [
            Column(name, i, [row.values[i] for row in first])
            for i, name in enumerate([*names, *(c.name for c in self.others)])
        ]
        self.columns, self.of_steps = columns[: len(names)], columns[len(names) :]

    @property
    def series(self) -> Column:
        return self.columns[0]

    def has_steps(self, column: Column) -> bool:
        """Whether a column has a value a step: not the series, nor what the name of a file says."""
        return 1 <= column.number <= len(self.others)

    def steps_of(self, column: Column) -> Column:
        """The column with the values of all steps, of one with that of a recording."""
        return self.of_steps[column.number - 1]

    def varies(self, column: Column) -> bool:
        """Whether a column has several values within a recording."""
        if not self.has_steps(column):
            return False
        source = self.others[column.number - 1]
        seen: dict[Any, Any] = {}
        numbers = [source.number, *(key.number for key in self.keys)]
        for row in islice(self.inner.rows(numbers), DEEP_SAMPLE):
            recording = tuple(map(str, row.values[1:])) if self.keys else row.file
            if seen.setdefault(recording, row.values[0]) != row.values[0]:
                return True
        return False

    def sources(self, column: Column) -> tuple[str, ...]:
        if column == self.series:
            return tuple(channel.name for channel in self.layout.channels)
        return super().sources(column)

    @property
    def options(self) -> dict[str, Any]:
        layout = self.layout
        return {
            **self.inner.options,
            "id": [key.number for key in self.keys],
            "time": [column.number for column in layout.times],
            "dates": layout.dates,
            "channels": [column.number for column in layout.channels],
            **({"sort": True} if self.table.data.sort else {}),
        }

    def rows(self, numbers: Sequence[int], report: Report = None) -> Iterator[Row]:
        return self._recordings(numbers, report)

    def _recordings(
        self, numbers: Sequence[int], report: Report, *, sampled: bool = False
    ) -> Iterator[Row]:
        """Recordings of one file each come as they are read; others when all is."""
        others = sorted({self._other(i) for i in numbers} - {-1})
        growing: dict[Any, Growing] = {}
        rows = self._steps(others, report)
        for recording in self._grown(
            islice(rows, SAMPLE) if sampled else rows, growing, len(others)
        ):
            yield self._row(recording, numbers, others, sampled)
        first = 1 + max((recording.file for recording in growing.values()), default=-1)
        for recording in growing.values():
            yield self._row(recording, numbers, others, sampled)
        if self.by_file and not sampled:  # the last files may have no rows
            for empty in range(first, len(self.files)):
                yield self._row(Growing(empty, 1, empty), numbers, others, sampled)

    def _other(self, number: int) -> int:
        """Index of the other column that a column is made of; -1: none."""
        if 1 <= number <= len(self.others):
            return number - 1
        again = number - 1 - len(self.others) - len(self.paths)
        return again if again >= 0 else -1

    def _steps(self, others: Sequence[int], report: Report) -> Iterator[Row]:
        layout = self.layout
        numbers = [c.number for c in (*self.keys, *layout.times, *layout.channels)]
        numbers += [self.others[i].number for i in others]
        return self.inner.rows(numbers, report)

    def _grown(
        self, rows: Iterator[Row], growing: dict[Any, Growing], others: int
    ) -> Iterator[Growing]:
        layout = self.layout
        timed, width = len(layout.times), len(layout.channels)
        keys = len(self.keys)
        at = keys + timed
        last = -1
        for row in rows:
            if self.by_file and row.file != last:
                yield from growing.values()
                growing.clear()
                for empty in range(last + 1, row.file):
                    yield Growing(empty, 1, empty)
                last = row.file
            key = row.file if self.by_file else " ".join(map(str, row.values[:keys]))
            recording = growing.get(key)
            if recording is None:
                recording = growing[key] = Growing(key, row.line, row.file)
            cells = row.values[at : at + width]
            try:
                recording.values.extend(map(float, cells))
            except (TypeError, ValueError, OverflowError):
                del recording.values[len(recording.lines) * width :]
                recording.values.extend(self.parser.values(cells, self._where(row)))
            if timed:
                cell = row.values[keys] if timed == 1 else row.values[keys:at]
                self._add_time(recording, row, cell)
            recording.lines.append(row.line)
            if others:
                recording.others.append(list(row.values[at + width :]))

    def _where(self, row: Row) -> str:
        return self.table.where(row.line, file=row.file)

    def _add_time(self, recording: Growing, row: Row, cell: Any) -> None:
        assert self.layout.time is not None
        name = self.layout.time.name
        time = parse_time(cell, name, self._where(row), self.layout.dates)
        if recording.times and time <= recording.times[-1] and not self.table.data.sort:
            how = "is that of the row before" if time == recording.times[-1] else "goes backwards"
            raise DataError(
                f"the time in column {name!r} {how}",
                where=self._where(row),
                got=cell if isinstance(cell, str) else written(cell),
                remedy=(
                    "give each time once; ",
                    Option(sort=True),
                    " sorts each recording by time, ",
                    Option("id", "time"),
                    " name its columns, ",
                    Option(time="none"),
                    " keeps the order of the rows",
                ),
            )
        recording.times.append(time)
        if self.zone:
            self._add_offset(recording, written(cell))

    def _add_offset(self, recording: Growing, date: str) -> None:
        """Keep the offset of a date; dates in turn have mostly the same."""
        if recording.offsets and date[-6:] == recording.ending:
            recording.offsets.append(recording.offsets[-1])
        else:
            recording.ending = date[-6:]
            recording.offsets.append(zone_seconds(ISO + (zone_of(date) or self.zone)))

    def _sort(self, recording: Growing) -> None:
        """Sort the steps by time; a DataError for a time that comes twice."""
        times = np.frombuffer(recording.times, np.float64)
        order = np.argsort(times, kind="stable")
        if (twice := np.flatnonzero(np.diff(times[order]) == 0)).size:
            first, second = (recording.lines[int(i)] for i in order[twice[0] : twice[0] + 2])
            raise DataError(
                f"the time is that of line {first:,}, too",
                where=self.table.where(second, file=recording.file),
                remedy=(
                    "give each time once, or name the column of recordings with ",
                    Option("id"),
                ),
            )
        values = np.frombuffer(recording.values, np.float32).reshape(len(times), -1)
        recording.values = array("f", values[order].tobytes())
        recording.times = array("d", times[order].tobytes())
        recording.lines = array("q", (recording.lines[int(i)] for i in order))
        if recording.offsets:
            recording.offsets = array("i", (recording.offsets[int(i)] for i in order))
        if recording.others:
            recording.others = [recording.others[int(i)] for i in order]

    def _row(
        self, recording: Growing, numbers: Sequence[int], others: Sequence[int], sampled: bool
    ) -> Row:
        if self.table.data.sort and recording.times:
            self._sort(recording)
        return Row(
            tuple(self._value(recording, number, others, sampled) for number in numbers),
            recording.line,
            recording.file,
        )

    def _value(self, recording: Growing, number: int, others: Sequence[int], sampled: bool) -> Any:
        if number == 0:
            return self._recording(recording)
        if len(self.others) < number <= len(self.others) + len(self.paths):
            return self.paths[number - 1 - len(self.others)][1][recording.file]
        at = list(others).index(self._other(number))
        values = [step[at] for step in recording.others]
        if number > len(self.others):
            return [str(value) for value in values]
        if not values:
            return None
        if not sampled and any(value != values[0] for value in values):
            step = next(i for i, value in enumerate(values) if value != values[0])
            raise DataError(
                f"column {self.columns[number].name!r} changes within the recording"
                f" {self._name(recording)!r}",
                where=self.table.where(recording.lines[step], file=recording.file),
                got=values[step],
                remedy=(
                    "give a recording one value, name the recordings with ",
                    Option("id"),
                    ", or choose a task of labels a step with ",
                    Option("task"),
                ),
            )
        return values[0]

    def _recording(self, growing: Growing) -> Recording:
        names = tuple(column.name for column in self.layout.channels)
        values = np.frombuffer(growing.values, dtype=np.float32).reshape(-1, len(names))
        if np.isinf(values).any():
            step, k = (int(axis[0]) for axis in np.nonzero(np.isinf(values)))
            raise DataError(
                f"column {names[k]!r} holds no finite number of 32 bits",
                where=self.table.where(growing.lines[step], file=growing.file),
                got=values[step, k],
                remedy="correct it, or leave the cell empty as a gap",
            )
        dates, name, times = self.layout.dates, self._name(growing), None
        zone = self.zone
        if self.layout.time is not None:
            times = np.frombuffer(growing.times, dtype=np.float64)
        if times is not None and len(growing.offsets):
            offsets = np.frombuffer(growing.offsets, dtype=np.int32)
            times, zone = clock_of(times - zone_seconds(ISO + zone), offsets)
        return Recording(values, names, times, dates is not None, name, zone=zone)

    def _name(self, recording: Growing) -> str:
        if not self.by_file or not self.files:
            return str(recording.key)
        path = self.files[recording.file].path
        return f"{path.parent.name}/{path.name}" if path.parent.name else path.name


def step_table(table: Table, layout: Long) -> Table:
    if table.by_file:
        refuse_other_headers(table)
    return replace(table, reader=StepRows(table, layout))


def refuse_other_headers(table: Table) -> None:
    """Files of one folder have the same columns in the same order."""
    if not table.header or table.reader.binary:
        return
    names = [column.name for column in table.columns]
    for file in table.files:
        reader: Any = table.reader
        header = [cell.strip() for _, cells in islice(reader.cells(file), 1) for cell in cells]
        if header and header != names:
            missing = [name for name in names if name not in header]
            what = f"has no column {missing[0]!r}" if missing else "has other columns"
            raise DataError(
                f"{what}, and {table.files[0].name} has {', '.join(names)}",
                where=f"{file.name}:1",
                got=", ".join(header),
                remedy="give all files the same columns in the same order",
            )
