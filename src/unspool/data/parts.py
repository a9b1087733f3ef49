"""Parts that a column of the table names: the plan of a whole table in, one for each part out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from unspool.config import DataConfig
from unspool.data.plan import Only, Plan
from unspool.data.read import Column, Table
from unspool.data.read.columns import plain
from unspool.data.read.files import PARTS
from unspool.errors import DataError

NAMES = ("split", "part", "partition", "subset", "set", "fold", "dataset", "semeval_set")


def split_column(table: Table, data: DataConfig) -> Column | None:
    """The column that says to which part each row belongs."""
    if data.split_column == "none":
        return None
    if data.split_column in {column.name for column in table.columns} - {"auto"}:
        return table.column(data.split_column, option="--split")
    if (
        data.split_column != "auto" and not data.columns
    ):  # another file of a run may have no such column
        return table.column(data.split_column, option="--split")
    if not table.header:
        return None
    for column in table.columns:
        named = plain(column.name) in NAMES
        if named and all(plain(str(value)) in PARTS for value in column.sample):
            return column
    return None


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
        part = PARTS.get(plain(str(value)))
        if part is None:
            raise DataError(
                f"column {column.name!r} names no part",
                where=plan.table.name,
                got=value if value not in (None, "") else "nothing",
                remedy="it is to hold train, valid or test; --split none does not look at it",
            )
        names.setdefault(part, []).append(value)
    if training and "train" not in names:
        raise DataError(
            f"column {column.name!r} names no row for training",
            where=plan.table.name,
            got=", ".join(map(str, counts)),
            remedy="name the rows to train on train; --split none does not look at it",
        )
    order: list[str] = [part for part in ("train", "valid", "test") if part in names]
    found = {part: only(plan, column, names[part]) for part in order}
    sizes = ", ".join(f"{part} {sum(counts[name] for name in names[part]):,}" for part in found)
    return found, f"parts by column {column.name!r}: {sizes} (--split none ignores it)"


def only(plan: Plan, column: Column, names: Sequence[str]) -> Plan:
    return replace(plan, only=Only(column, frozenset(names)))
