"""Tables that are written: rows of cells in, a file in the format of its ending out.

CSV and TSV are written row by row. Cells of Excel and Parquet are numbers where a column holds
nothing else; texts stay texts, also those that begin with = .
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Protocol

from unspool.errors import DataError, visible

DELIMITERS = {".csv": ",", ".tsv": "\t"}
EXCEL, PARQUET = ".xlsx", ".parquet"
BINARY = (EXCEL, PARQUET)
ENDINGS = (*DELIMITERS, *BINARY)
MOST_ROWS = 1 << 20  # of a sheet, by the format


class TableWriter(Protocol):
    def writerows(self, rows: Iterable[list[Any]], /) -> Any:
        """The first row is the header."""


class TypedTable:
    """Collects rows, and writes them as typed columns in the end."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.rows: list[list[Any]] = []

    def writerows(self, rows: Iterable[list[Any]], /) -> None:
        self.rows += rows

    def finish(self, file: IO[bytes]) -> None:
        header, *rows = self.rows or [[]]
        columns = [typed(cells) for cells in zip(*rows)] or [[] for _ in header]
        write = write_excel if self.out.suffix.lower() == EXCEL else write_parquet
        write(header, columns, file, self.out)


def table_writer(out: Path | None, file: Any, delimiter: str | None) -> TableWriter:
    """`delimiter`: of the table that was read, which a .csv is written with."""
    ending = out.suffix.lower() if out is not None else ""
    if out is not None and ending in BINARY:
        return TypedTable(out)
    usual = DELIMITERS.get(ending, ",")
    used = delimiter if delimiter and ending == ".csv" else usual
    return csv.writer(file, delimiter=used, lineterminator="\n")


def typed(cells: Iterable[Any]) -> list[Any]:
    """Cells as numbers where all that are not empty are; None of empty ones."""
    texts = [None if cell is None or cell == "" else str(cell) for cell in cells]
    for kind in (int, float):
        try:
            numbers = [None if text is None else kind(text) for text in texts]
        except ValueError:
            continue
        if all(n is None or is_written(n, t) for n, t in zip(numbers, texts)):
            return list(numbers)
    return list(texts)


def is_written(number: float, text: str | None) -> bool:
    """Whether a number says what a text does: 007 and 1_000 are names."""
    if isinstance(number, int):
        return str(number) == text and abs(number) < 2**53
    plain = str(text).lstrip("-")
    return math.isfinite(number) and "_" not in plain and (plain[:1] != "0" or plain[1:2] in ".")


def write_parquet(header: list[str], columns: list[list[Any]], file: Any, out: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise missing("pyarrow", "parquet", out) from None
    table = pyarrow.Table.from_arrays([pyarrow.array(cells) for cells in columns], names=header)
    pyarrow.parquet.write_table(table, file)


def write_excel(header: list[str], columns: list[list[Any]], file: Any, out: Path) -> None:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError:
        raise missing("openpyxl", "excel", out) from None
    rows = max(map(len, columns), default=0) + 1
    if rows > MOST_ROWS:
        raise DataError(
            f"a sheet has at most {MOST_ROWS:,} rows",
            where=out,
            got=f"{rows:,}",
            remedy="write a .csv or .parquet file",
        )
    book = Workbook(write_only=True)
    sheet = book.create_sheet()

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(sheet, visible(value))
        made.data_type = "s"  # also of what looks like a formula
        return made

    for row in [header, *zip_longest(*columns)]:
        sheet.append([cell(value) for value in row])
    book.save(file)


def missing(package: str, extra: str, out: Path) -> DataError:
    return DataError(
        f"{out.suffix} files are written by {package}, which is not installed",
        where=out,
        remedy=f"pip install 'unspool[{extra}]', or write a .csv file",
    )
