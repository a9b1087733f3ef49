"""A sheet of an Excel file, as a table of cells in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unspool.config import DataConfig
from unspool.data.read.delimited import Cells
from unspool.data.read.files import Report, TextFile
from unspool.errors import DataError, Setting, nearest


class Excel(Cells):
    """The first sheet, or the one that `sheet` names. Rows without any value are no rows."""

    name = "excel"
    suffixes = (".xlsx", ".xlsm")
    title = "Excel"
    binary = True

    def prepare(self, file: TextFile, data: DataConfig) -> None:
        names = open_workbook(file).sheetnames
        self.sheet = names[0] if data.sheet is None else data.sheet
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

    @property
    def options(self) -> dict[str, Any]:
        return {"sheet": self.sheet, **super().options}

    def cells(self, file: TextFile, report: Report = None) -> Iterator[tuple[int, list[str]]]:
        book = open_workbook(file)
        try:
            width = 0
            for line, row in enumerate(rows_of(book, self.sheet, file), start=1):
                fields = [cell_text(value) for value in row]
                if not any(fields):
                    continue
                if not width:  # a first row that ends in empty cells ends before them
                    width = max(i + 1 for i, field in enumerate(fields) if field)
                    first = fields[:width]
                    yield line, first
                    continue
                used = max(i + 1 for i, field in enumerate(fields) if field)
                yield line, (fields + [""] * width)[: max(width, used)]
        finally:
            book.close()


def rows_of(book: Any, sheet: str, file: TextFile) -> Iterator[tuple[Any, ...]]:
    """The rows of a sheet as they are parsed, whatever size it claims to have."""
    try:
        book[sheet].reset_dimensions()
        yield from book[sheet].iter_rows(values_only=True)
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
    try:
        return load_workbook(file.unpacked(), read_only=True, data_only=True)
    except DataError:
        raise
    except Exception as error:  # it raises whatever its parsers do
        raise damaged(error, file) from None


def damaged(error: Exception, file: TextFile) -> DataError:
    reason = str(error).partition("\n")[0] or type(error).__name__
    return DataError(
        f"is not an Excel file that can be read ({reason})",
        where=file.name,
        remedy="save it again as .xlsx or as CSV",
    )
