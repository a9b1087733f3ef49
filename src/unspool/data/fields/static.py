"""Static columns: values that a series has as a whole. Raw values in, a vector out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unspool.data.values import is_missing, is_number
from unspool.errors import DataError, Option

MOST = 1000  # categories of a column


@dataclass
class StaticColumn:
    """categories   by their position in the one-hot vector; empty: a number, scaled by
    mean, std
    """

    name: str
    categories: list[str] = field(default_factory=list)
    mean: float = 0.0
    std: float = 1.0

    @property
    def size(self) -> int:
        return len(self.categories) or 1

    @property
    def inputs(self) -> list[str]:
        return [f"{self.name} {category}" for category in self.categories] or [self.name]

    def fit(self, values: Sequence[Any], where: str) -> None:
        seen = [value for value in values if not is_missing(value)]
        if not seen:
            raise DataError(f"the static column {self.name!r} is empty", where=where)
        if all(map(is_number, seen)):
            numbers = np.array([float(value) for value in seen])
            self.mean, self.std = float(numbers.mean()), float(numbers.std()) or 1.0
            return
        self.categories = list(dict.fromkeys(str(value).strip() for value in seen))
        if len(self.categories) > MOST:
            raise DataError(
                f"the static column {self.name!r} has {len(self.categories):,} categories, and at"
                f" most {MOST:,} are told apart",
                where=where,
                remedy=("leave it out of ", Option("static"), ", or give groups of them"),
            )

    def vector(self, value: Any, where: str) -> np.ndarray:
        """(size,) zeros where the value is missing"""
        x = np.zeros(self.size, np.float32)
        if is_missing(value):
            return x
        if not self.categories:
            if not is_number(value):
                raise DataError(
                    f"the static column {self.name!r} holds no number",
                    where=where,
                    got=value,
                    remedy="correct it, or leave it empty",
                )
            x[0] = (float(value) - self.mean) / self.std
            return x
        name = str(value).strip()
        if name not in self.categories:
            raise DataError(
                f"the static column {self.name!r} holds a category that was not met in training",
                where=where,
                got=name,
                remedy="leave the cell empty to go without it",
            )
        x[self.categories.index(name)] = 1
        return x


def static_vectors(
    columns: Sequence[StaticColumn], rows: Sequence[Sequence[Any]], where: Any
) -> np.ndarray:
    """(N, S) of the raw values of N series; where(i) is that of series i, for a message"""
    size = sum(column.size for column in columns)
    x = np.zeros((len(rows), size), np.float32)
    for i, row in enumerate(rows):
        if len(row) != len(columns):
            raise DataError(
                f"the model reads {', '.join(column.name for column in columns)} of each series,"
                " and this one has none",
                where=where(i),
                remedy="give a table with these columns",
            )
        parts = [column.vector(value, where(i)) for column, value in zip(columns, row)]
        x[i] = np.concatenate([*parts, np.zeros(0, np.float32)])
    return x
