"""Tables that are written: rows of cells in, a file in the format of its ending out.

CSV and TSV are written row by row. Cells of Excel and Parquet are numbers where a column holds
nothing else; texts stay texts, also those that begin with = .
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Protocol

from unspool.errors import DataError, visible

DELIMITERS = {".csv": ",", ".tsv": "\t"}
EXCEL, PARQUET = ".xlsx", ".parquet"
BINARY = (EXCEL, PARQUET)
PACKAGES = {EXCEL: ("openpyxl", "excel"), PARQUET: ("pyarrow", "parquet")}  # and their extras
ENDINGS = (*DELIMITERS, *BINARY)
GROUP = 1 << 16  # rows of a row group of Parquet
MOST_ROWS = 1 << 20  # of a sheet, by the format


class TableWriter(Protocol):
    def writerows(self, rows: Iterable[list[Any]], /) -> Any:
        """The first row is the header."""


class RowLines:
    """Writes rows as lines of JSON, for `convert_rows`."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def writerows(self, rows: Iterable[list[Any]], /) -> None:
        self.file.writelines(f"{json.dumps(row, default=str)}\n" for row in rows)


def table_writer(ending: str, file: Any, delimiter: str | None) -> TableWriter:
    """`delimiter`: of the table that was read, which a .csv is written with."""
    if ending in BINARY:
        return RowLines(file)
    usual = DELIMITERS.get(ending, ",")
    used = delimiter if delimiter and ending == ".csv" else usual
    return csv.writer(file, delimiter=used, lineterminator="\n")


def convert_rows(lines: Path, made: Path, out: Path) -> None:
    """Rows as `RowLines` writes them to a Parquet or Excel file, read twice: for the types of the
    columns, and for the cells. `out` is the file of which messages speak."""
    kinds, rows = column_kinds(rows_in(lines)), rows_in(lines)
    header = next(rows, [])
    typed = ([as_kind(cell, kind) for cell, kind in zip(row, kinds)] for row in rows)
    write = write_excel if out.suffix.lower() == EXCEL else write_parquet
    write(header, kinds, typed, made, out)


def rows_in(lines: Path) -> Iterator[list[Any]]:
    with open(lines, encoding="utf-8") as file:
        yield from map(json.loads, file)


def column_kinds(rows: Iterator[list[Any]]) -> list[type]:
    """Find the type of each column: int, float, or str where a cell is no such number."""
    kinds: list[type] = [int] * len(next(rows, []))
    for row in rows:
        for i, cell in enumerate(row):
            while kinds[i] is not str and not is_written(cell, kinds[i]):
                kinds[i] = float if kinds[i] is int else str
    return kinds


def as_kind(cell: Any, kind: type) -> Any:
    return None if cell is None or cell == "" else kind(cell)


def is_written(cell: Any, kind: type) -> bool:
    """Whether a number says what a cell does: 007 and 1_000 are names."""
    if cell is None or cell == "":
        return True
    text = str(cell)
    try:
        number = kind(text)
    except ValueError:
        return False
    if kind is int:
        return str(number) == text and abs(number) < 2**53
    plain = text.lstrip("-")
    return math.isfinite(number) and "_" not in plain and (plain[:1] != "0" or plain[1:2] in ".")


def require_writer(out: Path) -> None:
    """Raise an error where the package is missing that writes such a file."""
    package, extra = PACKAGES.get(out.suffix.lower(), ("csv", ""))
    if find_spec(package) is None:
        raise DataError(
            f"{out.suffix} files are written by {package}, which is not installed",
            where=out,
            remedy=f"pip install 'unspool[{extra}]', or write a .csv file",
        )


def write_parquet(
    header: list[str], kinds: list[type], rows: Iterator[list[Any]], made: Path, out: Path
) -> None:
    import pyarrow
    import pyarrow.parquet

    types = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in zip(header, kinds)])
    with pyarrow.parquet.ParquetWriter(made, schema) as writer:
        while group := list(islice(rows, GROUP)):
            columns = [pyarrow.array(cells, types[kind]) for cells, kind in zip(zip(*group), kinds)]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))


def write_excel(
    header: list[str], kinds: list[type], rows: Iterator[list[Any]], made: Path, out: Path
) -> None:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet()

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = WriteOnlyCell(sheet, visible(value))
        text.data_type = "s"  # also of what looks like a formula
        return text

    for number, row in enumerate(chain([header], rows)):
        if number == MOST_ROWS:
            raise DataError(
                f"a sheet has at most {MOST_ROWS:,} rows",
                where=out,
                remedy="write a .csv or .parquet file",
            )
        sheet.append([cell(value) for value in row])
    book.save(made)
