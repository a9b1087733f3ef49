"""Files that cannot be read, left out and counted: those of a folder, and rows that name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unspool.config import DataConfig
from unspool.data.read.budget import TimeExceeded
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import Column, Reader, Row
from unspool.errors import DataError

if TYPE_CHECKING:
    from unspool.data.read.table import Table


class UsableRows(Reader):
    """The rows of another reader, but for those whose value of a column is among some."""

    def __init__(self, inner: Reader, column: Column, bad: dict[Any, DataError]) -> None:
        self.inner, self.column, self.bad = inner, column, bad
        self.share(inner)
        self.columns, self.files = inner.columns, inner.files
        self.bad_files = [*inner.bad_files, *map(str, bad.values())]

    @property
    def options(self) -> dict[str, Any]:
        return {**self.inner.options, "without": sorted(map(str, self.bad))}

    def rows(self, numbers: Sequence[int], report: Report = None) -> Iterator[Row]:
        for row in self.inner.rows([*numbers, self.column.number], report):
            if row.values[-1] not in self.bad:
                yield row._replace(values=row.values[:-1])

    def as_written(self) -> Reader:
        return UsableRows(self.inner.as_written(), self.column, self.bad)

    def sources(self, column: Column) -> tuple[str, ...]:
        return self.inner.sources(column)


def with_usable_files(table: Table, column: Column, read: Callable[[Any, str], object]) -> Table:
    """The table without the rows whose file `read` refuses, where the settings skip these."""
    if table.data.bad_files != "skip":
        return table
    bad: dict[Any, DataError] = {}
    known: set[Any] = set()
    for (value,), line, file in table.rows([column]):
        if value in known or value in bad:
            continue
        try:
            read(value, table.where(line, file=file))
            known.add(value)
        except TimeExceeded:
            raise
        except DataError as error:
            bad[value] = error
    if bad and not known:
        raise next(iter(bad.values()))
    return replace(table, reader=UsableRows(table.reader, column, bad)) if bad else table


def bad_files_remark(count: int) -> str:
    return f"{count:,} file{'s' * (count > 1)} that cannot be read left out"


def usable_files(
    files: Sequence[TextFile], reader: type[Reader], data: DataConfig
) -> tuple[list[TextFile], list[DataError]]:
    """The files that can be read and have the columns of most, and an error for each other one."""
    columns: dict[TextFile, tuple[str, ...]] = {}
    errors: dict[TextFile, DataError] = {}
    for file in files:
        try:
            columns[file] = reader.probe(file, data)
        except TimeExceeded:
            raise
        except DataError as error:
            errors[file] = error
    if not columns:
        raise next(iter(errors.values()))
    usual = Counter(columns.values()).most_common(1)[0][0]
    for file, names in columns.items():
        if names != usual:
            errors[file] = DataError(
                f"has other columns than most files, which have {', '.join(usual)}",
                where=file.name,
                got=", ".join(names),
                remedy="give all files the same columns in the same order",
            )
    return [file for file in files if file not in errors], list(errors.values())
