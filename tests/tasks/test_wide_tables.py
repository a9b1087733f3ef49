"""The time of planning and checking a table grows with its columns, not with their square."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unspool.api.check import check

ROWS = 12
FEW, MANY = 100, 400
LARGEST = 1.25  # of the number of calls a column: with its square it would be 4


def texts(columns: int) -> Iterator[list[str]]:
    yield ["label", "text", *(f"c{i}" for i in range(columns))]
    for row in range(2 * ROWS):
        cells = ("red" if (i + row) % 3 else "blue" for i in range(columns))
        yield ["ab"[row % 2], f"some words of row {row}", *cells]


def steps(columns: int) -> Iterator[list[str]]:
    yield ["label", *(f"V{i}" for i in range(columns))]
    for row in range(ROWS):
        yield ["ab"[row % 2], *(f"{(i * row) % 7 - 0.5}" for i in range(columns))]


def channels(columns: int) -> Iterator[list[str]]:
    yield ["date", *(f"s{i}" for i in range(columns))]
    for row in range(2 * ROWS):
        yield [f"2024-01-{row + 1:02}", *(f"{(i * row) % 7 - 0.5}" for i in range(columns))]


def groups(columns: int) -> Iterator[list[str]]:
    """Series by two columns of many that repeat numbers."""
    yield ["date", "store", "item", *(f"k{i}" for i in range(columns))]
    for row in range(6 * ROWS):
        day, store, item = 1 + row // 4, row // 2 % 2, row % 2
        numbers = ((i * row) % 3 for i in range(columns))
        yield list(map(str, (f"2024-01-{day:02}", store, item, *numbers)))


def calls(path: Path) -> int:
    """Python calls of a check: what grows with the square of the columns makes most of them."""
    count = 0

    def profile(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(profile)
    try:
        check(path)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("table", [texts, steps, channels, groups], ids=lambda t: t.__name__)
def test_wide_table(table: Callable[[int], Iterator[list[str]]], tmp_path) -> None:
    counts = {}
    for columns in (5, FEW, MANY):  # the first call also imports
        path = tmp_path / f"{columns}.csv"
        path.write_text("".join(",".join(row) + "\n" for row in table(columns)))
        counts[columns] = calls(path)
    assert counts[MANY] / MANY < LARGEST * counts[FEW] / FEW
