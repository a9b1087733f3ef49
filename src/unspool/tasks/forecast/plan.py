"""Plan the columns of series to forecast."""

from __future__ import annotations

from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.read.recording import Recording
from unspool.data.read.steps import StepRows
from unspool.errors import DataError, Option
from unspool.tasks.inputs.series_plan import (
    SeriesColumns,
    find_series,
    may_be_series,
    with_name,
    with_static,
)

FIT = 3


def plan_forecast(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """Series. Unless the task is named, they must have a time, and no labels."""
    inputs = data.model_copy(update={"target": None, "label": None})
    if not may_be_series(table, inputs) or (data.label is not None and not named):
        return None
    series = find_series(
        table, data.model_copy(update={"label": None}), None, named=named, words=True
    )
    if series is None:
        if not named:
            return None
        raise DataError(
            "no columns of numbers were found to be series",
            where=table.name,
            remedy=("name them with ", Option("series", "id", "time")),
        )
    if not named and not is_timed(series):
        return None
    columns, convert = {"history": series.series}, series.convert
    about = series.about
    if series.static is not None:
        columns["static"], convert = series.static, with_static(series.convert)
        about += f", of each series {', '.join(column.name for column in series.static.members)}"
    if series.names is not None:
        columns["name"], convert = series.names, with_name(convert)
    if unread := not_read(series):
        about += f", not read: {', '.join(unread)}"
    return Plan(task, series.table, columns, FIT, f"{about} -> {task}", convert, series.settings)


def is_timed(series: SeriesColumns) -> bool:
    """Whether the steps have times, and nothing in the table could be a label."""
    reader = series.table.reader
    if isinstance(reader, StepRows):
        return reader.layout.time is not None and series.label is None
    first = next(iter(series.series.sample), None)
    return isinstance(first, Recording) and first.dated and series.label is None


def not_read(series: SeriesColumns) -> list[str]:
    """Columns of a table of steps that are no values, ids, times or static."""
    reader = series.table.reader
    if not isinstance(reader, StepRows):
        return []
    static = [] if series.static is None else [column.name for column in series.static.members]
    used = {*static, *(key.name for key in reader.keys)}
    return [column.name for column in reader.others if column.name not in used]
