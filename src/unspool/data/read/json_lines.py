"""JSON: an object a line, or an array of objects; and their values as texts and labels.

The fields of objects inside objects are columns too, called `outer.inner`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

from unspool.config import DataConfig
from unspool.data.read.budget import json_size
from unspool.data.read.columns import TEXT_NAMES
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import SAMPLE, Change, Column, FileHead, Match, Reader, Row, Shape
from unspool.errors import DataError, Option, nearest
from unspool.io.files import DEEPEST, is_deep

Object = dict[str, Any]
LIST_START = re.compile(r":\s*\[\s*\{")  # of objects, in an object
LONG_LINE = 1 << 20  # characters


class JsonLines(Reader):
    """The columns are the fields of the first objects; a row that lacks one has no value there."""

    name = "jsonl"
    shape = Shape.TABLE
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json")
    editable = True
    title = "JSON lines"
    typed = True
    noun = "field"
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """A first line that is an object, or a list of lists."""
        line = head.lines[0].lstrip()
        return Match.CERTAIN.when(is_json_object(line) or line.startswith("[["))

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        rows = list(islice(self.objects(files[0]), SAMPLE))
        if not rows:
            files[0].refuse_empty()
            raise DataError("holds no objects", where=files[0].name, remedy="name another file")
        self.first_line = rows[0][0]
        names = dict.fromkeys(name for _, fields in rows for name in fields)
        self.columns = [
            Column(name, i, [fields.get(name) for _, fields in rows])
            for i, name in enumerate(names)
        ]

    def objects(self, file: TextFile, report: Report = None) -> Iterator[tuple[int, Object]]:
        """(line, fields) of every object."""
        return ((line, flat(fields)) for line, fields in json_rows(file, report))

    def rewrite(self, block: str, changes: Sequence[Change]) -> str:
        record = json.loads(block)
        for change in changes:
            replace_field(record, change.column.name, change.after)
        return json.dumps(record, ensure_ascii=False) + "\n"

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        names = [self.columns[i].name for i in numbers]
        for line, fields in self.objects(file, report):
            yield Row(tuple(fields.get(name) for name in names), line)


class JsonArray(JsonLines):
    """An array of objects, alone or as one field of an object."""

    name = "json"
    suffixes = (".json",)
    editable = False
    title = "JSON"

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """An array of objects, or of lists with strings; or an object over several lines, or one
        that holds such an array."""
        start = head.start.lstrip()
        if re.match(r'\[\s*([{\]]|\[[^\[\]"]*")', start):
            return Match.CERTAIN
        line = start.partition("\n")[0]
        if not is_json_object(line):
            return Match.CERTAIN.when(bool(re.match(r'\{\s*("|$)', start)))
        lists = {name: v for name, v in json.loads(line).items() if isinstance(v, list) and v}
        alone = not start[len(line) :].strip()
        # Columns in an object are no rows: the reader rejects them by name.
        columns = any(name in TEXT_NAMES for name in lists) or {"columns", "data"} <= lists.keys()
        nested = any(isinstance(values[0], dict) for values in lists.values())
        return Match.CERTAIN.when(alone and (columns or nested))

    def objects(self, file: TextFile, report: Report = None) -> Iterator[tuple[int, Object]]:
        return ((line, flat(fields)) for line, fields in array_rows(file))


def is_json_object(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def flat(fields: Object, prefix: str = "") -> Object:
    """{"a": {"b": 1}} as {"a.b": 1}."""
    if not any(isinstance(value, dict) for value in fields.values()):
        return {f"{prefix}{name}": value for name, value in fields.items()} if prefix else fields
    fields_by_path: Object = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            fields_by_path |= flat(value, f"{prefix}{name}.")
        else:
            fields_by_path[f"{prefix}{name}"] = value
    return fields_by_path


def replace_field(record: dict[str, Any], name: str, value: str) -> None:
    """Set a field, which `a.b` names where it is in an object."""
    while name not in record:
        outer = next(key for key in record if name.startswith(f"{key}."))
        record, name = record[outer], name[len(outer) + 1 :]
    record[name] = value


def json_rows(file: TextFile, report: Report = None) -> Iterator[tuple[int, Object]]:
    """(line, object) of every line that is not blank."""
    remedy, first = 'write each line as {"text": ..., "label": ...}', None
    for line, content in enumerate(file.lines(report), start=1):
        if not content.strip():
            continue
        where = f"{file.name}:{line}"
        if len(content) > LONG_LINE:
            file.allowance().fits(json_size(content), f"the object in line {line}")
        try:
            fields = json.loads(content)
            refuse_deep(content, fields)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "too deeply nested")
            raise DataError(
                f"not valid JSON ({reason})",
                where=where,
                remedy="every line must be one JSON object",
            ) from None
        first = fields if first is None else first
        yield line, checked(fields, first, where, remedy)


def refuse_deep(content: str, value: Any) -> None:
    """Raise the error of Python's parser, which goes deeper than what is done with its values."""
    if content.count("[") + content.count("{") > DEEPEST and is_deep(value):
        raise RecursionError


