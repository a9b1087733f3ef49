"""Tables: fields between commas (or semicolons, bars) or tabs, perhaps with a header."""

from __future__ import annotations

import csv
import io
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from unspool.config import DataConfig
from unspool.data.profile import label_like
from unspool.data.read.columns import (
    KNOWN_NAMES,
    LONGEST_NAME,
    fitted,
    has_header,
    known_pair,
    listed_names,
    plain,
    rows_above,
    rows_below,
    table_width,
    unique_names,
)
from unspool.data.read.files import OF_PATHS, Report, TextFile
from unspool.data.read.media import medium_of
from unspool.data.read.plain import looks_labelled
from unspool.data.read.reader import (
    SAMPLE,
    Change,
    Column,
    FileHead,
    Match,
    Reader,
    Row,
    Shape,
    one_line,
)
from unspool.data.values import Numerals, find_numerals, is_number
from unspool.errors import DataError, Setting

SEPARATOR = re.compile(r"sep=(.)", re.IGNORECASE)  # the first line of some files for Excel

FEWEST_NUMBERS = 3  # columns of a table of numbers

CELL_BYTES = 100  # in memory, of a cell that is looked at
csv.field_size_limit(1 << 25)  # the default of 131,072 is too short for a long document


class Dialect(NamedTuple):
    """The delimiter of fields, and whether these may be quoted."""

    delimiter: str
    quoted: bool


