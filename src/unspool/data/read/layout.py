"""Layout of series in a table of numbers: a step a row, or a whole series a row.

The settings decide, then names that such columns often have, then the look of the values. Knows no
task: what is a label is for the caller to say.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import combinations, islice, pairwise
from typing import Any, NamedTuple

from unspool.config import DataConfig
from unspool.data.read.columns import known, listed_names, plain
from unspool.data.read.reader import Column, Reader, joined
from unspool.data.read.recording import is_numeric, parse_time
from unspool.data.read.table import Table
from unspool.data.read.time_columns import find_time, is_calendar, is_index, time_format
from unspool.data.values import find_format, is_missing, is_of, written
from unspool.errors import DataError, Option

ID_NAMES = (
    "id", "series", "series_id", "seriesid", "recording", "recording_id", "unique_id", "uid", "sid",
    "case", "case_id", "sample", "sample_id", "sequence", "sequence_id", "item_id", "trial", "file",
)  # fmt: skip
# What a recording has as a whole, though it may be a number: never a channel unless it is asked for
GROUP_NAMES = (
    "subject", "subject_id", "person", "user", "user_id", "speaker", "participant", "patient",
    "session", "device", "split", "part", "fold",
)  # fmt: skip
NUMBER = "number"  # the format of times that are no dates
FEWEST = 3  # columns of a row that is a series, where nothing says that it is one
PAIRED = 20  # columns of groups, two of which may tell series apart
OFTEN = 3  # rows of a series, on average, where nothing says which column tells them apart
DEEP_SAMPLE = 100_000  # rows looked at where a sample might not tell
NUMBERED = re.compile(r"(.*?)[_\-. \[(]*(\d{1,9})[\])]*")


class Long(NamedTuple):
    """A step a row.

    id      one column, or several together; None: all rows of a file are one recording
    time    one column, or several with the parts of a date
    dates   the format of the times; None: they are numbers
    """

    id: Column | None
    time: Column | None
    channels: list[Column]
    dates: str | None = None

    @property
    def used(self) -> list[Column]:
        keys = () if self.id is None else self.id.members
        return [*keys, *self.times, *self.channels]

    @property
    def times(self) -> tuple[Column, ...]:
        return () if self.time is None else self.time.members


class Wide(NamedTuple):
    """A series a row: a column for each step, and at each for each channel."""

    columns: list[Column]  # step by step, of each all channels
    channels: list[str]

    @property
    def used(self) -> list[Column]:
        return self.columns


class Nested(NamedTuple):
    """A series in each cell: an array, or a list of numbers; or one for each channel."""

    columns: list[Column]

    @property
    def used(self) -> list[Column]:
        return self.columns


Layout = Long | Wide | Nested


def find_layout(
    table: Table,
    data: DataConfig,
    taken: Collection[Column] = (),
    *,
    steps: bool = False,
    continued: bool = False,
) -> Layout | None:
    """The series of a table; None where it does not look like one.

    taken      columns of something else, such as labels
    steps      whether a row is a step, even if nothing else says so
    continued  whether a row is a step unless the columns are numbered or called by dates
    """
    taken = set(taken)
    requested = None if data.series is None else table.several(data.series, option="series")
    arrays = [
        column
        for column in requested or table.columns
        if column not in taken and column.sample and all(map(is_numeric, column.sample))
    ]
    if arrays and (requested is None or len(arrays) == len(requested)):
        return Nested(arrays if requested else arrays[:1] if has_matrices(arrays[0]) else arrays)
    id = asked_column(table, data.id, "id")
    inferred = table.header and data.id == "auto"
    keys = () if id is None else id.members
    reserved = taken.union(keys)
    others = [column for column in table.columns if column not in reserved]
    if inferred:
        id = known([c for c in others if c.profile.is_repeated], ID_NAMES)
    named_values = {column for column in requested or () if column.profile.is_numbers}
    candidates = [column for column in others if column not in named_values]
    time = time_column(table, data, [column for column in candidates if column != id])
    if inferred and id is None and time is not None:
        id = find_id(table, others, time)
    values = requested or channels(table, data, [c for c in others if c != id], time)
    if time is None and continued and data.time == "auto" and not are_steps(values):
        id, time = find_index(table, candidates, id, inferred=inferred)
        values = requested or channels(table, data, [c for c in others if c != id], time)
    keys = () if id is None else id.members
    named = [*keys, *(() if time is None else time.members)]
    values = [column for column in values if column not in named]
    if named or steps or table.by_file:
        return Long(id, time, values, date_format(data, time)) if values else None
    if continued and values and table.header and not are_steps(values):
        return Long(None, None, values)
    if not values or (requested is None and len(values) < FEWEST and data.input != "series"):
        return None
    return wide(table, data, values)


def channels(
    table: Table, data: DataConfig, columns: Sequence[Column], time: Column | None
) -> list[Column]:
    """Columns of numbers that are values: no ids, no clocks beside the time, no index of the rows
    unless a setting names them."""
    numbers = [column for column in columns if column.profile.is_numbers]
    if not table.header:
        return numbers
    requested = {*listed_names(data.target), *listed_names(data.known)}
    names = {*ID_NAMES, *GROUP_NAMES} | ({plain(data.group)} if data.grouped else set())
    dated = time is not None and time_format(time) is not None
    values = [
        column
        for column in numbers
        if plain(column.name) not in names
        and (column.name in requested or not (is_index(column) or (dated and is_calendar(column))))
    ]
    return values or [column for column in numbers if plain(column.name) not in names]


def find_index(
    table: Table, columns: Sequence[Column], id: Column | None, *, inferred: bool
) -> tuple[Column | None, Column | None]:
    """The id and the column that numbers the steps of each recording; the time is None where
    there is no such column."""
    rest = [column for column in columns if column != id]
    index = next((column for column in rest if is_index(column)), None)
    if index is not None or not table.header:
        return id, index
    index = next((column for column in rest if is_index(column, restarts=True)), None)
    if index is not None and id is None and inferred:
        id = find_id(table, columns, index)
    return (id, index) if id is not None else (None, None)


def are_steps(columns: Sequence[Column]) -> bool:
    """Whether columns are called by numbers or dates: `V1` to `V48`."""
    names = [column.name.strip() for column in columns]
    numbered = len(names) >= FEWEST and all(map(NUMBERED.fullmatch, names))
    return numbered or find_format(names) is not None


def asked_column(table: Table, name: str, option: str) -> Column | None:
    return None if name in ("auto", "none") else joined(table.several(name, option=option))


def time_column(table: Table, data: DataConfig, columns: Sequence[Column]) -> Column | None:
    """The one asked for, or one among `columns`."""
    if data.time == "auto":
        form = data.date_format
        fitting = [c for c in columns if form not in ("auto", NUMBER) and are_of(c.sample, form)]
        inferred = find_time(table, columns)  # any number fits the format of a clock
        return fitting[0] if fitting and inferred not in fitting else inferred
    return asked_column(table, data.time, "time")


def are_of(cells: Sequence[Any], form: str) -> bool:
    """Whether cells are dates of a format, and some are there."""
    dates = [written(cell) for cell in cells if not is_missing(cell)]
    return bool(dates) and all(is_of(date, form) for date in dates)


def date_format(data: DataConfig, time: Column | None) -> str | None:
    """That of the settings, unless all dates have another; None of numbers."""
    if time is None:
        return None
    requested = data.date_format
    inferred = time_format(time)
    if requested == NUMBER:
        return None
    fits = requested != "auto" and are_of(time.sample, requested)
    return requested if fits or (inferred is None and requested != "auto") else inferred


def find_id(table: Table, columns: Sequence[Column], time: Column) -> Column | None:
    """The column, or the first two, that tell series apart; of two one may be a label."""
    one = keys_of_series(table, [[column] for column in columns], time)
    if one:
        return one[0][0]
    every = [c for c in table.columns if c not in time.members and c.profile.is_group]
    two = keys_of_series(table, list(combinations(every[:PAIRED], 2)), time)
    return joined(two[0]) if two else None


def keys_of_series(
    table: Table, keys: Sequence[Sequence[Column]], time: Column
) -> list[Sequence[Column]]:
    """Those of the keys that are an id: times increase in rows with the same values, not in all."""
    if table.by_file or not table.header:
        return []
    groups = {
        tuple(column.number for column in key): key
        for key in keys
        if all(column not in time.members and column.profile.is_group for column in key)
    }
    clock = tuple(member.number for member in time.members)
    return [groups[key] for key in follows_by(table.reader, (*groups,), clock, time_format(time))]


@lru_cache(maxsize=8)
def first_times(reader: Reader, time: tuple[int, ...], dates: str | None) -> array[float] | None:
    """The times of the first rows; None where one cannot be read, or where all increase."""
    times = array("d")
    for row in islice(reader.rows(time), DEEP_SAMPLE):
        try:
            times.append(parse_time(row.values if len(time) > 1 else row.values[0], "", "", dates))
        except DataError:
            return None
    return times if any(after <= before for before, after in pairwise(times)) else None


@lru_cache(maxsize=64)  # every task asks
def follows_by(
    reader: Reader, keys: tuple[tuple[int, ...], ...], time: tuple[int, ...], dates: str | None
) -> list[tuple[int, ...]]:
    """The keys within which times increase in the first rows, with three rows to a key."""
    times = first_times(reader, time, dates) if keys else None
    if times is None:
        return []
    places = {number: i for i, number in enumerate({number for key in keys for number in key})}
    latest: dict[tuple[int, ...], dict[Any, float]] = {key: {} for key in keys}
    for now, row in zip(times, reader.rows([*places])):
        for key in list(latest):
            name = tuple(str(row.values[places[number]]) for number in key)
            if now <= latest[key].get(name, -math.inf):
                del latest[key]
            else:
                latest[key][name] = now
        if not latest:
            break
    return [key for key, names in latest.items() if len(times) >= OFTEN * len(names)]


def has_matrices(column: Column) -> bool:
    first: Any = column.sample[0]
    shape = getattr(getattr(first, "values", first), "shape", None)
    if shape is not None:
        return len(shape) == 2
    return bool(first) and isinstance(first[0], list | tuple)


def wide(table: Table, data: DataConfig, columns: list[Column]) -> Wide:
    """Channels are those of the settings, in turn; or the names without the numbers behind them."""
    if data.channels:
        if len(columns) % data.channels:
            raise DataError(
                f"{len(columns)} columns cannot be {data.channels} channels in turn",
                where=table.where(table.reader.first_line),
                remedy=("name the values with ", Option("series"), ", or give other channels"),
            )
        return Wide(columns, [str(i + 1) for i in range(data.channels)])
    layout = named_channels(columns) if table.header else None
    return layout or Wide(columns, ["1"])


def named_channels(columns: Sequence[Column]) -> Wide | None:
    """`x_0, y_0, x_1, y_1` or `x1, x2, y1, y2`: several names that have the same numbers."""
    steps: dict[str, dict[int, Column]] = {}
    for column in columns:
        match = NUMBERED.fullmatch(column.name.strip())
        if match is None:
            return None
        steps.setdefault(match[1], {})[int(match[2])] = column
    numbers = [sorted(step) for step in steps.values()]
    if len(steps) < 2 or len(numbers[0]) < 2 or any(number != numbers[0] for number in numbers):
        return None
    if sum(map(len, numbers)) != len(columns):
        return None
    ordered = [step[number] for number in numbers[0] for step in steps.values()]
    return Wide(ordered, list(steps))
