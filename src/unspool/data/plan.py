"""The plan of a task: which columns are its fields, and which rows belong to which part.

plan = open_plan("reviews.csv", data)
print(plan.summary)     # reviews.csv: CSV, text in column 'review', label in ... -> classify
for (text, label), line, file in plan.rows():
    ...
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from unspool.config import DataConfig
from unspool.data.read import Column, Report, Row, Table
from unspool.data.read.budget import Allowance
from unspool.data.read.columns import plain
from unspool.data.read.files import PARTS
from unspool.errors import DataError, Option

# Names without separators.
SPLIT_NAMES = (
    "split", "part", "partition", "subset", "set", "fold", "dataset", "semevalset", "datasplit",
    "datasetsplit", "splitname", "usage", "phase",
)  # fmt: skip
# Columns of 0 and 1, and the parts that they declare.
FLAGS = {
    "istrain": ("test", "train"),
    "istraining": ("test", "train"),
    "isvalid": ("train", "valid"),
    "isvalidation": ("train", "valid"),
    "isdev": ("train", "valid"),
    "istest": ("train", "test"),
    "isholdout": ("train", "test"),
}
TRUTH = {"0": 0, "false": 0, "no": 0, "f": 0, "n": 0, "1": 1, "true": 1, "yes": 1, "t": 1, "y": 1}

Values = tuple[Any, ...]


class Conversion(NamedTuple):
    """A function f(raw values, names of columns, where) -> values; `name` is for cache keys."""

    name: str
    function: Callable[[Values, tuple[str, ...], str], Values]


class Only(NamedTuple):
    """Rows in which a column, read last, has one of some values."""

    column: Column
    names: frozenset[Any]

    @property
    def key(self) -> list[Any]:
        return [self.column.number, *sorted(map(str, self.names))]

    def of(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if row.values[-1] in self.names:
                yield row._replace(values=row.values[:-1])


@dataclass(frozen=True)
class Plan:
    """The columns of a table that a task reads.

    columns   by the name of the task's field: text and label, words and tags, source and target; an
              output field may be missing where only inputs are read
    fit       how well the table fits the task, larger is better; 0 for what reads anything
    summary   the whole line that is printed
    convert   applied to the values of each row; they are strings or lists of strings then
    settings  that were inferred, and by which other files of the run are read
    only      rows that a column names; None: all
    weights   (N,) how much each row counts in a loss; None: all alike
    """

    task: str
    table: Table
    columns: dict[str, Column]
    fit: int
    summary: str
    convert: Conversion | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    only: Only | None = None
    weights: np.ndarray | None = field(default=None, compare=False)

    def rows(self, report: Report = None) -> Iterator[Row]:
        """The values of the fields, in the order of `columns`, of every row."""
        columns = list(self.columns.values())
        if self.only is None:
            rows = self.table.rows(columns, report)
        else:
            rows = self.only.of(self.table.rows([*columns, self.only.column], report))
        if self.convert is None:
            return rows
        return Allowance(self.table.name).timed(self._converted(rows, self.convert))

    def whole_rows(self, report: Report = None) -> Iterator[tuple[Values, Values]]:
        """Yield the values of the fields of each row, and all its columns as they are written."""
        columns, every = list(self.columns.values()), self.table.columns
        names = tuple(column.name for column in columns)
        written = self.table.reader.as_written()
        again = None  # where cells are not read as they are written
        if written is not self.table.reader:
            again = written.rows([column.number for column in every])
        for row in self.table.rows([*columns, *every], report):
            values, cells = row.values[: len(columns)], row.values[len(columns) :]
            if self.convert is not None:
                where = self.table.where(row.line, file=row.file)
                values = self.convert.function(values, names, where)
            yield values, cells if again is None else next(again).values

    def _converted(self, rows: Iterator[Row], convert: Conversion) -> Iterator[Row]:
        names = tuple(column.name for column in self.columns.values())
        for row in rows:
            where = self.table.where(row.line, file=row.file)
            yield row._replace(values=convert.function(row.values, names, where))

    @property
    def key(self) -> dict[str, Any]:
        """All that decides what is read, for the key of a cache."""
        return {
            **self.table.key,
            "columns": {
                field: [member.number for member in column.members]
                if column.parts
                else column.number
                for field, column in self.columns.items()
            },
            "convert": None if self.convert is None else self.convert.name,
            "only": None if self.only is None else self.only.key,
        }


def split_column(table: Table, data: DataConfig) -> Column | None:
    """The column that says to which part each row belongs."""
    if data.split_column == "none":
        return None
    if data.split_column in {column.name for column in table.columns} - {"auto"}:
        return table.column(data.split_column, option="split")
    if (
        data.split_column != "auto" and not data.columns
    ):  # another file of a run may have no such column
        return table.column(data.split_column, option="split")
    flags = [column for column in table.columns if joined_words(column.name) in FLAGS]
    columns = [column for column in table.columns if declares_parts(column)]
    if not columns and len(flags) > 1:
        names = " and ".join(repr(column.name) for column in flags)
        raise DataError(
            f"columns {names} declare parts, and only one can",
            where=table.name,
            remedy=("name it with ", Option("split"), ", or put train, valid or test into one"),
        )
    return next(iter([*columns, *flags]), None)


def declares_parts(column: Column) -> bool:
    """Whether a column is called like one of parts and names that of training."""
    if joined_words(column.name) not in SPLIT_NAMES:
        return False
    parts = {part_of(column, value) for value in column.sample}
    return None not in parts or "train" in parts


def part_of(column: Column, value: Any) -> str | None:
    """The part that a value of a column declares."""
    text = plain(str(value))
    parts = FLAGS.get(joined_words(column.name))
    if parts is not None and text.removesuffix(".0") in TRUTH:
        return parts[TRUTH[text.removesuffix(".0")]]
    return PARTS.get(joined_words(text))


def joined_words(name: str) -> str:
    """A name without case and separators: `istest` for `isTest`, `is_test` and `Is Test`."""
    return re.sub(r"[-_. ]", "", name).lower()


def split_name(plan: Plan, data: DataConfig) -> str:
    """The setting with what `auto` has found."""
    column = split_column(plan.table, data)
    return "none" if column is None else column.name


def split_plans(
    plan: Plan, data: DataConfig, *, training: bool = True
) -> tuple[dict[str, Plan], str | None]:
    """The plan of each part, "train" first, and a note; the plan itself where no column tells.

    training   rows of "train" must be there
    """
    column = split_column(plan.table, data)
    if column is None:
        return {"train": plan}, None
    counts = Counter(row.values[0] for row in plan.table.rows([column]))
    names: dict[str, list[str]] = {}
    for value in counts:
        part = part_of(column, value)
        if part is None:
            raise DataError(
                f"column {column.name!r} names no part",
                where=plan.table.name,
                got=value if value not in (None, "") else "nothing",
                remedy=("use train, valid or test; ", Option(split="none"), " ignores it"),
            )
        names.setdefault(part, []).append(value)
    if training and "train" not in names:
        raise DataError(
            f"column {column.name!r} names no row for training",
            where=plan.table.name,
            got=", ".join(map(str, counts)),
            remedy=("call the rows to train on train; ", Option(split="none"), " ignores it"),
        )
    order: list[str] = [part for part in ("train", "valid", "test") if part in names]
    plans = {part: only(plan, column, names[part]) for part in order}
    sizes = ", ".join(f"{part} {sum(counts[name] for name in names[part]):,}" for part in plans)
    return plans, f"parts by column {column.name!r}: {sizes} ({Option(split='none')} ignores it)"


def only(plan: Plan, column: Column, names: Sequence[str]) -> Plan:
    return replace(plan, only=Only(column, frozenset(names)))
