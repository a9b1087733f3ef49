"""Lines as the steps of a series that a model knows: text in, a `Recording` of one step out."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np

from unspool.data.read.columns import known
from unspool.data.read.layout import ID_NAMES
from unspool.data.read.reader import Column
from unspool.data.read.recording import Parser, Recording, step_of
from unspool.data.read.time_columns import TIME_NAMES
from unspool.data.values import ISO, is_number
from unspool.errors import DataError, choose

DELIMITERS = (",", "\t", ";")


class StepLines:
    """Cells with commas, tabs or semicolons between them, or else spaces.

    The first line may name its columns; those of the channels, of a time and of an id are then
    found by name. Otherwise they are the channels in their order, perhaps with a time before them.

    time, id      the names of their columns
    date_format   of the times, if they have it
    """

    def __init__(
        self,
        channels: Sequence[str],
        *,
        time: str | None = None,
        id: str | None = None,
        date_format: str = ISO,
    ) -> None:
        self.channels, self.time, self.id = list(channels), time, id
        self.date_format = date_format
        self.columns: list[int] | None = None  # of the channels; None before the first line
        self.time_column: int | None = None
        self.id_column: int | None = None
        self.width = 0
        self.parser = Parser(self.channels)

    def read(self, line: str, where: str) -> Recording:
        """One step, called by its id; none where the line names the columns."""
        try:
            cells = cells_of(line)
        except csv.Error as error:
            raise DataError(
                f"is not a row of cells ({error})",
                where=where,
                got=line.strip(),
                remedy=f"give {', '.join(self.channels[:8])}, with commas between them",
            ) from None
        if self.columns is None and self._begin(cells, where):
            return Recording(np.empty((0, len(self.channels)), np.float32))
        if len(cells) != self.width:
            raise DataError(
                f"has {len(cells)} cells, and a step has {self.width}",
                where=where,
                got=line.strip(),
                remedy=f"give {', '.join(self.channels[:8])}, with commas between them",
            )
        assert self.columns is not None
        step = self.parser.values([cells[i] for i in self.columns], where)
        values = np.array([step], np.float32)
        name = "" if self.id_column is None else cells[self.id_column].strip()
        if self.time_column is None:
            return Recording(values, name=name)
        times = [cells[self.time_column]]
        column = self.time or "time"
        return step_of(values, times, self.date_format, where, column=column, name=name)

    def _begin(self, cells: list[str], where: str) -> bool:
        """Find the columns by the first line; whether it has their names."""
        names = [cell.strip() for cell in cells]
        self.width = len(cells)
        if set(self.channels) & set(names) and not all(map(is_number, names)):
            for name in self.channels:
                choose("channel", name, names, where=where)
            self.columns = [names.index(name) for name in self.channels]
            rest = [name for name in names if name not in self.channels]
            self.time_column = find_column(self.time, TIME_NAMES, names, rest, where)
            self.id_column = find_column(self.id, ID_NAMES, names, rest, where)
            return True
        extra = len(cells) - len(self.channels)
        if extra not in (0, 1):
            raise DataError(
                f"has {len(cells)} cells, and the model was trained on {len(self.channels)}"
                " channels",
                where=where,
                got=" ".join(names),
                remedy=f"give {', '.join(self.channels[:8])}, perhaps with a time before them, or"
                " their names in the first line",
            )
        self.columns = list(range(extra, len(cells)))
        self.time_column = 0 if extra else None
        return False


def find_column(
    requested: str | None, usual: Sequence[str], names: list[str], rest: list[str], where: str
) -> int | None:
    """The column of the name that was asked for, or else among the `rest` of a usual name."""
    if requested == "none":
        return None
    if requested is not None:
        return names.index(choose("column", requested, names, where=where))
    column = known([Column(name, i, []) for i, name in enumerate(rest)], usual)
    return None if column is None else names.index(column.name)


def cells_of(line: str) -> list[str]:
    line = line.strip("\r\n")
    delimiter = next((mark for mark in DELIMITERS if mark in line), None)
    if delimiter is None:
        return line.split()
    return next(csv.reader([line], delimiter=delimiter))
