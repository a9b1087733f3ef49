"""One split of a corpus: the values of each field for some rows, and padded batches of them.

The same class holds rows of a file, whose values stay on disk until they are asked for, and values
in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.field import Field, Undivided
from unspool.data.plan import Plan
from unspool.data.store.ragged import Windows


class Batch:
    """B rows of a part: the tensors of each field, `batch["text"].ids`.

    weights   (B,) how much each row counts in the loss; None: all alike
    """

    def __init__(
        self, rows: np.ndarray, tensors: Mapping[str, Any], weights: Tensor | None = None
    ) -> None:
        self.rows, self._tensors, self.weights = rows, tensors, weights

    def __getitem__(self, field: str) -> Any:
        return self._tensors[field]

    def __contains__(self, field: str) -> bool:
        return field in self._tensors

    def to(self, device: torch.device) -> Batch:
        """Batches are made on the CPU."""
        if device.type == "cpu":
            return self
        tensors = {name: moved(each, device) for name, each in self._tensors.items()}
        return Batch(self.rows, tensors, moved(self.weights, device))


# What says how many: its values decide the shapes of what is computed, so it stays on the CPU.
COUNTS = frozenset({"lengths", "sizes", "chosen", "firsts"})


def moved(value: Any, device: torch.device) -> Any:
    """Tensors, and batches and tuples of them, on another device; `COUNTS` stay on the CPU."""
    if isinstance(value, Batch):
        return value.to(device)
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = zip(value._fields, value)
        return type(value)(
            *(item if name in COUNTS else moved(item, device) for name, item in fields)
        )
    if isinstance(value, tuple):
        return tuple(moved(each, device) for each in value)
    return value


class Part:
    """N rows of some fields.

    rows     (N,) of the table they come from
    lines    (N,) where they start, and
    files    (N,) in which file of the table
    lengths  (N, F) of the F fields whose length counts for the size of a batch
    weights  (N,) how much each row counts in the loss, 1 in the mean; None: all alike
    """

    def __init__(
        self,
        fields: Mapping[str, Field],
        values: Mapping[str, Any],
        *,
        rows: np.ndarray | None = None,
        lines: np.ndarray | None = None,
        files: np.ndarray | None = None,
        plan: Plan | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        self.fields, self.values, self.plan, self.weights = fields, values, plan, weights
        size = len(next(iter(values.values())))
        self.rows = np.arange(size) if rows is None else rows
        self.lines = self.rows + 1 if lines is None else lines
        self.files = np.zeros(size, dtype=np.int64) if files is None else files
        sized = [
            values[name].lengths for name, field in fields.items() if field.sized and name in values
        ]
        self.lengths = np.stack(sized, 1)

    @classmethod
    def of(cls, fields: Mapping[str, Field], **raw: Sequence[Any]) -> Part:
        """Raw values in memory, by field."""
        return cls(fields, {name: fields[name].encode(values) for name, values in raw.items()})

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, field: str) -> Any:
        return self.values[field]

    def __contains__(self, field: str) -> bool:
        return field in self.values

    def where(self, row: int, field: str | None = None) -> str:
        """`file:line` of a row, or of one of its fields."""
        if self.plan is None:
            return f"row {row + 1}"
        column = None if field is None else self.plan.columns[field]
        return self.plan.table.where(int(self.lines[row]), file=int(self.files[row]), column=column)

    def refuse_unseen(self) -> None:
        """Raise a DataError about a value that does not occur in the training data."""
        for name, values in self.values.items():
            self.fields[name].refuse_unseen(values, partial(self.where, field=name))

    def weights_of(self, rows: np.ndarray) -> np.ndarray | None:
        return None if self.weights is None else self.weights[rows]

    def line(self, row: int) -> str:
        """Its number, with the name of the file where there are several."""
        several = self.plan is not None and self.files.any()
        return Path(self.where(row)).name if several else str(self.lines[row])

    def collate(self, rows: np.ndarray) -> Batch:
        return Batch(
            rows,
            {name: self.fields[name].collate(values, rows) for name, values in self.values.items()},
            None if self.weights is None else torch.from_numpy(self.weights[rows]).float(),
        )

    def raw(self, rows: np.ndarray, fields: Sequence[str]) -> list[tuple[Any, ...]]:
        """The raw values of some rows, read again from the file: no field keeps everything."""
        assert self.plan is not None
        wanted = self.rows[rows].tolist()
        needed = set(wanted)
        numbers = [list(self.plan.columns).index(field) for field in fields]
        by_row = {
            i: tuple(row.values[number] for number in numbers)
            for i, row in enumerate(islice(self.plan.rows(), max(needed, default=-1) + 1))
            if i in needed
        }
        return [by_row[i] for i in wanted]

    def digests(self) -> np.ndarray | None:
        """(N,) uint64 of what is read of each row, in any process; None for one long sequence."""
        inputs = [name for name, field in self.fields.items() if not field.is_target]
        if any(isinstance(self.fields[name], Undivided) for name in inputs):
            return None
        total = np.zeros(len(self), np.uint64)
        for name in inputs:
            total = total * np.uint64(31) + self.values[name].digests()
        return total

    def select(self, rows: np.ndarray) -> Part:
        return self._at(rows, {name: values.select(rows) for name, values in self.values.items()})

    def only(self, field: str) -> Part:
        part = self._at(np.arange(len(self)), {field: self.values[field]})
        part.fields = {field: self.fields[field]}
        return part

    def in_windows(self, windows: Windows) -> Part:
        """Stretches of its rows as rows; what a row has as a whole is that of each stretch."""
        values = {
            name: whole.windows(windows)
            if hasattr(whole, "windows")
            else whole.select(windows.origin)
            for name, whole in self.values.items()
        }
        return self._at(windows.origin, values)

    def in_pieces(self, field: str, length: int) -> Part:
        """Long rows of a field as several of at most `length` steps (0: not cut)."""
        pieces = self.values[field].in_pieces(length)
        return self._at(pieces.origin, {field: pieces})

    def _at(self, rows: np.ndarray, values: Mapping[str, Any]) -> Part:
        """A part with other values, each of one of these rows."""
        return Part(
            self.fields,
            values,
            rows=self.rows[rows],
            lines=self.lines[rows],
            files=self.files[rows],
            plan=self.plan,
            weights=None if self.weights is None else self.weights[rows],
        )
