"""`.arff` of Weka: a table with the types of its columns; of sktime and the UEA archive, series in
a relational attribute.

@relation name
@attribute series relational          channels, as lines of numbers within quotes
  @attribute t0 numeric
@end series
@attribute class {standing, running}
@data
'0.1,0.2\\n1.1,1.2',standing
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import FileHead, Match, Reader, Record, Shape, sampled
from unspool.data.read.ts import plain_values
from unspool.data.values import is_number
from unspool.errors import DataError

ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.+)""", re.IGNORECASE
)
CELL = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\.)*)'\s*(?=,|$)|"((?:[^"\\]|\\.)*)"\s*(?=,|$)|([^,]*))(?:,|$)"""
)
ESCAPED = re.compile(r"\\(.)")
LETTERS = {"n": "\n", "t": "\t", "r": ""}
NUMBERS = ("numeric", "real", "integer")
RELATIONAL = "relational"


class Attribute(NamedTuple):
    """A column; its type is a word in lower case, or "nominal"."""

    name: str
    type: str


class Arff(Reader):
    """The columns are the attributes; `?` is no value."""

    name = "arff"
    shape = Shape.TABLE
    suffixes = (".arff",)
    title = "ARFF"
    typed = header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        lines = [line.strip().lower() for line in head.lines]
        first = next((line for line in lines if not line.startswith("%")), "")
        named = any(line.startswith("@attribute") for line in lines)
        return Match.CERTAIN.when(first.startswith("@relation") and named)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.attributes = read_attributes(files[0])
        names = [attribute.name for attribute in self.attributes]
        self.columns = sampled(names, (values for _, values in self.records(files[0])))
        if not self.columns or not self.columns[0].sample:
            raise DataError(
                "holds no rows after @data", where=files[0].name, remedy="name another file"
            )
        self.first_line = next(self.records(files[0]))[0]

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        lines = enumerate(file.lines(report), start=1)
        for _, content in lines:
            if content.strip().lower() == "@data":
                break
        for line, content in lines:
            content = content.strip()
            if content and not content.startswith("%"):
                yield line, self._values(content, f"{file.name}:{line}")

    def _values(self, content: str, where: str) -> tuple[Any, ...]:
        if content.startswith("{"):
            raise DataError("is a sparse row", where=where, remedy="save the file with dense rows")
        cells = cells_of(content, len(self.attributes) + 1)
        if len(cells) != len(self.attributes):
            raise DataError(
                f"expected {len(self.attributes)} values, found {len(cells)}",
                where=where,
                remedy="write one for each @attribute, in quotes where it holds a comma",
            )
        return tuple(
            value_of(cell, attribute, where) for cell, attribute in zip(cells, self.attributes)
        )


def cells_of(content: str, most: int) -> list[str | None]:
    """The cells of a row, `most` at most; None for `?`."""
    cells: list[str | None] = []
    for match in islice(CELL.finditer(content), most):
        quoted = match[1] if match[1] is not None else match[2]
        cell = match[3].strip() if quoted is None else unescaped(quoted)
        cells.append(None if quoted is None and cell == "?" else cell)
        if match.end() == len(content) and not match[0].endswith(","):
            break
    return cells


def unescaped(text: str) -> str:
    return ESCAPED.sub(lambda match: LETTERS.get(match[1], match[1]), text)


def value_of(cell: str | None, attribute: Attribute, where: str) -> Any:
    if cell is None or attribute.type not in (*NUMBERS, RELATIONAL):
        return cell
    if attribute.type == RELATIONAL:
        return plain_values([part.strip() for part in cell.split("\n") if part.strip()], where)
    if not is_number(cell):
        raise DataError(
            f"attribute {attribute.name!r} is {attribute.type}, and this is no number",
            where=where,
            got=cell,
            remedy="correct it, or write ? as a gap",
        )
    value = float(cell)
    return int(value) if value.is_integer() and cell.lstrip("+-").isdecimal() else value


def read_attributes(file: TextFile) -> list[Attribute]:
    attributes: list[Attribute] = []
    inner = False  # of a relational attribute
    for line, content in enumerate(file.lines(), start=1):
        content = content.strip()
        word = content.partition(" ")[0].partition("\t")[0].lower()
        if word == "@data":
            return attributes
        if word == "@end":
            inner = False
        elif word == "@attribute":
            match = ATTRIBUTE.fullmatch(content)
            if match is None:
                raise DataError(
                    "an attribute has a name and a type",
                    where=f"{file.name}:{line}",
                    got=content,
                    remedy="write @attribute name numeric, string or {a, b}",
                )
            name, kind = match[1], match[2].strip()
            name = unescaped(name[1:-1]) if name[0] in "'\"" else name
            kind = "nominal" if kind.startswith("{") else kind.split()[0].lower()
            if not inner:
                attributes.append(Attribute(name, kind))
            inner = inner or kind == RELATIONAL
    raise DataError("has no line @data", where=file.name, remedy="write it before the first row")
