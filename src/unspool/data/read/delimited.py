"""Tables: fields between commas (or semicolons, bars) or tabs, perhaps with a header."""

from __future__ import annotations

import csv
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from unspool.config import DataConfig
from unspool.data.read.columns import has_header, known_pair, listed_names
from unspool.data.read.files import OF_PATHS, Report, TextFile
from unspool.data.read.numerals import Numerals, find_numerals
from unspool.data.read.reader import SAMPLE, Column, Reader, Row, refuse_empty
from unspool.errors import DataError

csv.field_size_limit(1 << 30)  # the default of 131,072 is too short for a long document


class Dialect(NamedTuple):
    """How fields are separated, and whether they may be quoted."""

    delimiter: str
    quoted: bool


class Cells(Reader):
    """A table. A header is what the settings, known names or the first rows make one."""

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        file = files[0]
        self.prepare(file, data)
        rows = [fields for _, fields in islice(self.cells(file), SAMPLE + 1)]
        if not rows:
            refuse_empty(file)
            raise DataError(
                "the table has no rows", where=file.name, remedy="name a file with rows"
            )
        first, self.width = [cell.strip() for cell in rows[0]], len(rows[0])
        rows = [row for row in rows if len(row) == self.width]  # `read` refuses the others
        options = [data.text, data.label, data.source, data.target, data.series]
        options += [name for name in (data.time, data.id) if name not in ("auto", "none")]
        asked = [
            name
            for option in options
            for name in listed_names(option)
            if len(files) == 1 or not OF_PATHS.fullmatch(name)
        ]
        usual = [n for names in data.columns.values() for n in names if not n.isdigit()]
        self.header = (
            data.header
            if data.header is not None
            else known_pair(first) is not None or has_header(rows, asked=asked, usual=usual)
        )
        body = rows[1:] if self.header else rows
        if not body:
            raise DataError(
                "the table has a header and no rows",
                where=file.name,
                remedy="add rows, or set header=false if the first row is data",
            )
        names = first if self.header else [str(i + 1) for i in range(self.width)]
        samples = [[row[i].strip() for row in body[:SAMPLE]] for i in range(self.width)]
        self.numerals = {
            i: found
            for i, (name, cells) in enumerate(zip(names, samples))
            if (found := find_numerals(name, cells, self.delimiter, data.decimal)) is not None
        }
        self.columns = [
            Column(name, i, [self.cell(i, cell) for cell in samples[i]])
            for i, name in enumerate(names)
        ]
        if self.numerals:
            self.remark = numbers_remark(names, self.numerals)

    def cell(self, number: int, cell: str) -> str:
        """A cell of a column without white space, a number as Python writes it."""
        style = self.numerals.get(number)
        return cell.strip() if style is None else style.plain(cell.strip())

    @property
    def delimiter(self) -> str:
        """What stands between cells, or nothing."""
        return ""

    @abstractmethod
    def prepare(self, file: TextFile, data: DataConfig) -> None:
        """Find out how the cells are read."""

    @abstractmethod
    def cells(
        self, file: TextFile, report: Report | None = None
    ) -> Iterator[tuple[int, list[str]]]:
        """(line, fields) of every row that is not blank, a header included."""

    @property
    def options(self) -> dict[str, Any]:
        styles = {str(i): style for i, style in self.numerals.items()}
        return {"header": self.header, "width": self.width, "numerals": styles}

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        rows = self.cells(file, report)
        if self.header:
            next(rows, None)
        for line, fields in rows:
            if len(fields) != self.width:
                raise DataError(
                    f"expected {self.width} columns, found {len(fields)}",
                    where=f"{file.name}:{line}",
                    remedy="quote fields that hold the delimiter or a line end, or mend the row",
                )
            if self.numerals:
                yield Row(tuple(self.cell(i, fields[i]) for i in numbers), line)
            else:
                yield Row(tuple(fields[i].strip() for i in numbers), line)


class Delimited(Cells):
    """Fields between delimiters."""

    def prepare(self, file: TextFile, data: DataConfig) -> None:
        self.dialect = self.find_dialect(file)

    @abstractmethod
    def find_dialect(self, file: TextFile) -> Dialect: ...

    @property
    def delimiter(self) -> str:
        return self.dialect.delimiter

    @property
    def options(self) -> dict[str, Any]:
        return {**self.dialect._asdict(), **super().options}

    def cells(
        self, file: TextFile, report: Report | None = None
    ) -> Iterator[tuple[int, list[str]]]:
        return table_rows(file, self.dialect, report)


class Csv(Delimited):
    """Fields may be quoted; the delimiter is the first of `,;\\t|` in the first line."""

    title = "CSV"

    def find_dialect(self, file: TextFile) -> Dialect:
        first = next((line for line in file.lines() if line.strip()), "")
        return Dialect(next((mark for mark in ",;\t|" if mark in first), ","), quoted=True)


class Tsv(Delimited):
    """Fields are quoted if the quotes read well that way; otherwise a quotation mark is just a
    character of the text."""

    title = "TSV"

    def find_dialect(self, file: TextFile) -> Dialect:
        opened = any('\t"' in line or line.startswith('"') for line in islice(file.lines(), SAMPLE))
        quoted = Dialect("\t", quoted=True)
        return quoted if opened and _reads_well(file, quoted) else Dialect("\t", quoted=False)


def numbers_remark(names: Sequence[str], numerals: Mapping[int, Numerals]) -> str:
    """`decimal commas in 'price' (--set decimal=point)`"""
    said = []
    for mark, what, other in (
        (",", "decimal commas", "point"),
        (".", "commas between thousands", "comma"),
    ):
        own = [repr(names[i]) for i, style in numerals.items() if style.decimal == mark]
        if own:
            listed = ", ".join(own[:3]) + (", ..." if len(own) > 3 else "")
            said.append(f"{what} in {listed} (--set decimal={other} for the other way)")
    return ", ".join(said)


def _reads_well(file: TextFile, dialect: Dialect) -> bool:
    """Whether the first rows have no stray quote and all the same width."""
    try:
        rows = islice(table_rows(file, dialect), SAMPLE)
        return len({len(fields) for _, fields in rows}) == 1
    except DataError:
        return False


def table_rows(
    file: TextFile, dialect: Dialect, report: Report | None = None
) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of every row that is not blank; a quoted field may hold line ends."""
    reader = csv.reader(
        file.lines(report),
        delimiter=dialect.delimiter,
        quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE,
        strict=True,
    )
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        open_quote = "unexpected end" in str(error)
        raise DataError(
            "a quote is opened and never closed" if open_quote else f"malformed quotes ({error})",
            where=f"{file.name}:{line}",
            remedy='close it, and write a quote inside a quoted field as ""',
        ) from None
