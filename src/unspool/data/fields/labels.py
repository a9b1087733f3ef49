"""labels: any number of names a row, out of a fixed set (multi-label).

raw: a list of names, which may be empty; None where it is not known. values: `LabelSets`, indices
into the names; batches are multi-hot.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.field import Where
from unspool.data.fields.label import LabelWriter, NamesField, label_name, listed
from unspool.data.read import Column
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged
from unspool.data.values import is_missing
from unspool.errors import DataError, Option


class LabelsColumn(NamedTuple):
    """Indices of each row into the names, which stand in the order of their appearance."""

    ids: Ragged
    names: list[str]

    def __len__(self) -> int:
        return len(self.ids)


class LabelSets:
    """Indices of the names of N rows; `unknown` has those that the model does not know."""

    def __init__(self, ids: Ragged, unknown: Sequence[Sequence[str]] = ()) -> None:
        self.ids, self.unknown = ids, unknown

    def __len__(self) -> int:
        return len(self.ids)

    def prints(self, common: dict[str, int]) -> np.ndarray:
        rows = range(len(self))
        return np.array([hash(tuple(sorted(self.ids[row]))) for row in rows], dtype=np.int64)

    def select(self, rows: np.ndarray) -> LabelSets:
        unknown = [self.unknown[row] for row in rows] if self.unknown else ()
        return LabelSets(self.ids.select(rows), unknown)

    def multi_hot(self, rows: np.ndarray, labels: int) -> np.ndarray:
        """(len(rows), labels) bool: which of them each row has."""
        marked = np.zeros((len(rows), labels), dtype=bool)
        marked[flat(self.ids, rows)] = True
        return marked


class LabelsWriter(LabelWriter):
    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        self.offsets = array("q", [0])

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for i, value in enumerate(values):
            listed = [""] if value is None else as_list(value)
            unique = dict.fromkeys(label_name(label, where, i) for label in listed)
            self.ids.extend(self.names.setdefault(name, len(self.names)) for name in unique)
            self.offsets.append(len(self.ids))

    def close(self) -> None:
        super().close()
        np.save(self.folder / f"{self.name}-offsets.npy", np.array(self.offsets, dtype=np.int64))


def as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


class LabelsField(NamesField):
    """The names are fitted: those that occur in training, sorted, or in the order of the columns
    that they are.

    counts   (K,) how often each occurs in `rows` training rows
    """

    kind = "labels"
    several = True

    def __init__(self, name: str, missing: str = "drop") -> None:
        super().__init__(name, missing)
        self.columns: list[str] = []
        self.counts, self.rows = np.zeros(0, dtype=np.int64), 0

    def look(self, column: Column) -> None:
        self.columns = [part.name for part in column.parts]

    def writer(self, folder: Path) -> LabelsWriter:
        return LabelsWriter(folder, self.name)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> LabelsColumn:
        names = json.loads((folder / f"{self.name}.json").read_text(encoding="utf-8"))
        ids = np.load(folder / f"{self.name}.npy")
        offsets = np.load(folder / f"{self.name}-offsets.npy")
        return LabelsColumn(Ragged.of_offsets(ids, offsets), names)

    def blank(self, column: LabelsColumn) -> np.ndarray:
        empty = np.zeros(len(column), dtype=bool)
        rows, ids = flat(column.ids, np.arange(len(column)))
        blank = np.array([self._is_blank(name) for name in column.names], dtype=bool)
        empty[rows[blank[ids]]] = True
        return empty

    def _is_blank(self, name: str) -> bool:
        return not name if self.missing == "keep" else is_missing(name)

    def what_is_missing(self, column: LabelsColumn, rows: np.ndarray) -> str:
        return "missing labels"

    def strata(self, column: LabelsColumn) -> np.ndarray:
        """The rarest label of each row, so that every part gets its share of that too."""
        counts = np.bincount(column.ids.values, minlength=len(column.names))
        rank = np.argsort(np.argsort(counts, kind="stable"), kind="stable")
        rarest = np.full(len(column), len(column.names))  # of a row without a label
        rows, ids = flat(column.ids, np.arange(len(column)))
        np.minimum.at(rarest, rows, rank[ids])
        return rarest

    def survey(self, column: LabelsColumn, rows: np.ndarray, *, where: str) -> None:
        seen = [column.names[i] for i in np.unique(flat(column.ids, rows).ids)]
        if len(seen) < 2:
            raise DataError(
                "there are fewer than two labels, so there is nothing to choose from",
                where=where,
                got=seen[0] if seen else "none",
                remedy=("name column and separator with ", Option("label", "label_separator")),
            )

    def fit(
        self, column: LabelsColumn, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        counts = np.bincount(flat(column.ids, rows).ids, minlength=len(column.names))
        count = dict(zip(column.names, counts.tolist()))
        known = self.columns or sorted(n for n in column.names if not self._is_blank(n))
        self.names = [name for name in known if count.get(name)]
        self.counts = np.array([count[name] for name in self.names], dtype=np.int64)
        self.rows = len(rows)
        lengths = column.ids.lengths[rows]
        notes = [
            f"{len(self.names)} labels, {lengths.mean():.2f} a row in train,"
            f" {int((lengths == 0).sum()):,} rows without one"
        ]
        if missing := [name for name in known if not count.get(name)]:
            notes.append(f"labels that no training row has are not learnt: {listed(missing)}")
        return notes

    def invent(self, *, vocab: int, classes: int) -> None:
        self.names = [f"label{i}" for i in range(classes)]

    def values(self, column: LabelsColumn, progress: Progress = None) -> LabelSets:
        return self._numbered(column.ids, column.names)

    def encode(self, raw: Sequence[Any]) -> LabelSets:
        names = sorted({str(name) for value in raw for name in as_list(value)})
        index = {name: i for i, name in enumerate(names)}
        rows = [
            np.array(list(dict.fromkeys(index[str(name)] for name in as_list(value))), np.int64)
            for value in raw
        ]
        return self._numbered(Ragged.of(rows), names)

    def _numbered(self, ids: Ragged, names: list[str]) -> LabelSets:
        """Indices into `names` as indices into the names of the model."""
        index = {name: i for i, name in enumerate(self.names)}
        numbers = np.array([index.get(name, -1) for name in names], dtype=np.int64)
        if (numbers >= 0).all():
            return LabelSets(Ragged(numbers[ids.values], ids.starts, ids.lengths))
        rows = [ids[row] for row in range(len(ids))]
        known = Ragged.of([numbers[row][numbers[row] >= 0] for row in rows])
        return LabelSets(known, [[names[i] for i in row if numbers[i] < 0] for row in rows])

    def check(self, values: LabelSets, where: Where) -> list[str]:
        unknown = {name: row for row in reversed(range(len(values.unknown)))
                   for name in values.unknown[row]}  # fmt: skip
        if not unknown:
            return []
        count = sum(bool(names) for names in values.unknown)
        return [
            f"labels that do not occur in the training data are left out, in {count:,} rows, the"
            f" first at {where(min(unknown.values()))}: {listed(sorted(unknown))}"
        ]

    def collate(self, values: LabelSets, rows: np.ndarray) -> Tensor:
        """(B, K) float32, multi-hot"""
        return torch.from_numpy(values.multi_hot(rows, len(self.names)).astype(np.float32))

    def tally(self, values: LabelSets) -> dict[str, int]:
        ids = flat(values.ids, np.arange(len(values))).ids
        counts = np.bincount(ids, minlength=len(self.names))
        return dict(zip(self.names, counts.tolist()))


class Flat(NamedTuple):
    """Labels of some rows, one after the other: row, from 0, and label; it indexes a matrix."""

    rows: np.ndarray
    ids: np.ndarray


def flat(ids: Ragged, rows: np.ndarray) -> Flat:
    lengths = ids.lengths[rows]
    before = np.cumsum(lengths) - lengths
    at = np.repeat(ids.starts[rows] - before, lengths) + np.arange(lengths.sum())
    return Flat(np.repeat(np.arange(len(rows)), lengths), ids.values[at])
