"""number: one number a row, or several; standardised on the training rows.

raw: a number, a string that spells one, or a list of these. values: `Numbers` (N, K).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.field import Field, Spread, Where
from unspool.data.read import Column
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.values import is_missing
from unspool.errors import DataError, Option
from unspool.io.files import stored_state, write_json

FILE = "numbers.json"
FITTED = ("mean", "std", "median")


class Numbers:
    """(N, K), as they stand in the file."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def prints(self, common: dict[str, int]) -> np.ndarray:
        return np.array([hash(row.tobytes()) for row in self.array], dtype=np.int64)

    def select(self, rows: np.ndarray) -> Numbers:
        return Numbers(self.array[rows])


class NumberWriter:
    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.numbers, self.width = array("d"), 0

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for i, value in enumerate(values):
            numbers = [parse(one, where, i) for one in as_list(value)] or [parse(None, where, i)]
            self.width = self.width or len(numbers)
            if len(numbers) != self.width:
                raise DataError(
                    f"expected {self.width} numbers, found {len(numbers)}",
                    where=where(i),
                    remedy="give every row as many numbers",
                )
            self.numbers.extend(numbers)

    def close(self) -> None:
        numbers = np.array(self.numbers, dtype=np.float64).reshape(-1, max(1, self.width))
        np.save(self.folder / f"{self.name}.npy", numbers)


def as_list(value: Any) -> Sequence[Any]:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, list | tuple) else [value]


def parse(value: Any, where: Callable[[int], str], row: int) -> float:
    """A finite number, or NaN where it is missing; 1,5 is refused rather than guessed."""
    if is_missing(value):
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise DataError(
            "the value is not a number",
            where=where(row),
            got=value,
            remedy=(
                "write it with a point, as in 1.5, or name another column with ",
                Option("label"),
            ),
        )
    return number


class NumberField(Field):
    """Mean and standard deviation of the training rows are fitted; models see (x - mean) / std.

    names    what the K numbers are called
    median   (K,) of the training rows
    """

    kind = "number"
    unit = "numbers"
    is_target = True
    files = (FILE,)

    def __init__(self, name: str, names: Sequence[str] = (), missing: str = "drop") -> None:
        super().__init__(name)
        self.missing = missing
        self.names = list(names)
        self.mean, self.std, self.median = np.zeros(1), np.ones(1), np.zeros(1)  # (K,)

    def look(self, column: Column) -> None:
        self.names = [
            f"column {part.name}" if part.name.isdigit() else part.name for part in column.members
        ]

    def storage_key(self) -> Any:
        return self.kind

    def writer(self, folder: Path) -> NumberWriter:
        return NumberWriter(folder, self.name)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Numbers:
        return Numbers(np.load(folder / f"{self.name}.npy"))

    def blank(self, column: Numbers) -> np.ndarray:
        return np.isnan(column.array).any(1)

    def fit(
        self, column: Numbers, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        numbers = column.array[rows]
        self.mean, self.std, self.median = numbers.mean(0), numbers.std(0), np.median(numbers, 0)
        if len(self.names) != len(self.mean):  # a list in one column
            base = self.names[0] if len(self.names) == 1 else self.name
            self.names = [f"{base}{i + 1}" for i in range(len(self.mean))]
        if (self.std == 0).any():
            k = int(np.argmax(self.std == 0))
            raise DataError(
                f"all rows have the same {self.names[k]}, so there is nothing to learn",
                where=where,
                got=self.mean[k],
                remedy=("name the column of the numbers with ", Option("label")),
            )
        spreads = self.spread(Numbers(numbers))
        return [f"{name}: {spread} in train" for name, spread in spreads.items()]

    def spread(self, values: Numbers) -> dict[str, Spread]:
        figures = (f(values.array, axis=0) for f in (np.mean, np.std, np.min, np.max))
        return {name: Spread(*map(float, figure)) for name, *figure in zip(self.names, *figures)}

    def check(self, values: Numbers, where: Where) -> list[str]:
        if values.array.shape[1] != len(self.names):
            raise DataError(
                f"the model was trained on {len(self.names)} numbers a row, and the file has"
                f" {values.array.shape[1]}",
                where=where(0),
                remedy=(f"name the columns of {', '.join(self.names)} with ", Option("label")),
            )
        return []

    def invent(self, *, vocab: int, classes: int) -> None:
        self.names = [self.name]
        self.mean, self.std, self.median = np.zeros(1), np.ones(1), np.zeros(1)

    def values(self, column: Numbers, progress: Progress = None) -> Numbers:
        return column

    def encode(self, raw: Sequence[Any]) -> Numbers:
        rows = [[parse(one, str, i) for one in as_list(value)] for i, value in enumerate(raw)]
        return Numbers(np.array(rows, dtype=np.float64))

    def collate(self, values: Numbers, rows: np.ndarray) -> Tensor:
        """(B, K) float32, standardised"""
        return torch.from_numpy(((values.array[rows] - self.mean) / self.std).astype(np.float32))

    def restore(self, standardised: np.ndarray) -> np.ndarray:
        """The outputs of a model, (B, K), in the units of the file."""
        return standardised * self.std + self.mean

    def save(self, folder: Path) -> None:
        write_json(
            folder / FILE,
            {"names": self.names, **{key: getattr(self, key).tolist() for key in FITTED}},
        )

    def load(self, folder: Path) -> None:
        message = "not the names, means and deviations of numbers"
        with stored_state(folder / FILE, message) as stored:
            self.names = [str(name) for name in stored["names"]]
            arrays = [np.array(stored[key], dtype=np.float64) for key in FITTED]
            self.mean, self.std, self.median = arrays
            fits = all(array.shape == (len(self.names),) for array in arrays)
            valid = fits and bool(self.names) and np.isfinite(arrays).all() and (self.std > 0).all()
            if not valid:
                raise ValueError
