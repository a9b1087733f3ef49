"""Markup: tables of HTML, which some programs save as `.xls`, and the text of HTML and XML."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Any

from unspool.config import DataConfig
from unspool.data.read.columns import data_like
from unspool.data.read.delimited import Cells
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import SAMPLE, FileHead, Match, Reader, Record, Shape, sampled
from unspool.errors import DataError, Option, Setting

STARTS = ("<!doctype html", "<html", "<table", "<head", "<meta")
FED = 1 << 12  # characters that are parsed at once
LONGEST_BRACKET = 1 << 20
MOST_TABLES = 100  # within each other
MOST_CELLS = 16_384  # of a row, as in Excel
HIDDEN = {"script", "style", "teiheader"}  # elements without text to read
BLOCKS = {
    "p", "div", "br", "li", "tr", "table", "title", "section", "article", "blockquote", "pre",
    "h1", "h2", "h3", "h4", "h5", "h6", "head", "l", "lg", "lb", "ab", "sp", "item", "s",
}  # fmt: skip
ROW_BYTES, PIECE_BYTES = 200, 60  # besides cells and characters
SPAN = 1000  # rows or columns of a cell, at most
Cell = tuple[int, str]  # a line, and what stands there


class TablesParser(HTMLParser):
    """Collects the rows of all tables: (number of the table, line, cells).

    A cell over several columns or rows is repeated; a table within a cell is one of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[int, int, list[str]]] = []
        self.count = 0
        self._open: list[OpenTable] = []

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        if name == "table":
            self._open.append(OpenTable(self.count))
            if len(self._open) > MOST_TABLES:
                raise ValueError(f"more than {MOST_TABLES} tables within each other")
            self.count += 1
        elif self._open:
            table = self._open[-1]
            if name in ("td", "th"):
                table.end_cell()
                if table.cells is None:
                    table.cells, table.line = [], self.getpos()[0]
                table.begin_cell(dict(attrs))
            elif name == "tr":
                self._end_row()
                table.cells, table.line = [], self.getpos()[0]
            elif name in ("br", "p", "div", "li"):
                table.text.append(" ")

    def handle_endtag(self, name: str) -> None:
        if self._open:
            if name in ("td", "th"):
                self._open[-1].end_cell()
            elif name in ("tr", "table"):
                self._end_row()
            if name == "table":
                self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1].span is not None:
            self._open[-1].text.append(data)

    def _end_row(self) -> None:
        table = self._open[-1]
        table.end_cell()
        if table.cells:
            self.rows.append((table.number, table.line, table.cells))
        table.cells = None


class OpenTable:
    """A table that has not ended: its row, and the cells of rows above that reach into it."""

    def __init__(self, number: int) -> None:
        self.number, self.line = number, 1
        self.cells: list[str] | None = None
        self.text: list[str] = []
        self.span: tuple[int, int] | None = None  # columns and rows of the open cell
        self.below: dict[int, tuple[int, str]] = {}  # column -> rows to go, and the text

    def begin_cell(self, attrs: dict[str, str | None]) -> None:
        self.text = []
        self.span = span(attrs.get("colspan")), span(attrs.get("rowspan"))
        self._fill()

    def end_cell(self) -> None:
        if self.span is None or self.cells is None:
            return
        columns, rows = self.span
        text = " ".join("".join(self.text).split())
        for _ in range(columns):
            if rows > 1:
                self.below[len(self.cells)] = (rows - 1, text)
            self.cells.append(text)
        self.span = None
        self._fill()

    def _fill(self) -> None:
        """Repeat cells of rows above."""
        assert self.cells is not None
        while (column := len(self.cells)) in self.below:
            rows, text = self.below.pop(column)
            if rows > 1:
                self.below[column] = (rows - 1, text)
            self.cells.append(text)
        if len(self.cells) > MOST_CELLS:
            raise ValueError(f"a row of more than {MOST_CELLS:,} cells")