def checked(fields: Any, first: Any, where: str, remedy: str) -> Object:
    """An object; a drawing alone, lists in lists, is one with the field `strokes`, and a list of
    values one with the fields 1, 2, ... where the first row is a list, too."""
    if isinstance(fields, list) and fields and isinstance(fields[0], list):
        return {"strokes": fields}
    listed = isinstance(fields, list) and isinstance(first, list)
    if listed and any(isinstance(value, str) for value in fields):
        return {str(i): value for i, value in enumerate(fields, start=1)}
    if not isinstance(fields, dict):
        got = json.dumps(fields, ensure_ascii=False)
        raise DataError("not a JSON object", where=where, got=got, remedy=remedy)
    return fields


def array_rows(file: TextFile) -> Iterator[tuple[int, Object]]:
    """(line, object) of every element of the array that a file holds."""
    text = file.whole()
    at = array_start(text, file)
    line, counted, first = 1, 0, None
    decode = json.JSONDecoder().raw_decode
    gap = re.compile(r"[\s,]*")
    while True:
        match = gap.match(text, at)
        at = match.end() if match else at
        line, counted = line + text.count("\n", counted, at), at
        if text.startswith("]", at):
            return
        try:
            start = at
            fields, at = decode(text, at)
            refuse_deep(text[start:at], fields)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "too deeply nested")
            place = getattr(error, "lineno", line)
            raise DataError(
                f"not valid JSON ({reason})",
                where=f"{file.name}:{place}",
                remedy="an array is [{...}, {...}]; correct it, or write one object a line",
            ) from None
        remedy = 'write each element as {"text": ..., "label": ...}'
        first = fields if first is None else first
        yield line, checked(fields, first, f"{file.name}:{line}", remedy)


def array_start(text: str, file: TextFile) -> int:
    """Behind the bracket of the array, or of the only array of objects in an object."""
    begin = len(text) - len(text.lstrip())
    if text.startswith("[", begin):
        return begin + 1
    matches = [(name_before(text, match.start()), match) for match in LIST_START.finditer(text)]
    names = [name for name, _ in matches]
    if text.startswith("{", begin) and matches and names.count(names[0]) == 1:
        return text.index("[", matches[0][1].start()) + 1
    raise DataError(
        "is one JSON object that holds no list of objects",
        where=file.name,
        remedy="write one object a line, or an array of them; with pandas"
        " df.to_json(path, orient='records', lines=True)",
    )


def name_before(text: str, colon: int) -> str:
    """The name in quotes that ends at a colon."""
    end = text.rfind('"', 0, colon)
    start = text.rfind('"', 0, max(0, end))
    while start > 0 and text[start - 1] == "\\":
        start = text.rfind('"', 0, start)
    return text[start + 1 : end]


def no_field(name: str, names: Sequence[str], where: str) -> DataError:
    near = nearest(name, names)
    return DataError(
        f"has no field {name!r} among {', '.join(names) or 'none'}",
        where=where,
        remedy=f"did you mean {near!r}?"
        if near
        else ("name fields with ", Option("text", "label"), ", or ", Option("source", "target")),
    )


def json_text(value: Any, name: str, where: str) -> str:
    """The value of a field that must be a text, as it stands; what is missing is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return whole_characters(value, where)
    raise DataError(
        f"field {name!r} is not a string",
        where=where,
        got=value,
        remedy=(
            "name its field with ",
            Option("text"),
            ", or two with ",
            Option("source", "target"),
        ),
    )


def json_label(value: Any, name: str, where: str) -> str:
    """Labels may be written as strings, numbers or booleans; what is missing is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return whole_characters(value, where).strip()
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    raise DataError(
        f"field {name!r} is not a label",
        where=where,
        got=value,
        remedy=("a label is a string or a number; name its field with ", Option("label")),
    )


def whole_characters(text: str, where: str) -> str:
    """JSON can escape what no encoding can write: halves of surrogate pairs, and NUL."""
    if "\0" in text:
        raise DataError("holds a NUL character", where=where, remedy="remove \\u0000 from the text")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