class Cells(Reader):
    """A table. A header is what the settings, known names or the first rows make one.

    mark           delimiter by which such files are recognised
    dialect        in which cells are written; None where they are no text
    above, below   rows next to the header that are neither it nor data
    headings       cells of the first row below
    """

    shape = Shape.TABLE
    mark: ClassVar[str] = ""
    dialect: Dialect | None = None
    above = below = 0
    headings: Sequence[str] = ()
    numerals: Mapping[int, Numerals] = {}

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        file = files[0]
        self.prepare(file, data)
        rows = [fields for _, fields in islice(self.cells(file), SAMPLE + 1)]
        if not rows:
            file.refuse_empty()
            raise DataError(
                "the table has no rows", where=file.name, remedy="name a file with rows"
            )
        options = [data.text, data.label, data.source, data.target, data.series]
        options += [name for name in (data.time, data.id) if name not in ("auto", "none")]
        requested = [
            name
            for option in options
            for name in listed_names(option)
            if len(files) == 1 or not OF_PATHS.fullmatch(name)
        ]
        usual = [n for names in data.columns.values() for n in names if not n.isdigit()]

        def is_header(rows: Sequence[Sequence[str]]) -> bool:
            first = [cell.strip() for cell in rows[0]]
            return known_pair(first) is not None or has_header(rows, asked=requested, usual=usual)

        if len(files) == 1 and data.header is None:
            self.above = rows_above(rows, is_header)
            self.below = rows_below(rows[self.above :])
            under = rows[self.above + 1 : self.above + 2]
            self.headings = [cell.strip() for cells in under for cell in cells if cell.strip()]
            rows = [*rows[self.above : self.above + 1], *rows[self.above + self.below + 1 :]]
        self.width = table_width(rows[0], rows)
        cells = self.width * min(SAMPLE, len(rows))
        file.allowance().hold(CELL_BYTES * cells, f"{self.width:,} columns")
        first = [cell.strip() for cell in rows[0][: self.width]]
        rows = [fitted(row, self.width) for row in rows]
        rows = [row for row in rows if len(row) == self.width]  # `read` refuses the others
        self.refuse_rows_in_cells(file, rows)
        self.header = data.header if data.header is not None else self.below > 0 or is_header(rows)
        self.names = first if self.header else [str(i + 1) for i in range(self.width)]
        body = rows[1:] if self.header else rows
        if not body:
            for _ in self.read(file, [], None):  # which refuses rows of another width
                pass
            raise DataError(
                "the table has a header and no rows",
                where=file.name,
                remedy="add rows, or set header=false if the first row is data",
            )
        names = unique_names(self.names)
        samples = [[row[i].strip() for row in body[:SAMPLE]] for i in range(self.width)]
        delimiter = "" if self.dialect is None else self.dialect.delimiter
        self.numerals = {
            i: style
            for i, (name, cells) in enumerate(zip(names, samples))
            if (style := find_numerals(name, cells, delimiter, data.decimal)) is not None
        }
        self.columns = [
            Column(name, i, [self.cell(i, cell) for cell in samples[i]])
            for i, name in enumerate(names)
        ]
        remarks = [self.remark, self._around(names), numbers_remark(names, self.numerals)]
        self.remark = ", ".join(filter(None, remarks))

    def _around(self, names: Sequence[str]) -> str:
        """Remark about rows and names that are not taken as they stand."""
        remarks = []
        if self.above:
            remarks.append(
                f"{how_many(self.above)} above the header left out ({Setting(header=True)}: none)"
            )
        if self.below:
            shown = ", ".join(cell[:LONGEST_NAME] for cell in self.headings[:3])
            remarks.append(
                f"{how_many(self.below)} of headings below the header left out ({shown};"
                f" {Setting(header=True)}: none)"
            )
        again = [new for new, name in zip(names, self.names) if new != name]
        if again:
            remarks.append(f"of columns of one name the later ones are {', '.join(again[:3])}")
        return ", ".join(remarks)

    def refuse_rows_in_cells(self, file: TextFile, rows: Sequence[Sequence[str]]) -> None:
        """A table that was written into the first column of another one."""
        lines = [row[0] for row in rows] if self.width == 1 else []
        if "," not in lines[0] if lines else True:
            return
        widths = {len(cells) for cells in csv.reader(lines)}
        if len(widths) == 1 and has_header([next(csv.reader(lines[:1]))], asked=()):
            raise DataError(
                "every row is one cell that holds a whole row",
                where=file.name,
                got=lines[0],
                remedy="remove the quotes around whole rows",
            )

    def cell(self, number: int, cell: str) -> str:
        """A cell of a column without white space, a number as Python writes it."""
        style = self.numerals.get(number)
        return cell.strip() if style is None else style.plain(cell.strip())

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        if not cls.mark:
            return Match.NO
        if _has_known_names(head, cls.mark) or _holds_numbers(head.lines, cls.mark):
            return Match.CERTAIN
        return Match.LIKELY.when(cls.is_likely(head))

    @staticmethod
    def is_likely(head: FileHead) -> bool:
        """Whether it may be such a table although no header shows it."""
        return bool(head.data.text or head.data.label)

    @abstractmethod
    def prepare(self, file: TextFile, data: DataConfig) -> None:
        """Find out how the cells are read."""

    def cells(self, file: TextFile, report: Report = None) -> Iterator[tuple[int, list[str]]]:
        """(line, fields) of every row that is not blank, a header included."""
        assert self.dialect is not None
        return table_rows(file, self.dialect, report)

    @property
    def options(self) -> dict[str, Any]:
        styles = {str(i): style for i, style in self.numerals.items()}
        around = [self.above, self.below]
        dialect = {} if self.dialect is None else self.dialect._asdict()
        return {
            **dialect,
            "header": self.header,
            "width": self.width,
            "numerals": styles,
            "around": around,
        }

    def rewrite(self, block: str, changes: Sequence[Change]) -> str:
        assert self.dialect is not None
        delimiter, quoted = self.dialect
        quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
        read = csv.reader(io.StringIO(block), delimiter=delimiter, quoting=quoting)
        cells = next(row for row in read if row)
        for column, _, after in changes:
            cells[column.number] = after if quoted else one_line(after, delimiter)
        if not quoted:
            return delimiter.join(cells) + "\n"
        written = io.StringIO()
        csv.writer(written, delimiter=delimiter, lineterminator="\n").writerow(cells)
        return written.getvalue()

    def as_written(self) -> Reader:
        if not self.numerals:
            return self
        reader = copy(self)
        reader.numerals = {}
        return reader

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        rows = self.cells(file, report)
        for _ in islice(rows, self.above + self.header + self.below):
            pass
        for line, fields in rows:
            if len(fields) != self.width:
                fields = fitted(fields, self.width)
            if self.header and fields == self.names and self.width > 1:
                raise DataError(
                    "the header stands here again",
                    where=f"{file.name}:{line}",
                    remedy="remove the line, as of a second file that was put behind the first",
                )
            if len(fields) != self.width:
                raise DataError(
                    f"expected {self.width} columns, found {len(fields)}",
                    where=f"{file.name}:{line}",
                    remedy="quote fields that hold the delimiter or a line end, or correct the row",
                )
            if self.numerals:
                yield Row(tuple(self.cell(i, fields[i]) for i in numbers), line)
            else:
                yield Row(tuple([fields[i].strip() for i in numbers]), line)


