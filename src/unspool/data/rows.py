"""Lines to examples: one reader a format, each streaming, each saying what is wrong and where.

A reader gets a `TextFile` and the `Layout` that `infer` found, and yields `Example`s.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from unspool.data.read.files import Report, TextFile, stem
from unspool.errors import DataError, nearest

csv.field_size_limit(1 << 30)  # the default of 131,072 is too short for a long document

Column = int | str | None


class Example(NamedTuple):
    """One row: its text, its label where there is one, the line where it starts."""

    text: str
    label: str | None
    line: int


@dataclass(frozen=True)
class Layout:
    """How the rows of a file are laid out. Columns are indices (tables) or field names (JSONL)."""

    format: str
    text: Column = None
    label: Column = None
    delimiter: str = ","
    quoted: bool = True
    header: bool = False
    width: int = 0


def table_rows(
    file: TextFile, *, delimiter: str, quoted: bool, report: Report | None = None
) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of every row that is not blank; a quoted field may hold line ends."""
    reader = csv.reader(
        file.lines(report),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
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


def read_table(file: TextFile, layout: Layout, report: Report | None) -> Iterator[Example]:
    text, label, width = layout.text, layout.label, layout.width
    assert isinstance(text, int)
    assert not isinstance(label, str)
    rows = table_rows(file, delimiter=layout.delimiter, quoted=layout.quoted, report=report)
    if layout.header:
        next(rows, None)
    for line, fields in rows:
        if len(fields) != width:
            raise DataError(
                f"expected {width} columns, found {len(fields)}",
                where=f"{file.name}:{line}",
                remedy="quote fields that hold the delimiter or a line end, or mend the row",
            )
        name = None if label is None else fields[label].strip()
        yield Example(fields[text].strip(), name, line)


def read_jsonl(file: TextFile, layout: Layout, report: Report | None) -> Iterator[Example]:
    text, label = layout.text, layout.label
    assert isinstance(text, str)
    for line, fields in json_rows(file, report):
        where = f"{file.name}:{line}"
        value = json_field(fields, text, where)
        if not isinstance(value, str):
            raise DataError(
                f"field {text!r} is not a string",
                where=where,
                got=value if value is not None else "null",
                remedy="name the field of the text with --text, or of pairs with --source and"
                " --target",
            )
        value = whole_characters(value, where)
        name = None
        if label is not None:
            name = json_label(json_field(fields, str(label), where), str(label), where)
        yield Example(value.strip(), name, line)


def json_rows(file: TextFile, report: Report | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, object) of every line that is not blank."""
    for line, content in enumerate(file.lines(report), start=1):
        if not content.strip():
            continue
        where = f"{file.name}:{line}"
        try:
            fields = json.loads(content)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "too deeply nested")
            raise DataError(
                f"not valid JSON ({reason})",
                where=where,
                remedy="every line must be one JSON object",
            ) from None
        if not isinstance(fields, dict):
            raise DataError(
                "not a JSON object",
                where=where,
                got=content.strip(),
                remedy='write each line as {"text": ..., "label": ...}',
            )
        yield line, fields


def json_field(fields: dict[str, Any], name: str, where: str) -> Any:
    if name in fields:
        return fields[name]
    near = nearest(name, fields)
    raise DataError(
        f"has no field {name!r} among {', '.join(fields) or 'none'}",
        where=where,
        remedy=f"did you mean {near!r}?"
        if near
        else "name the fields with --text and --label, or --source and --target",
    )


def whole_characters(text: str, where: str) -> str:
    """JSON can escape what no encoding can write: halves of surrogate pairs, and NUL."""
    if "\0" in text:
        raise DataError("holds a NUL character", where=where, remedy="remove \\u0000 from the text")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def json_label(value: Any, name: str, where: str) -> str:
    """Labels may be written as strings, numbers or booleans."""
    if isinstance(value, str):
        return whole_characters(value, where).strip()
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    raise DataError(
        f"field {name!r} is no label",
        where=where,
        got=value if value is not None else "null",
        remedy="a label is a string or a number; name its field with --label",
    )


def read_labelled(file: TextFile, layout: Layout, report: Report | None) -> Iterator[Example]:
    """`label<space or tab>text`, one a line; a label before a tab may hold spaces."""
    for line, content in enumerate(file.lines(report), start=1):
        if content.strip():
            label, text = cut_label(content, layout.delimiter)
            yield Example(text, label, line)


def cut_label(line: str, delimiter: str) -> tuple[str, str]:
    """(label, text): cut at the first tab, or with a space as delimiter at any white space."""
    label, *text = line.strip().split("\t" if delimiter == "\t" else None, 1)
    return label.strip(), text[0].strip() if text else ""


def read_lines(file: TextFile, layout: Layout, report: Report | None) -> Iterator[Example]:
    """One document a line, without labels."""
    for line, content in enumerate(file.lines(report), start=1):
        yield Example(content.strip(), None, line)


def read_named(file: TextFile, layout: Layout, report: Report | None) -> Iterator[Example]:
    """One item a line; the file's name is the label."""
    label = stem(file.path)
    for line, content in enumerate(file.lines(report), start=1):
        if content.strip():
            yield Example(content.strip(), label, line)


def read_text(file: TextFile, layout: Layout, report: Report | None) -> Iterator[Example]:
    """One long text, in pieces that join to the whole."""
    line = 1
    for piece in file.pieces(report):
        yield Example(piece, None, line)
        line += piece.count("\n")


READERS: dict[str, Callable[[TextFile, Layout, Report | None], Iterable[Example]]] = {
    "csv": read_table,
    "tsv": read_table,
    "jsonl": read_jsonl,
    "labelled": read_labelled,
    "lines": read_lines,
    "folder": read_named,
    "text": read_text,
}
