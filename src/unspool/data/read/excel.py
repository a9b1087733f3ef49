"""A sheet of an Excel file, as a table of cells in words."""

from __future__ import annotations

import csv
import functools
import io
import warnings
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from unspool.config import DataConfig
from unspool.data.read.budget import Allowance
from unspool.data.read.columns import data_like
from unspool.data.read.content import ZIP
from unspool.data.read.delimited import Cells
from unspool.data.read.files import Report, TextFile, temporary
from unspool.data.read.reader import SAMPLE, FileHead
from unspool.errors import DataError, Setting, nearest

MOST_ROWS = 1 << 20  # of a sheet, by the format
CHECKED = 100_000  # cells after which the time is looked at
XML_RATIO = 4  # bytes in memory for each of a file's XML


class Excel(Cells):
    """The sheet that `sheet` names, or the one that looks most like data. Rows without any value
    are no rows."""

    name = "excel"
    suffixes = (".xlsx", ".xlsm")
    magic = ZIP
    title = "Excel"
    binary = True

    @classmethod
    def is_signed(cls, head: FileHead) -> bool:
        try:
            with zipfile.ZipFile(head.file.path) as archive:
                return "xl/workbook.xml" in archive.namelist()
        except (OSError, zipfile.BadZipFile):
            return False

    def prepare(self, file: TextFile, data: DataConfig) -> None:
        names = open_workbook(file).sheetnames
        self.sheet = self._data_sheet(names, file) if data.sheet is None else data.sheet
        if self.sheet not in names:
            near = nearest(self.sheet, names)
            raise DataError(
                f"has no sheet {self.sheet!r} among {', '.join(names)}",
                where=file.name,
                remedy=f"did you mean sheet={near}?" if near else "choose one of them with sheet=",
            )
        if len(names) > 1:
            self.remark = (
                f"sheet {self.sheet!r} of {len(names)} (another: {Setting(sheet='NAME')}, of"
                f" {', '.join(names)})"
            )

    def _data_sheet(self, names: list[str], file: TextFile) -> str:
        if len(names) == 1:
            return names[0]
        samples = []
        for name in names:
            samples.append([cells for _, cells in islice(cells_of(file, name), SAMPLE)])
        return names[data_like(samples)]

    @property
    def options(self) -> dict[str, Any]:
        return {"sheet": self.sheet, **super().options}

    def cells(self, file: TextFile, report: Report = None) -> Iterator[tuple[int, list[str]]]:
        """Parsed once: openpyxl is slow, and data are read several times."""
        with open(spooled(file, self.sheet, *file.version()), newline="") as spool:
            for line, *fields in csv.reader(spool):
                yield int(line), fields


@functools.cache
def spooled(file: TextFile, sheet: str, size: int, changed: int) -> Path:
    """The cells of a sheet, with the number of their row before them, in a temporary CSV file."""
    path, spool = temporary("unspool-sheet-", ".csv")
    with io.TextIOWrapper(spool, newline="") as text:
        csv.writer(text).writerows((line, *fields) for line, fields in cells_of(file, sheet))
    return path


def cells_of(file: TextFile, sheet: str) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of the rows of a sheet that have any value."""
    book = open_workbook(file)
    try:
        width = 0
        for line, row in enumerate(rows_of(book, sheet, file), start=1):
            fields = [cell_text(value) for value in row]
            used = max((i + 1 for i, field in enumerate(fields) if field), default=0)
            if used:
                width = width or used  # a first row that ends in empty cells ends before them
                yield line, (fields + [""] * width)[: max(width, used)]
    finally:
        book.close()


def rows_of(book: Any, sheet: str, file: TextFile) -> Iterator[tuple[Any, ...]]:
    """The rows of a sheet as they are parsed, whatever size it claims to have."""
    allowed, cells = file.allowance(), 0
    try:
        book[sheet].reset_dimensions()
        for number, row in enumerate(book[sheet].iter_rows(values_only=True), 1):
            cells += len(row) + 1
            if cells > CHECKED:
                allowed.tick()
                cells = 0
            if number > MOST_ROWS:
                raise ValueError(f"a row is numbered above {MOST_ROWS:,}")
            longest = max((len(cell) for cell in row if isinstance(cell, str)), default=0)
            if longest > csv.field_size_limit():
                raise ValueError(f"a cell of row {number:,} has {longest:,} characters")
            yield row
    except DataError:
        raise
    except Exception as error:
        raise damaged(error, file) from None


def cell_text(value: Any) -> str:
    """Format a value as in CSV: nothing for an empty cell, 3 for 3.0."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def open_workbook(file: TextFile) -> Any:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise DataError(
            "Excel files are read by openpyxl, which is not installed",
            where=file.name,
            remedy="pip install 'unspool[excel]', or save the sheet as CSV",
        ) from None
    allowed = file.allowance()
    try:
        path = file.unpacked()
        source = TimedBytes(path.read_bytes(), allowed)  # openpyxl opens paths by their suffixes
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                allowed.hold(XML_RATIO * member.file_size, member.filename)
        with allowed.spending(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what is left out
            book = load_workbook(source, read_only=True, data_only=True)
    except DataError:
        raise
    except Exception as error:  # it raises whatever its parsers do
        raise damaged(error, file) from None
    if not book.sheetnames:
        raise damaged(ValueError("it has no sheet"), file)
    return book


class TimedBytes(io.BytesIO):
    """The content of a file; reading it looks at the time, within what parses it."""

    def __init__(self, content: bytes, allowed: Allowance) -> None:
        super().__init__(content)
        self.allowed = allowed

    def read(self, size: int | None = -1) -> bytes:
        self.allowed.tick()
        return super().read(size)


def damaged(error: Exception, file: TextFile) -> DataError:
    reason = str(error).partition("\n")[0] or type(error).__name__
    return DataError(
        f"is not an Excel file that can be read ({reason})",
        where=file.name,
        remedy="save it again as .xlsx or as CSV",
    )
