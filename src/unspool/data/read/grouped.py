"""Rows with the same value in a column as one row: an image with several captions, a line each.

In: a table, the column that says what belongs together, and those whose values are gathered. Out: a
table with a row for each value, in the order of their first lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from unspool.data.read.files import Report
from unspool.data.read.reader import SAMPLE, Column, Reader, Row
from unspool.data.read.table import Table
from unspool.errors import DataError


@dataclass
class Group:
    """Rows that belong together: of each gathered column a list of values, of others the first."""

    values: list[Any]
    line: int
    file: int


class GroupedRows(Reader):
    """The columns of a table, with lists in those that are gathered.

    key       the column whose equal strings make rows one; other values are a row each
    same      what of a string counts: two that differ in the rest are equal
    gathered  the columns whose values become lists
    fixed     a column that has one value within a group; None: nothing is compared
    """

    def __init__(
        self,
        inner: Table,
        key: Column,
        gathered: Sequence[Column],
        *,
        same: Callable[[str], str],
        fixed: Column | None = None,
    ) -> None:
        self.files, self.table, self.inner = inner.files, inner, inner.reader
        self.key, self.same, self.fixed = key.number, same, fixed
        self.gathered = frozenset(member.number for column in gathered for member in column.members)
        self.share(inner.reader)
        numbers = [column.number for column in inner.columns]
        rows = islice(inner.reader.rows([self.key, *numbers]), SAMPLE)
        groups = list(self._groups(rows, numbers, whole=False))
        self.columns = [
            column._replace(sample=[group.values[i] for group in groups])
            for i, column in enumerate(inner.columns)
        ]

    @property
    def options(self) -> dict[str, Any]:
        return {**self.inner.options, "key": self.key, "gathered": sorted(self.gathered)}

    def sources(self, column: Column) -> tuple[str, ...]:
        return self.inner.sources(column)

    def rows(self, numbers: Sequence[int], report: Report = None) -> Iterator[Row]:
        fixed = [] if self.fixed is None else [self.fixed.number]
        rows = self.inner.rows([self.key, *numbers, *fixed], report)
        for group in self._groups(rows, [*numbers, *fixed], whole=True):
            yield Row(tuple(group.values[: len(numbers)]), group.line, group.file)

    def _groups(
        self, rows: Iterator[Row], numbers: Sequence[int], *, whole: bool
    ) -> Iterator[Group]:
        """`whole`: the last of the numbers is that of the fixed column, if there is one."""
        lists = [number in self.gathered for number in numbers]
        groups: dict[Any, Group] = {}
        for i, (values, line, file) in enumerate(rows):
            key = self.same(values[0]) if isinstance(values[0], str) and values[0] else i
            group = groups.get(key)
            if group is None:
                first = [[v] if many else v for v, many in zip(values[1:], lists)]
                groups[key] = Group(first, line, file)
                continue
            for held, value, many in zip(group.values, values[1:], lists):
                if many:
                    held.append(value)
            if whole and self.fixed is not None and group.values[-1] != values[-1]:
                raise DataError(
                    f"{key!r} is in two parts by column {self.fixed.name!r}:"
                    f" {group.values[-1]!r} in line {group.line}",
                    where=self.table.where(line, file=file),
                    got=values[-1],
                    remedy="give all its rows the same part",
                )
        yield from groups.values()


def grouped_table(
    table: Table,
    key: Column,
    gathered: Sequence[Column],
    *,
    same: Callable[[str], str],
    fixed: Column | None = None,
) -> Table:
    """The same files, with a row for each value of `key`."""
    return replace(table, reader=GroupedRows(table, key, gathered, same=same, fixed=fixed))