class Csv(Cells):
    """Fields may be quoted; the delimiter is the first of `,;\\t|` in the first line by which all
    rows have as many fields, one without a space behind it if there is one."""

    name = "csv"
    suffixes = (".csv",)
    mark = ","
    title = "CSV"
    editable = True

    def prepare(self, file: TextFile, data: DataConfig) -> None:
        first = next((line for line in file.lines() if line.strip()), "")
        match = SEPARATOR.fullmatch(first.strip())
        marks = [match[1]] if match else [mark for mark in ",;\t|" if mark in first] or [","]
        if len(marks) > 1:
            fine = [mark for mark in marks if _reads_well(file, Dialect(mark, quoted=True))]
            marks = sorted(fine or marks, key=lambda mark: f"{mark} " in first)
        self.dialect = Dialect(marks[0], quoted=True)


class Tsv(Cells):
    """Fields are quoted if the quotes read well that way; otherwise quotes are part of the text."""

    name = "tsv"
    suffixes = (".tsv", ".tab")
    mark = "\t"
    title = "TSV"
    editable = True

    @staticmethod
    def is_likely(head: FileHead) -> bool:
        """Columns are requested, lines are cut alike by tabs, or files precede their labels."""
        lines = head.lines
        if head.data.text or head.data.label:
            return "\t" in lines[0]
        widths = {line.count("\t") for line in lines}
        if widths != {1}:
            return len(widths) == 1 and min(widths) > 1
        first, second = zip(*(line.split("\t") for line in lines))
        return all(map(medium_of, first)) or (label_like(second) and not looks_labelled(lines))

    def prepare(self, file: TextFile, data: DataConfig) -> None:
        opened = any('\t"' in line or line.startswith('"') for line in islice(file.lines(), SAMPLE))
        quoted = Dialect("\t", quoted=True)
        self.dialect = quoted._replace(quoted=opened and _reads_well(file, quoted))


def how_many(count: int) -> str:
    return f"{count} row{'s' * (count > 1)}"


def numbers_remark(names: Sequence[str], numerals: Mapping[int, Numerals]) -> str:
    """`decimal commas in 'price' (--set decimal=point)`"""
    remarks = []
    for mark, what, other in (
        (",", "decimal commas", "point"),
        (".", "commas between thousands", "comma"),
    ):
        columns = [
            repr(names[i])
            for i, style in numerals.items()
            if style.decimal == mark and style.thousands
        ]
        if columns:
            listed = ", ".join(columns[:3]) + (", ..." if len(columns) > 3 else "")
            remarks.append(f"{what} in {listed} ({Setting(decimal=other)} for the other way)")
    remarks += [
        f"{style.unit} left out of {names[i]!r}" for i, style in numerals.items() if style.unit
    ][:3]
    return ", ".join(remarks)


def _reads_well(file: TextFile, dialect: Dialect) -> bool:
    """Whether the first rows have no stray quote and all the same width."""
    try:
        rows = islice(table_rows(file, dialect), SAMPLE)
        return len({len(fields) for _, fields in rows}) == 1
    except DataError:
        return False


def table_rows(
    file: TextFile, dialect: Dialect, report: Report = None
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


def _has_known_names(head: FileHead, delimiter: str) -> bool:
    """Whether the first line has known or requested names, above a line of columns."""
    requested = {plain(name) for names in head.data.columns.values() for name in names}
    requested |= {plain(head.data.text)} if head.data.text else set()
    lines = head.lines
    names = {plain(name) for name in lines[0].split(delimiter)}
    known = bool(names & (KNOWN_NAMES | requested))
    return len(lines) > 1 and len(names) > 1 and delimiter in lines[1] and known


def _holds_numbers(lines: Sequence[str], delimiter: str) -> bool:
    """Whether each line has as many cells, and nearly all of them are numbers."""
    rows = [line.split(delimiter) for line in lines]
    cells = [cell.strip() for row in rows[1:] for cell in row]
    filled = [cell for cell in cells if cell]
    if min(map(len, rows)) < FEWEST_NUMBERS or len({len(row) for row in rows}) > 1:
        return False
    return sum(map(is_number, filled)) > 0.8 * len(filled)
