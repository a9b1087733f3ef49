"""Plan the column of strokes, and that of their labels or texts."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from unspool.config import DataConfig
from unspool.data.plan import Conversion, Plan, Values
from unspool.data.read import Column, Shape, Table
from unspool.data.read.columns import TEXT_NAMES, known, plain
from unspool.data.read.json_lines import json_text
from unspool.data.read.strokes import Layout, as_strokes, depth, layout_of
from unspool.errors import DataError, Option
from unspool.tasks.inputs.kind import PlanRequest, Target
from unspool.tasks.inputs.series_plan import SeriesColumns, answer_plan, guess_label

FIT = 5
NAMES = ("strokes", "drawing", "ink", "stroke", "traces", "handwriting")
CLASSES = ("word", "character", "class_name")  # Quick, Draw! calls its classes words
TEXTS = (*TEXT_NAMES, "transcript", "transcription", "word")


class Drawn(NamedTuple):
    """The column of the strokes, and how they are written down."""

    column: Column
    layout: Layout


def find_strokes(table: Table, data: DataConfig) -> Drawn | None:
    """The column that was named, has a known name, or holds lists in lists in lists of numbers."""
    if data.input not in ("auto", "strokes") or not table.typed:
        return None
    requested = data.input == "strokes"
    if data.series is not None:
        columns = [table.column(data.series, option="series")]
        if not requested and plain(columns[0].name) not in NAMES and not nested(columns[0]):
            return None
    else:
        named = known(table.columns, NAMES)
        columns = [named] if named is not None else [c for c in table.columns if nested(c)]
        if not columns and requested:
            columns = [c for c in table.columns if layout_of(c) is not None]
    if not columns:
        return None
    layout = layout_of(columns[0])
    if table.shape == Shape.DRAWINGS:
        layout = Layout(table.reader.stroke_layout)
    if data.stroke_layout != "auto":
        layout = Layout(data.stroke_layout)
    if layout is None and (requested or plain(columns[0].name) in NAMES):
        layout = Layout("points")  # a row of it says what is wrong
        if not any(isinstance(value, list) for value in columns[0].sample):
            return None
    return None if layout is None else Drawn(columns[0], layout)


def nested(column: Column) -> bool:
    lists = bool(column.sample) and depth(column.sample[0]) == 3
    return lists and layout_of(column) is not None


def of_layout(layout: Layout) -> Conversion:
    def convert(values: Values, columns: tuple[str, ...], where: str) -> Values:
        return as_strokes(values[0], where, layout.name), *values[1:]

    return Conversion(f"strokes as {layout.name}", convert)


def about(table: Table, drawn: Drawn) -> str:
    where = (
        "" if table.shape == Shape.DRAWINGS else f" in {table.reader.noun} {drawn.column.name!r}"
    )
    return f"{table.summary}, strokes{where}{drawn.layout.remark()}"


def plan_strokes(table: Table, data: DataConfig, request: PlanRequest) -> Plan | None:
    """None where the table holds no strokes, or not what the task needs of them."""
    drawn, target = find_strokes(table, data), request.target
    if drawn is None:
        if data.input == "strokes" and request.named:
            raise no_strokes(table)
        return None
    label = find_label(table, data, drawn, target) if request.outputs else None
    strokes = SeriesColumns(
        table, drawn.column, label, of_layout(drawn.layout), about(table, drawn)
    )
    hint = f" ({Option(task='handwrite')} learns to write them)" if target == "text" else ""
    return answer_plan(strokes, "strokes", "point", FIT, hint, {"data.input": "strokes"}, request)


def no_strokes(table: Table) -> DataError:
    return DataError(
        "no column of strokes was found",
        where=table.name,
        remedy=("name a field of [[[x, y], ...], ...] `strokes`, or with ", Option("series")),
    )


def find_label(table: Table, data: DataConfig, drawn: Drawn, target: Target) -> Column | None:
    if target == "text":
        return find_text(table, data, drawn)
    if data.label is not None:
        return table.column(data.label, option="label")
    rest = [column for column in table.columns if column != drawn.column]
    label = guess_label(table, data, target)
    if label is None or label == drawn.column:
        label = known(rest, CLASSES) or known(rest, ("folder", "name"))
    return label


def find_text(table: Table, data: DataConfig, drawn: Drawn) -> Column | None:
    """The column of what was written."""
    if data.text is not None:
        return table.column(data.text, option="text")
    text = known([column for column in table.columns if column != drawn.column], TEXTS)
    words = [] if text is None else [v for v in text.sample if v is not None]
    return text if words and all(isinstance(value, str) for value in words) else None


def with_text(layout: Layout) -> Conversion:
    """Strokes and the text that they are."""
    first = of_layout(layout)

    def convert(values: Values, columns: tuple[str, ...], where: str) -> Values:
        strokes, text = first.function(values, columns, where)[:2]
        text = json_text(text, columns[1], where)
        return replace(strokes, text=text), text

    return Conversion(f"{first.name}, and text", convert)
