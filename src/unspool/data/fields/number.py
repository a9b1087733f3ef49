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

from unspool.data.fields.field import Field
from unspool.data.store.columns import Progress, WhereStep
from unspool.errors import DataError, RunError
from unspool.io.files import AGAIN, read_json, write_json

FILE = "numbers.json"


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
            numbers = [parse(one, where, i) for one in as_list(value)]
            self.width = self.width or len(numbers)
            if len(numbers) != self.width:
                raise DataError(
                    f"expected {self.width} numbers, found {len(numbers)}",
                    where=where(i),
                    remedy="give every row as many numbers",
                )
            self.numbers.extend(numbers)

    def close(self) -> None:
        found = np.array(self.numbers, dtype=np.float64).reshape(-1, max(1, self.width))
        np.save(self.folder / f"{self.name}.npy", found)


def as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def parse(value: Any, where: Callable[[int], str], row: int) -> float:
    """A finite number; 1,5 is refused rather than guessed."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise DataError(
            "the value is no number",
            where=where(row),
            got=value if value not in (None, "") else "nothing",
            remedy="write it with a point, as in 1.5, or name another column with --label",
        )
    return number


class NumberField(Field):
    """Mean and standard deviation of the training rows are fitted; models see (x - mean) / std.

    names   what the K numbers are called
    """

    kind = "number"
    unit = "numbers"
    is_target = True

    def __init__(self, name: str, names: Sequence[str] = ()) -> None:
        super().__init__(name)
        self.names = list(names)
        self.mean, self.std = np.zeros(0), np.ones(0)  # (K,)

    def storage_key(self) -> Any:
        return self.kind

    def writer(self, folder: Path) -> NumberWriter:
        return NumberWriter(folder, self.name)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Numbers:
        return Numbers(np.load(folder / f"{self.name}.npy"))

    def fit(
        self, column: Numbers, rows: np.ndarray, *, where: str, progress: Progress | None = None
    ) -> list[str]:
        found = column.array[rows]
        self.mean, self.std = found.mean(0), found.std(0)
        if len(self.names) != len(self.mean):
            self.names = self.names[:1] * (len(self.mean) == 1) or [
                f"{self.name}{i + 1}" for i in range(len(self.mean))
            ]
        if (self.std == 0).any():
            k = int(np.argmax(self.std == 0))
            raise DataError(
                f"all rows have the same {self.names[k]}, so there is nothing to learn",
                where=where,
                got=self.mean[k],
                remedy="name the column of the numbers with --label",
            )
        low, high = found.min(0), found.max(0)
        return [
            f"{name}: mean {m:.4g}, standard deviation {s:.4g}, from {a:.4g} to {b:.4g} in train"
            for name, m, s, a, b in zip(self.names, self.mean, self.std, low, high)
        ]

    def invent(self, *, vocab: int, classes: int) -> None:
        self.names, self.mean, self.std = [self.name], np.zeros(1), np.ones(1)

    def values(self, column: Numbers, progress: Progress | None = None) -> Numbers:
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
            {"names": self.names, "mean": self.mean.tolist(), "std": self.std.tolist()},
        )

    def load(self, folder: Path) -> None:
        stored = read_json(folder / FILE)
        try:
            self.names = [str(name) for name in stored["names"]]
            self.mean, self.std = (np.array(stored[k], dtype=np.float64) for k in ("mean", "std"))
            fits = self.mean.shape == self.std.shape == (len(self.names),)
            fine = fits and np.isfinite(self.mean).all() and (self.std > 0).all()
        except (KeyError, TypeError, ValueError):
            fine = False
        if not fine:
            raise RunError(
                "not the names, means and deviations of numbers", where=folder / FILE, remedy=AGAIN
            )
