"""JSON lines: an object a line, whose fields are columns; and their values as texts and labels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import SAMPLE, Column, Reader, Row, refuse_empty
from unspool.errors import DataError, nearest


class JsonLines(Reader):
    """The columns are the fields of the first object; every row must have those that are read."""

    title = "JSON lines"
    typed = True
    noun = "field"
    header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        rows = list(islice(json_rows(files[0]), SAMPLE))
        if not rows:
            refuse_empty(files[0])
        self.first_line, first = rows[0]
        self.columns = [
            Column(name, i, [fields.get(name) for _, fields in rows])
            for i, name in enumerate(first)
        ]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        names = [self.columns[i].name for i in numbers]
        for line, fields in json_rows(file, report):
            where = f"{file.name}:{line}"
            yield Row(tuple(json_field(fields, name, where) for name in names), line)


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


def json_text(value: Any, name: str, where: str) -> str:
    """The value of a field that must be a text, as it stands."""
    if isinstance(value, str):
        return whole_characters(value, where)
    raise DataError(
        f"field {name!r} is not a string",
        where=where,
        got=value if value is not None else "null",
        remedy="name the field of the text with --text, or of pairs with --source and --target",
    )


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


def whole_characters(text: str, where: str) -> str:
    """JSON can escape what no encoding can write: halves of surrogate pairs, and NUL."""
    if "\0" in text:
        raise DataError("holds a NUL character", where=where, remedy="remove \\u0000 from the text")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
