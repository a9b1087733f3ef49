"""JSON of whole tables, as pandas writes it: an object of columns, of rows, or of both.

{"text": {"0": "a", "1": "b"}, "label": {"0": "x", "1": "y"}}      orient="columns"
{"0": {"text": "a", "label": "x"}, "1": {"text": "b", ...}}        orient="index"
{"columns": ["text", "label"], "index": [0, 1], "data": [[...]]}   orient="split"
{"schema": {"fields": ...}, "data": [{"text": "a", ...}]}          orient="table"
{"text": ["a", "b"], "label": ["x", "y"]}                          to_dict(orient="list")
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from unspool.config import DataConfig
from unspool.data.read.budget import json_size
from unspool.data.read.files import Report, TextFile
from unspool.data.read.json_lines import JsonLines, Object, flat
from unspool.data.read.reader import FileHead, Match
from unspool.errors import DataError

# The beginning of an object of objects, of lists of values, or of the parts of a table.
START = re.compile(
    r'\{\s*"(?:(?:columns|index|schema)"|(?:[^"\\]|\\.)*"\s*:\s*(?:\{|\[\s*[^\s\[{]))'
)
SENTENCE = {"tokens", "words"}  # lists that are one row, not columns
INDEX = "index"


class FrameRows(NamedTuple):
    """A table and the `orient` that pandas calls its layout."""

    orient: str
    rows: list[Object]


class JsonFrame(JsonLines):
    """The line of a row is its number; its key is a column `index` unless keys count the rows."""

    name = "json_frame"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    editable = False
    title = "JSON"

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        return Match.CERTAIN.when(START.match(head.start.lstrip()) and read_frame(head.file))

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        frame = read_frame(files[0])
        self.remark = f"orient={frame.orient} of pandas" if frame else ""

    def objects(self, file: TextFile, report: Report = None) -> Iterator[tuple[int, Object]]:
        frame = read_frame(file)
        if frame is None:
            raise DataError(
                "is no JSON of a table as pandas writes it",
                where=file.name,
                remedy="write it with df.to_json(path, orient='records', lines=True)",
            )
        return enumerate(map(flat, frame.rows), start=1)


def read_frame(file: TextFile) -> FrameRows | None:
    return _read_frame(file, file.size(), file.path.stat().st_mtime_ns)


@lru_cache(1)
def _read_frame(file: TextFile, size: int, changed: int) -> FrameRows | None:
    try:
        with file.allowance().spending() as allowed:
            text = "".join(file.blocks())
            allowed.hold(json_size(text), "JSON")
            stored = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return frame_of(stored) if isinstance(stored, dict) and stored else None


def frame_of(stored: Object) -> FrameRows | None:
    """The rows of an object; None where it is no table."""
    data, names = stored.get("data"), stored.get("columns")
    if isinstance(names, list) and isinstance(data, list) and is_list_of(data, list):
        if any(len(row) != len(names) for row in data):
            return None
        rows = [dict(zip(map(str, names), row)) for row in data]
        return FrameRows("split", with_index(rows, stored.get(INDEX, ())))
    if isinstance(stored.get("schema"), dict) and isinstance(data, list) and is_list_of(data, dict):
        return FrameRows("table", data)
    if is_list_of(list(stored.values()), dict):
        return nested_frame(stored)
    if is_list_of(list(stored.values()), list) and len(stored) > 1 and not SENTENCE & stored.keys():
        lengths = {len(values) for values in stored.values()}
        nested = any(isinstance(value, dict) for values in stored.values() for value in values)
        if len(lengths) == 1 and min(lengths) > 1 and not nested:
            rows = [dict(zip(stored, values)) for values in zip(*stored.values())]
            return FrameRows("list", rows)
    return None


def is_list_of(values: Any, kind: type) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(v, kind) for v in values)


def nested_frame(stored: Mapping[str, Object]) -> FrameRows | None:
    """Rows of objects in an object; of equal keys on both levels the outer ones are the rows where
    these count, or are more."""
    first, *rest = stored.values()
    fields = {name for values in stored.values() for name in values}
    if not rest or not set(first).intersection(*rest):
        return None
    counted = [all(map(str.isdecimal, names)) for names in (stored, fields)]
    by_row = counted[0] if counted[0] != counted[1] else len(stored) >= len(fields)
    if by_row:
        rows = [dict(values) for values in stored.values()]
        return FrameRows("index", with_index(rows, stored))
    keys = dict.fromkeys(key for values in stored.values() for key in values)
    rows = [{name: values.get(key) for name, values in stored.items()} for key in keys]
    return FrameRows("columns", with_index(rows, keys))


def with_index(rows: list[Object], keys: Iterable[Any]) -> list[Object]:
    """Rows with their keys as a column `index`, unless these are 0, 1, 2, ..."""
    names = [str(key) for key in keys]
    if len(names) != len(rows) or names == [str(i) for i in range(len(rows))]:
        return rows
    return [{INDEX: name, **row} for name, row in zip(names, rows)]
