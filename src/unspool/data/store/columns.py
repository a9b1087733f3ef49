"""The columns of a table on disk: a plan of reading in, every column stored in one pass out.

What was stored is kept in the cache, under the content of the file and all that decides how its
values become numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from unspool.data.plan import Plan
from unspool.data.read import Report, Row
from unspool.data.read.budget import Allowance
from unspool.data.store.cache import cached

BATCH_ROWS = 1 << 16
BATCH_CHARACTERS = 1 << 22

Progress = Callable[[str, float], None] | None  # called with a stage and the share done
WhereStep = Callable[[int, int], str]  # a row and one of its steps -> file:line


class ColumnWriter(Protocol):
    """Makes numbers of raw values."""

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        """Append values; where(i) is the place of values[i] in its file, for a message."""

    def close(self) -> None: ...


class Storable(Protocol):
    """Stores the column of a field."""

    def storage_key(self) -> Any:
        """Whatever decides the numbers, for JSON."""

    def writer(self, folder: Path) -> ColumnWriter: ...
    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Any: ...


class Stored(NamedTuple):
    """The columns of a table, by field; where each row starts; whether it was cached."""

    columns: dict[str, Any]
    lines: np.ndarray  # (N,) the line, and
    files: np.ndarray  # (N,) the number of its file
    hit: bool

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, plan: Plan, row: int) -> str:
        return plan.table.where(int(self.lines[row]), file=int(self.files[row]))


def store_columns(plan: Plan, fields: Mapping[str, Storable], progress: Progress = None) -> Stored:
    """Every column of the plan, as its field stores it."""
    names = [name for name in plan.columns if name in fields]
    numbers = [list(plan.columns).index(name) for name in names]
    key = {**plan.key, "fields": {name: fields[name].storage_key() for name in names}}

    def where_row(starts: list[tuple[int, int]], row: int) -> str:
        line, file = starts[row]
        return plan.table.where(line, file=file)

    def build(folder: Path) -> None:
        writers = [fields[name].writer(folder) for name in names]
        starts = [np.zeros((0, 2), np.int64)]
        rows = plan.rows(report_stage(progress, f"tokenising {plan.table.name}"))
        for batch in batches(rows):
            new = [(row.line, row.file) for row in batch]
            with Allowance(plan.table.name).spending():
                for number, writer in zip(numbers, writers):
                    values = [row.values[number] for row in batch]
                    writer.add(values, partial(where_row, new))
            starts.append(np.array(new, np.int64).reshape(-1, 2))
        for writer in writers:
            writer.close()
        np.save(folder / "starts.npy", np.concatenate(starts))

    def where_step(row: int, step: int) -> str:
        return plan.table.where(plan.table.token_line(row, step))

    def load(folder: Path) -> tuple[dict[str, Any], np.ndarray]:
        columns = {
            name: fields[name].open(folder, {"of": key, "column": name}, where_step)
            for name in names
        }
        return columns, np.load(folder / "starts.npy")

    (columns, starts), hit = cached(key, build, load)
    return Stored(columns, starts[:, 0], starts[:, 1], hit)


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows by the thousand, fewer where their texts or arrays are long."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(
            len(value) if isinstance(value, str) else getattr(value, "nbytes", 0)
            for value in row.values
        )
        if size >= BATCH_CHARACTERS or len(batch) >= BATCH_ROWS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def report_stage(progress: Progress, stage: str) -> Report:
    if progress is None:
        return None
    return lambda fraction: progress(stage, fraction)
