"""Plan the columns of series, and those of their labels, numbers or labels of steps.

The settings decide, then known names, then the look of the values (`data/read/layout.py`).
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unspool.config import DataConfig
from unspool.data.plan import Conversion, Plan, Values, split_column
from unspool.data.read import Column, Shape, Table, joined
from unspool.data.read.columns import LABEL_NAMES, TEXT_NAMES, known, plain
from unspool.data.read.json_lines import json_label, json_text
from unspool.data.read.layout import (
    ID_NAMES,
    Layout,
    Long,
    Nested,
    Wide,
    find_layout,
    keys_of_series,
    time_column,
)
from unspool.data.read.recording import Parser, Recording, as_recording
from unspool.data.read.steps import StepRows, step_table
from unspool.data.read.time_columns import time_format
from unspool.data.values import (
    ISO,
    find_format,
    form_zone,
    is_date,
    is_number,
    seconds,
    shown_format,
)
from unspool.errors import DataError, Option, Setting
from unspool.tasks.inputs.kind import PlanRequest, Target
from unspool.text.words import solid

FIT = 4
NAMES = (*LABEL_NAMES, "activity", "gesture", "action", "state")
NUMBER_NAMES = ("target", "number", "score", *LABEL_NAMES)
LABELS: dict[Target | None, tuple[str, ...]] = {
    "label": NAMES,
    "number": NUMBER_NAMES,
    "tags": ("tags", *NAMES),
    "text": ("text", "transcript", "transcription", *TEXT_NAMES),
    None: ("tags", *NAMES, *NUMBER_NAMES),
}
SHAPES = (Shape.TABLE, Shape.CORPUS, Shape.SERIES)  # in which there may be series
SHOWN = 6  # names of columns in a summary


class SeriesColumns(NamedTuple):
    """The table with a recording a row, the columns of the series and of its label, how values are
    made of them, how the summary calls it, the columns of what a series has as a whole, and that of
    the names of series that are a row each."""

    table: Table
    series: Column
    label: Column | None
    convert: Conversion | None
    about: str
    static: Column | None = None
    names: Column | None = None

    @property
    def settings(self) -> dict[str, str]:
        """Settings by which a run reads another file in the same way."""
        reader = self.table.reader
        dates = reader.layout.dates if isinstance(reader, StepRows) else None
        settings = {"data.input": "series"}
        return settings if dates in (None, ISO) else {**settings, "data.date_format": str(dates)}


def may_be_series(table: Table, data: DataConfig) -> bool:
    if data.input not in ("auto", "series") or data.text or data.source or data.target:
        return False
    return table.shape in SHAPES


def asks_for_series(data: DataConfig) -> bool:
    return data.input == "series" or data.series is not None


def holds_series(table: Table, data: DataConfig) -> bool:
    """Whether a table is one of series, with or without labels."""
    return may_be_series(table, data) and find_series(table, data, None, named=False) is not None


def plan_series(table: Table, data: DataConfig, request: PlanRequest) -> Plan | None:
    """None where the table holds no series, or not what the task needs of them."""
    _, target, named, outputs = request
    if not may_be_series(table, data):
        return None
    series = find_series(table, data, target if outputs else None, named=named)
    if series is None:
        if asks_for_series(data) and named:
            raise DataError(
                "no columns of numbers were found to be series",
                where=table.name,
                remedy=("name them with ", Option("series", "id", "time")),
            )
        return None
    hint = f" ({Option(task='classify')} makes classes of them)" if target == "number" else ""
    return answer_plan(series, "series", "step", FIT, hint, series.settings, request)


def answer_plan(
    series: SeriesColumns,
    field: str,
    step: str,
    fit: int,
    hint: str,
    settings: dict[str, str],
    request: PlanRequest,
) -> Plan | None:
    """Plan series with what is to be learnt of them; `hint` at another task, if none is named."""
    task, target, named, outputs = request
    columns, convert, summary = {field: series.series}, series.convert, series.about
    if outputs:
        label = fitting(series, target, named=named, task=task)
        if label is None:
            return None
        what = f"a label a {step}" if target == "tags" else target
        summary += f", {what} in {shown_name(series.table, label)}"
        columns[target], convert = label, with_label(series, target)
    hint = hint if outputs and not named else ""
    return Plan(task, series.table, columns, fit, f"{summary} -> {task}{hint}", convert, settings)


def shown_name(table: Table, column: Column) -> str:
    if table.header or not column.name.isdigit():
        return ", ".join(repr(member.name) for member in column.members)
    return f"column {column.name}"


def fitting(series: SeriesColumns, target: Target, *, named: bool, task: str) -> Column | None:
    """The column of what is to be learnt, where it fits the task."""
    label, reader = series.label, series.table.reader
    if label is None:
        if not named:
            return None
        raise DataError(
            f"holds no labels, which {task} needs",
            where=series.table.name,
            remedy=("name their column with ", Option("label")),
        )
    steps = isinstance(reader, StepRows) and reader.has_steps(label)
    lists = isinstance(label.sample[0], list) if label.sample else False
    varies = lists or (isinstance(reader, StepRows) and reader.varies(label))
    if target == "tags":
        if not varies and not named:
            return None
        if not steps and not lists:
            raise DataError(
                "a label a step needs a row a step, or lists of labels",
                where=series.table.name,
                remedy=("give a table with a row for each step, or use ", Option(task="classify")),
            )
        return reader.steps_of(label) if isinstance(reader, StepRows) else label
    if varies and not named:
        return None
    if target == "text":
        return label
    several = all(column.profile.is_scale for column in label.members)
    if target == "number":
        return label if several or named else None
    return None if several and not named else label


def find_series(
    table: Table, data: DataConfig, target: Target | None, *, named: bool, words: bool = False
) -> SeriesColumns | None:
    """`words`: labels are words, and all numbers are values."""
    by_path = (  # `folder` and the like, which `StepRows` have
        data.label is not None
        and table.by_file
        and not any(column.name == data.label for column in table.columns)
    )
    requested = None
    if data.label is not None and not by_path and target is not None:
        requested = joined(table.several(data.label, option="label"))
    guess = guess_label(table, data, target) if requested is None and not by_path else None
    if words and guess is not None and (named or guess.profile.is_numbers):
        guess = None
    label = requested or guess
    taken = [] if label is None else list(label.members)
    taken += [] if (split := split_column(table, data)) is None else [split]
    static = table.several(data.static, option="static") if data.static else []
    taken += static
    layout = find_layout(
        table, data, taken, steps=target == "tags" and named, continued=words and named
    )
    requested_series = asks_for_series(data) or (words and named)
    if layout is None or (not requested_series and holds_text(table, layout, taken)):
        return None
    if isinstance(layout, Long):
        return long_series(table, data, layout, label, target, static)
    whole = joined(static) if static else None
    if isinstance(layout, Wide):
        unset = layout.channels == ["1"] and not data.channels
        hint = f" ({Setting(channels=2)} where x and y stand in turn)" if unset else ""
        of = f"{len(layout.channels)} channels of " if len(layout.channels) > 1 else ""
        steps = len(layout.columns) // len(layout.channels)
        about = f"{table.summary}, a series a row: {of}{steps:,} steps at most in columns"
        about += f" {ends(layout.columns)}{hint}"
        names = name_column(table, [*layout.columns, *taken])
        about += f", named by {names.name!r}" if names is not None else ""
        column = joined(layout.columns)
        return SeriesColumns(table, column, label, of_cells(layout), about, whole, names)
    if label is None and target is not None:
        label = next((c for c in table.columns if c.name == "folder"), None)
    listed = ", ".join(repr(column.name) for column in layout.columns)
    about = f"{table.summary}, series in {table.reader.noun} {listed}"
    return SeriesColumns(table, joined(layout.columns), label, of_arrays(layout), about, whole)


def name_column(table: Table, taken: Sequence[Column]) -> Column | None:
    """The column that calls series that are a row each: an id, or words that do not repeat."""
    rest = set(table.columns).difference(taken)
    others = [column for column in table.columns if column in rest] if table.header else []
    unique = [c for c in others if c.sample and c.profile.classes == len(c.sample)]
    words = (c for c in unique if not c.profile.is_numbers and not c.profile.is_dates)
    return known(unique, ID_NAMES) or next(words, None)


def ends(columns: Sequence[Column]) -> str:
    return f"{columns[0].name} to {columns[-1].name}"


def long_series(
    table: Table,
    data: DataConfig,
    layout: Long,
    label: Column | None,
    target: Target | None,
    static: Sequence[Column] = (),
) -> SeriesColumns:
    steps = step_table(table, layout)
    reader = steps.reader
    assert isinstance(reader, StepRows)
    if target is None:
        label = None
    elif label is not None:
        label = joined(
            [reader.columns[1 + reader.others.index(column)] for column in label.members]
        )
    elif data.label is not None:
        label = steps.column(data.label, option="label")
    elif reader.paths and reader.paths[0][0] == "folder":
        label = next(column for column in reader.columns if column.name == "folder")
    if layout.id is not None:
        guessed = data.id == "auto" and not is_id(layout.id)
        hint = f", whose times follow each other (or {Option(id='none')})" if guessed else ""
        where = f"recordings by {layout.id.name!r}{hint}"
    else:
        where = "a recording a file" if len(table.files) > 1 else "one recording"
    time_names = " and ".join(repr(column.name) for column in layout.times)
    timed = f", time in {time_names}" if layout.times else ""
    if layout.dates not in (None, ISO):
        timed += f" as {shown_format(layout.dates)} ({Setting(date_format='FORMAT')} for another)"
    names = [column.name for column in layout.channels]
    listed = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    about = f"{table.summary}, {where}{timed}, channels {listed}"
    whole = [reader.columns[1 + reader.others.index(whole_column)] for whole_column in static]
    return SeriesColumns(steps, reader.series, label, None, about, joined(whole) if whole else None)


def guess_label(table: Table, data: DataConfig, target: Target | None) -> Column | None:
    """A column with a known name; else in a table without names the first or the last, and in one
    with names and without dates the only one of words that come again."""
    split = split_column(table, data)
    columns = [column for column in table.columns if column != split]
    requested = set(data.series.split(",")) if data.series else set()
    columns = [column for column in columns if column.name not in requested]
    if table.header:
        axes = {plain(column.name) for column in columns} & {"x", "z"}  # beside which y is one, too
        names = [name for name in LABELS[target] if name != "y" or not axes]
        label = known(columns, names)
        if label is not None or table.typed:
            return label
        words = [c for c in columns if not c.profile.has_numbers]
        words = [c for c in words if c.profile.is_label and not is_id(c)]
        words = [c for c in words if not is_text(c) and not all(map(is_date, c.sample))]
        time = time_column(table, data, columns)
        if time is not None and time_format(time) is not None:
            return None  # what has dates is more often to be continued
        if data.id == "auto" and time is not None:
            ids = keys_of_series(table, [[c] for c in words], time)
            words = [c for c in words if [c] not in ids]
        return words[0] if len(words) == 1 else None
    if target is None or len(columns) < 2:
        return None
    sides = [c for c in (columns[0], columns[-1]) if c.profile.is_label]
    sides = [c for c in sides if all(is_class(value) for value in c.sample)]
    kinds = {c.number: c.profile.classes for c in sides}
    sides = [c for c in sides if kinds[c.number] > 1] or sides
    return min(sides, key=lambda c: kinds[c.number], default=None)


def is_id(column: Column) -> bool:
    return plain(column.name) in ID_NAMES


def is_class(value: Any) -> bool:
    return not is_number(value) or float(value) == int(float(value))


def holds_text(table: Table, layout: Layout, taken: Sequence[Column]) -> bool:
    """Whether a column beside the series is called a text, or is one by its look."""
    return any(map(is_text, set(table.columns).difference(layout.used, taken)))


def is_text(column: Column) -> bool:
    """Words under the name of a text, or several words that are no label; or a list of words."""
    lists = [value for value in column.sample if isinstance(value, list) and value]
    if lists and isinstance(lists[0][0], str):
        return True
    if not column.profile.words:
        return False
    return plain(column.name) in TEXT_NAMES or column.profile.is_spaced


def of_cells(layout: Wide) -> Conversion:
    """Cells of a row, of which the last ones may be missing, to a recording."""
    parser = Parser([column.name for column in layout.columns])
    times, zone = step_times(layout)
    width, names = len(layout.channels), tuple(layout.channels)

    def convert(values: Values, columns: tuple[str, ...], where: str) -> Values:
        row = values[0] if len(layout.columns) > 1 else values[:1]
        cells = np.array(parser.values(row, where), dtype=np.float32).reshape(-1, width)
        seen = np.flatnonzero(~np.isnan(cells).all(1))
        steps = cells[: seen[-1] + 1 if len(seen) else 0]
        if times is None:
            return Recording(steps, names), *values[1:]
        return Recording(steps, names, times[: len(steps)], dated=True, zone=zone), *values[1:]

    return Conversion(f"cells of {names}, {'' if times is None else 'dated'}", convert)


def step_times(layout: Wide) -> tuple[np.ndarray | None, str]:
    """The times of columns that are called by dates, and their zone."""
    names = [column.name.strip() for column in layout.columns]
    form = find_format(names) if len(layout.channels) == 1 else None
    times = None if form is None else np.array([seconds(name, form) for name in names])
    ascending = times is not None and bool((np.diff(times) > 0).all())
    return (times, form_zone(form)) if ascending else (None, "")


def of_arrays(layout: Nested) -> Conversion:
    """Arrays, or one for each channel, to a recording."""
    names = tuple(column.name for column in layout.columns)

    def convert(values: Values, columns: tuple[str, ...], where: str) -> Values:
        if len(names) == 1:
            return as_recording(values[0], where), *values[1:]
        parts = [as_recording(channel, where, (name,)) for channel, name in zip(values[0], names)]
        if len({len(part) for part in parts}) > 1:
            sizes = ", ".join(f"{name} {len(channel)}" for channel, name in zip(parts, names))
            raise DataError(
                "the channels have different numbers of steps",
                where=where,
                got=sizes,
                remedy="give every channel a value at each step",
            )
        return Recording(np.concatenate([part.values for part in parts], 1), names), *values[1:]

    return Conversion(f"arrays of {names}", convert)


def with_label(found: SeriesColumns, target: Target) -> Conversion | None:
    first, noun = found.convert, f"series and {target}"

    def convert(values: Values, columns: tuple[str, ...], where: str) -> Values:
        series, answer = (first.function(values, columns, where) if first else values)[:2]
        if target == "label":
            answer = json_label(answer, columns[1], where)
        elif target == "text":
            answer = " ".join(json_text(answer, columns[1], where).split())
        elif target == "tags":
            answer = step_labels(series, answer, columns[1], where)
        return series, answer

    return Conversion(f"{first.name if first else ''}, {noun}", convert)


def with_static(first: Conversion | None) -> Conversion:
    """The conversion of series, which then have values as a whole."""

    def convert(values: Values, columns: tuple[str, ...], where: str) -> Values:
        series, given = (first.function(values, columns, where) if first else values)[:2]
        static = tuple(given) if isinstance(given, list | tuple) else (given,)
        return replace(as_recording(series, where), static=static), given

    return Conversion(f"{first.name if first else ''}, static", convert)


def with_name(first: Conversion | None) -> Conversion:
    """The conversion of series whose last column is their name."""

    def convert(values: Values, columns: tuple[str, ...], where: str) -> Values:
        *rest, name = values
        series, *more = first.function(tuple(rest), columns, where) if first else rest
        return replace(as_recording(series, where), name=str(name)), *more, name

    return Conversion(f"{first.name if first else ''}, named", convert)


def step_labels(series: Sized, labels: Any, name: str, where: str) -> list[str]:
    if not isinstance(labels, list) or len(labels) != len(series):
        size = len(labels) if isinstance(labels, list) else 1
        raise DataError(
            f"{len(series):,} steps have {size:,} labels in {name!r}",
            where=where,
            remedy="give every step one label",
        )
    names = [solid(str(label).strip()) for label in labels]
    if "" in names:
        raise DataError(
            f"step {names.index('') + 1} has no label in {name!r}",
            where=where,
            remedy="give every step one label",
        )
    return names
