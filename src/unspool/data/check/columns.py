"""The columns of a table, and groups of rows: a table in, findings out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from unspool.data.check.report import DoubtfulRow, Finding
from unspool.data.check.rows import Rows
from unspool.data.fields.field import Classified
from unspool.data.read import Column, Table
from unspool.errors import Option

SHOWN = 5


def about_columns(table: Table, used: set[str]) -> Iterator[Finding]:
    """Columns without a value, or with the same in every row."""
    open_columns = candidates(table, used)
    if not open_columns:
        return
    first: dict[str, Any] = {column.name: column.sample[0] for column in open_columns}
    for row in table.rows(open_columns):
        for column, value in zip(open_columns, row.values):
            if column.name in first and value != first[column.name]:
                del first[column.name]
        if not first:
            return
    empty = [name for name, value in first.items() if value in ("", None)]
    constant = [name for name in first if name not in empty]
    for kind, names, what in (
        ("empty-column", empty, "columns are empty"),
        ("constant-column", constant, "columns have the same value in every row"),
    ):
        if names:
            listed = ", ".join(map(repr, names[:SHOWN]))
            yield Finding(
                kind, f"{what}: {listed}", len(names), remedy="they hold nothing to learn"
            )


def candidates(table: Table, used: set[str]) -> list[Column]:
    """Columns that no field reads, and that the sample does not acquit; not those of arrays."""
    return [
        column
        for column in table.columns
        if column.name not in used
        and column.sample
        and not any(isinstance(value, np.ndarray | list | tuple) for value in column.sample)
        and all(value == column.sample[0] for value in column.sample)
    ]


def about_groups(rows: Rows, group: str, unit: str) -> Iterator[Finding]:
    """Groups of rows, such as those of one speaker, of which two parts have some."""
    members: dict[str, dict[Any, list[int]]] = {}
    for name, part in zip(rows.names, rows.parts):
        assert part.plan is not None
        groups = group_values(part.plan.table, group)
        places = zip(part.files.tolist(), part.lines.tolist())
        rows_of = members.setdefault(name, {})
        for row, place in enumerate(places):
            rows_of.setdefault(groups[place], []).append(row)
    for a, b in combinations(rows.names, 2):
        both = [value for value in members[b] if value in members[a]]
        if both:
            where = rows.corpus.parts[b].where
            yield Finding(
                "group",
                f"{unit} of {b} belong to a group ({group}) that {a} has, too:"
                f" {len(both):,} of {len(members[b]):,} groups",
                sum(len(members[b][value]) for value in both),
                [DoubtfulRow(where(members[b][v][0]), f"{group} {v}", "") for v in both[:SHOWN]],
                f"keep each group in one part, and name the parts with {Option('valid', 'test')}",
            )


def about_labels_of_groups(rows: Rows, group: str) -> Iterator[Finding]:
    """Labels that one group alone has: no split by group shows how well they are learnt."""
    for key, field in rows.corpus.fields.items():
        groups: dict[str, set[Any]] = {}
        for part in rows.parts:
            if not isinstance(field, Classified) or part.plan is None:
                break
            values = group_values(part.plan.table, group)
            places = zip(part.files.tolist(), part.lines.tolist())
            for number, place in zip(field.classes(part[key]).tolist(), places):
                groups.setdefault(field.names[number], set()).add(values[place])
        several = len(set().union(*groups.values())) > 1 if groups else False
        alone = [name for name, members in groups.items() if several and len(members) == 1]
        if alone:
            listed = ", ".join(f"{name} ({next(iter(groups[name]))})" for name in alone[:SHOWN])
            yield Finding(
                "label-of-one-group",
                f"{key}s occur in one group ({group}) alone: {listed}",
                len(alone),
                remedy="what is learnt of them may be the group; record them elsewhere, too",
            )


def group_values(table: Table, group: str) -> dict[tuple[int, int], Any]:
    """The value of a column by (file, line)."""
    column = table.column(group, option="group")
    return {
        (file, line): value if isinstance(value, str | int | float | bool | None) else str(value)
        for (value,), line, file in table.rows([column])
    }