class TextParser(HTMLParser):
    """Collects the text between tags: (line, text), without scripts, styles and headers."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Cell] = []
        self.hidden: list[str] = []

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        if name in HIDDEN and (not self.hidden or self.hidden[-1] == name):
            self.hidden.append(name)
        self.end_block(name)

    def handle_endtag(self, name: str) -> None:
        if self.hidden and self.hidden[-1] == name:
            self.hidden.pop()
        self.end_block(name)

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.rows.append((self.getpos()[0], data))

    def unknown_decl(self, data: str) -> None:
        if data.startswith("CDATA["):
            self.handle_data(data.removeprefix("CDATA["))

    def end_block(self, name: str) -> None:
        if name in BLOCKS and not self.hidden:
            self.rows.append((self.getpos()[0], "\n"))


def span(value: str | None) -> int:
    return min(SPAN, max(1, int(value))) if value and value.isascii() and value.isdecimal() else 1


def parse(file: TextFile, parser: Any, report: Report = None) -> Iterator[Any]:
    """The rows that a parser collects, as it goes on."""
    try:
        for block in file.blocks(report):
            for start in range(0, len(block), FED):
                parser.feed(block[start : start + FED])
                if len(parser.rawdata) > LONGEST_BRACKET:
                    raise ValueError(f"more than {LONGEST_BRACKET:,} characters between < and >")
                yield from parser.rows
                parser.rows.clear()
    except (AssertionError, ValueError) as error:
        raise DataError(
            f"is not HTML or XML that can be read ({error})",
            where=f"{file.name}:{parser.getpos()[0]}",
            remedy="save it as CSV, or as plain text",
        ) from None


class HtmlTable(Cells):
    """The table that `sheet` numbers, from 1, or the one that looks most like data."""

    name = "html"
    suffixes = (".html", ".htm")
    title = "a table of HTML"

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        return Match.CERTAIN.when(head.start.lstrip()[:20].lower().startswith(STARTS))

    def prepare(self, file: TextFile, data: DataConfig) -> None:
        parser = TablesParser()
        samples: dict[int, list[list[str]]] = defaultdict(list)
        allowed = file.allowance()
        for number, _, cells in allowed.timed(parse(file, parser)):
            if len(samples[number]) <= SAMPLE:
                allowed.hold(8 * len(cells) + ROW_BYTES, f"{parser.count:,} tables")
                samples[number].append(cells)
        numbers = [number for number, rows in samples.items() if len(rows) > 1]
        if not numbers:
            raise DataError(
                "is HTML without a table of several rows",
                where=file.name,
                remedy=(Option(format="markup"), " reads its text without tags"),
            )
        choices = [str(number + 1) for number in numbers]
        if data.sheet is not None and data.sheet not in choices:
            raise DataError(
                f"has no table {data.sheet!r} of several rows among {', '.join(choices)}",
                where=file.name,
                remedy=("choose one of them with ", Setting("sheet")),
            )
        chosen = data_like([samples[number] for number in numbers])
        self.number = numbers[chosen] if data.sheet is None else int(data.sheet) - 1
        if len(numbers) > 1:
            self.remark = (
                f"table {self.number + 1} of {parser.count} (another: {Setting(sheet='NUMBER')})"
            )

    @property
    def options(self) -> dict[str, Any]:
        return {"table": self.number, **super().options}

    def cells(self, file: TextFile, report: Report = None) -> Iterator[tuple[int, list[str]]]:
        for number, line, cells in parse(file, TablesParser(), report):
            if number == self.number:
                yield line, cells


class MarkupText(Reader):
    """The text of HTML or XML without tags, a line a document."""

    name = "markup"
    shape = Shape.CORPUS
    title = "the text of HTML or XML, a line a document"

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.columns = sampled(("text",), (values for _, values in self.records(files[0])))
        if not self.columns[0].sample:
            raise DataError("holds no text", where=files[0].name, remedy="name another file")

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        begun, pieces, allowed = 1, list[str](), file.allowance()
        for line, data in parse(file, TextParser(), report):
            for below, piece in enumerate(data.split("\n")):
                if below:  # a line ends
                    if pieces:
                        yield begun, (" ".join("".join(pieces).split()),)
                    pieces, allowed.held = [], 0
                if not pieces:
                    begun = line + below
                if pieces or piece.strip():
                    allowed.hold(len(piece) + PIECE_BYTES, "a single line")
                    pieces.append(piece)
        if pieces:
            yield begun, (" ".join("".join(pieces).split()),)
