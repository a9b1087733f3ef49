"""Topics over time: the dates of documents in, the share of each topic in each period out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from unspool.data.read import Column, Table
from unspool.data.read.columns import plain
from unspool.data.values import DAYS, is_missing, is_of, seconds, shown_format
from unspool.errors import DataError, Option, Setting

YEAR = "%Y"
NAMES = ("date", "datetime", "timestamp", "time", "day", "created", "created_at", "published")
MOST_PERIODS = 40
UNITS = ("day", "week", "month", "quarter", "year", "decade")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DateColumn(NamedTuple):
    """A column, and the format of its dates."""

    column: Column
    format: str

    def time(self, cell: Any) -> float:
        """Seconds since 1970; NaN where there is none."""
        return math.nan if is_missing(cell) else seconds(str(cell).strip(), self.format)

    def note(self) -> str:
        """Note on how dates are read, and how else they could be."""
        line = f"dates: column {self.column.name!r}, {shown_format(self.format)}"
        cells = [cell for cell in self.column.sample if not is_missing(cell)]
        forms = [form for form in DAYS if all(is_of(cell, form) for cell in cells)]
        if forms and forms != [self.format]:
            other = next(form for form in forms if form != self.format)
            line += f"; {Setting(date_format=other)} reads them otherwise"
        return line


def find_dates(table: Table, requested: str | None, form: str) -> DateColumn | None:
    """The column asked for; if none is named, the one that holds dates, by its name where several
    do."""
    if requested == "none":
        return None
    if requested is not None:
        column = table.column(requested, option="date")
        format_ = _format(column, form)
        if format_ is None:
            raise DataError(
                f"column {column.name!r} holds no dates",
                where=table.name,
                got=next((str(cell) for cell in column.sample if not is_missing(cell)), "nothing"),
                remedy=(
                    "name another with ",
                    Option("date"),
                    ", or their format as in ",
                    Setting(date_format="%d/%m/%Y"),
                ),
            )
        return DateColumn(column, format_)
    dated = [
        DateColumn(column, format_)
        for column in table.columns
        if (format_ := _format(column, form, named=False)) is not None
    ]
    return min(dated, key=lambda dates: _rank(dates.column.name), default=None)


def _rank(name: str) -> int:
    return NAMES.index(plain(name)) if plain(name) in NAMES else len(NAMES)


def _format(column: Column, form: str, *, named: bool = True) -> str | None:
    """`named`: the column was asked for, so four digits are years whatever it is called."""
    if form != "auto":
        dated = [cell for cell in column.sample if not is_missing(cell)]
        return form if dated and all(is_of(cell, form) for cell in dated) else None
    if named or plain(column.name) == "year":
        cells = [str(cell).strip() for cell in column.sample if not is_missing(cell)]
        if cells and all(len(cell) == 4 and cell.isdecimal() for cell in cells):
            return YEAR
    return column.profile.date_format


class OverTime(NamedTuple):
    """periods   names of P periods, the first first; such as 2024-05
    shares       (P, K) mean share of each topic in the documents of a period
    documents    (P,) how many they are
    undated      documents without a date"""

    unit: str
    periods: list[str]
    shares: np.ndarray
    documents: np.ndarray
    undated: int

    def to_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "undated": self.undated,
            "periods": [
                {"period": name, "documents": int(n), "shares": [round(s, 4) for s in row]}
                for name, n, row in zip(self.periods, self.documents, self.shares.tolist())
            ],
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> OverTime:
        rows = stored["periods"]
        return cls(
            stored["unit"],
            [row["period"] for row in rows],
            np.array([row["shares"] for row in rows]),
            np.array([row["documents"] for row in rows]),
            stored["undated"],
        )


def over_time(times: np.ndarray, shares: np.ndarray) -> OverTime | None:
    """times (N,) in seconds, NaN where unknown, and shares (N, K), in the smallest unit that gives
    at most MOST_PERIODS periods; documents without a topic are not counted. None without dates."""
    known = ~np.isnan(times) & (shares.sum(1) > 0)
    if not known.any():
        return None
    dates = [EPOCH + timedelta(seconds=t) for t in times[known].tolist()]
    unit, names = _smallest_unit(dates)
    order, number = np.unique(names, return_inverse=True)
    count = np.bincount(number)
    total = np.zeros((len(order), shares.shape[1]))
    np.add.at(total, number, shares[known])
    return OverTime(unit, order.tolist(), total / count[:, None], count, int(np.isnan(times).sum()))


def _smallest_unit(dates: Sequence[datetime]) -> tuple[str, list[str]]:
    for unit in UNITS:
        names = [period(date, unit) for date in dates]
        if len(set(names)) <= MOST_PERIODS or unit == UNITS[-1]:
            break
    return unit, names


def period(date: datetime, unit: str) -> str:
    """The name of the period of a date, such that names are in the order of time."""
    if unit == "day":
        return f"{date:%Y-%m-%d}"
    if unit == "week":
        year, week, _ = date.isocalendar()
        return f"{year:04}-W{week:02}"
    if unit == "month":
        return f"{date.year:04}-{date.month:02}"
    if unit == "quarter":
        return f"{date.year:04}-Q{(date.month + 2) // 3}"
    return f"{date.year:04}" if unit == "year" else f"{date.year // 10 * 10:04}s"
