"""Values that are in memory already, seen as a table: a data frame, a dict of columns, records,
an array, a list of texts with or without labels.

Nothing is imported for it: a data frame is what has named columns that give lists.

    columns_of(frame)                  {"review": [...], "stars": [...]}
    columns_of(texts, labels)          {"text": [...], "label": [...]}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.clip import Clip, as_clip
from unspool.data.read.files import Report
from unspool.data.read.picture import Picture, as_picture, is_pillow
from unspool.data.read.reader import SAMPLE, Column, Reader, Row, Shape
from unspool.data.read.recording import Recording, is_numeric
from unspool.data.read.table import Table
from unspool.errors import DataError, Option

LISTING = ("to_list", "to_pylist", "tolist")  # how a Series or an array gives a list
STEPS = 100  # how often the share that has been read is reported


@dataclass(frozen=True)
class Columns:
    """Columns of raw values in memory, all of the same length.

    name     what messages call it: the name of its class
    named    whether the columns have names of the user's, by which the settings may ask for them
    header   whether they have names at all
    """

    name: str
    values: dict[str, list[Any]]
    named: bool = True
    header: bool = True

    def __len__(self) -> int:
        return len(next(iter(self.values.values()), []))

    def __str__(self) -> str:
        return self.name


def columns_of(data: Any, labels: Any = None) -> Columns:
    """Values in memory, as columns.

    data     a data frame, an Arrow table, a dict of columns, a list of dicts, a 2-dimensional
             array; or texts: a list, a Series, an array; a list of (text, label) pairs; a tuple of
             texts and labels
    labels   of texts, one for each
    """
    name = type(data).__name__
    if labels is not None:
        return _texts_and_labels(name, data, labels)
    if isinstance(data, Columns):
        return data
    if isinstance(data, tuple) and len(data) == 2 and all(map(_is_column, data)):
        return _texts_and_labels(name, *data)
    index = index_columns(data)
    if index and getattr(data, "ndim", 2) == 1:  # a Series
        values = {str(getattr(data, "name", None) or "value"): listed(data)}
        return _checked(Columns(name, {**index, **values}))
    columns = _table(data)
    if columns is not None:
        return _checked(Columns(name, columns))
    if getattr(data, "ndim", 1) == 2:
        rows = data.tolist()
        width = len(rows[0]) if rows else 0
        cells = {str(i + 1): [value(row[i]) for row in rows] for i in range(width)}
        return _checked(Columns(name, cells, header=False))
    rows = listed(data)
    if rows and isinstance(rows[0], Mapping):
        return _checked(Columns(name, _records(name, rows)))
    if rows and all(isinstance(row, tuple) and len(row) == 2 for row in rows):
        texts, found_labels = ([pair[i] for pair in rows] for i in range(2))
        return _texts_and_labels(name, texts, found_labels)
    return _checked(Columns(name, {_name_of(rows, "tokens", "text"): rows}, named=False))


def source_of(data: Any, labels: Any = None) -> str | Path | Columns:
    """A path as it is; anything else as columns."""
    return data if isinstance(data, str | Path) and labels is None else columns_of(data, labels)


def is_table(data: Any) -> bool:
    """Whether it has columns, rather than being a sequence of items."""
    records = isinstance(data, list) and bool(data) and isinstance(data[0], Mapping)
    known = records or isinstance(data, Columns | Mapping) or bool(index_columns(data))
    return known or bool(_names(data)) or hasattr(data, "to_pydict")


def listed(data: Any) -> list[Any]:
    """A sequence of values of any kind as a list of plain ones; what is missing is None."""
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise DataError(
            f"a {type(data).__name__} cannot be read as data",
            got=data,
            remedy="give the path of a file, a data frame, a dict of columns or a list of texts",
        )
    if isinstance(data, set | frozenset):
        raise DataError(
            "a set has no order", got=data, remedy="give a list, so that answers can be told apart"
        )
    if getattr(data, "ndim", 1) in (4, 5):
        shape: tuple[int, ...] = getattr(data, "shape", ())
        clips = len(shape) == 5 or shape[3] > 4  # (N, T, H, W) and not (N, H, W, C)
        make: Any = as_clip if clips else as_picture
        return [make(item, f"item {i}") for i, item in enumerate(data, 1)]
    if getattr(data, "ndim", 1) == 3:
        return [array_of(item) if is_numeric(item) else value(item) for item in data]
    for method in LISTING:
        if hasattr(data, method):
            return [value(item) for item in getattr(data, method)()]
    return [value(item) for item in data]


def array_of(raw: Any) -> np.ndarray:
    """An array of numbers, or a tensor, as an array of float32; what is too large is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(raw, dtype=np.float32)


def value(raw: Any) -> Any:
    """A value as JSON has it; missing ones are None, dates are strings, arrays stay arrays."""
    if isinstance(raw, Recording | Picture | Clip):
        return raw
    if is_pillow(raw):
        return as_picture(raw, "")
    dimensions = getattr(raw, "ndim", 0)
    if dimensions == 3 and str(raw.dtype).endswith("uint8"):
        return as_picture(raw, "item") if raw.shape[2] <= 4 else as_clip(raw, "item")
    if dimensions == 4:
        return as_clip(raw, "item")
    if getattr(raw, "ndim", 0) and is_numeric(raw):
        return array_of(raw)
    if type(raw).__name__ in ("NoneType", "NAType", "NaTType"):
        return None
    if isinstance(raw, str):
        return str(raw)
    if isinstance(raw, float):
        return None if raw != raw else float(raw)
    if isinstance(raw, list | tuple):
        inner = [value(item) for item in raw]
        return tuple(inner) if isinstance(raw, tuple) else inner
    for method in LISTING:  # a number of an array has `tolist` too
        if hasattr(raw, method):
            converted = getattr(raw, method)()
            return value(converted) if converted is not raw else raw
    if type(raw).__name__ == "Period":
        return str(raw)
    return raw.isoformat() if hasattr(raw, "isoformat") else raw


def _is_column(data: Any) -> bool:
    return not isinstance(data, str | bytes | tuple | Mapping) and hasattr(data, "__len__")


def _names(data: Any) -> list[Any]:
    """The names of the columns of a data frame; none of what has none."""
    if isinstance(data, str | Path | list | tuple):
        return []
    if hasattr(data, "collect") and hasattr(data, "collect_schema") and not hasattr(data, "rows"):
        raise DataError(
            "a lazy frame holds no values yet", got=type(data).__name__, remedy="call .collect()"
        )
    for attribute in ("columns", "column_names"):
        names = getattr(data, attribute, None)
        if isinstance(names, Iterable) and not callable(names):
            listed = list(names)
            return listed if all(map(is_name, listed)) else []
    return list(getattr(getattr(data, "dtype", None), "names", None) or [])


def is_name(name: Any) -> bool:
    """Whether a frame may call a column so: a word, a number, a date, or several of them."""
    if isinstance(name, tuple):
        return all(map(is_name, name))
    return isinstance(name, str | int | float) or hasattr(name, "year")


def named(name: Any) -> str:
    """The name of a column, of several levels with spaces between them."""
    return (
        " ".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name)
    )


def are_numbers(columns: Iterable[Sequence[Any]]) -> bool:
    """Whether columns have numbers alone, so that the index of a frame can only name its rows."""
    cells = (cell for column in columns for cell in column[:SAMPLE])
    return all(cell is None or isinstance(cell, int | float) for cell in cells)


def index_columns(data: Any) -> dict[str, list[Any]]:
    """The dates that a frame or a Series has as its index, with the other levels of it."""
    index = getattr(data, "index", None)
    kinds = [type(level).__name__ for level in getattr(index, "levels", [index])]
    if not any(kind in ("DatetimeIndex", "PeriodIndex") for kind in kinds):
        return {}
    assert index is not None
    if len(kinds) == 1:
        return {str(index.name or "index"): listed(index)}
    return {
        str(name or f"level_{i}"): listed(index.get_level_values(i))
        for i, name in enumerate(index.names)
    }


def _table(data: Any) -> dict[str, list[Any]] | None:
    """The columns of a data frame, an Arrow table, a dict; None of anything else."""
    if isinstance(data, Mapping):
        return {str(name): listed(column) for name, column in data.items()}
    names = _names(data)
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DataError(
            "two columns have the same name",
            where=type(data).__name__,
            got=twice,
            remedy="rename one of them",
        )
    if hasattr(data, "to_pydict"):  # an Arrow table
        return {str(name): listed(column) for name, column in data.to_pydict().items()}
    if names and hasattr(data, "__getitem__"):
        columns = {named(name): listed(data[name]) for name in names}
        index = {k: v for k, v in index_columns(data).items() if k not in columns}
        rows = getattr(data, "index", None)
        if getattr(rows, "inferred_type", "") == "string" and are_numbers(columns.values()):
            index = {str(rows.name or "index"): listed(rows)}  # type: ignore[union-attr]
        return {**index, **columns}
    foreign = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__")
    if foreign and not any(hasattr(data, method) for method in LISTING):
        try:
            from pyarrow import interchange, table
        except ImportError:
            raise DataError(
                "reading this kind of table needs the pyarrow package",
                got=type(data).__name__,
                remedy="pip install pyarrow, or give a dict of columns",
            ) from None
        arrow = hasattr(data, "__arrow_c_stream__")
        return _table(table(data) if arrow else interchange.from_dataframe(data))
    return None


def _records(name: str, rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Rows that are dicts; what one does not have is missing."""
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(
                "is not a dict, as the first row is",
                where=_where(name, i + 1),
                got=row,
                remedy="give all rows alike",
            )
    names = dict.fromkeys(key for row in rows for key in row)
    return {str(key): [value(row.get(key)) for row in rows] for key in names}


def _texts_and_labels(name: str, texts: Any, labels: Any) -> Columns:
    if isinstance(texts, str | Path) or is_table(texts):
        raise DataError(
            "labels are given with a list of texts, and this has columns",
            where=texts if isinstance(texts, str | Path) else name,
            remedy=("name the column of the labels with ", Option("label")),
        )
    if isinstance(labels, str):
        raise DataError(
            "labels are a list, one for each text", got=labels, remedy="give as many as texts"
        )
    rows, answers = listed(texts), listed(labels)
    if len(rows) != len(answers):
        raise DataError(
            f"{len(rows):,} texts have {len(answers):,} labels", remedy="give each text one label"
        )
    words = isinstance((rows or [""])[0], list | tuple)
    both = ("tokens", "tags") if words else ("text", "label")
    if is_series(rows):
        steps = isinstance((answers or [""])[0], list | np.ndarray) and not is_target(rows, answers)
        both = ("series", "tags" if steps else "label")
        answers = [list(answer) if steps else answer for answer in answers]
    elif rows and all(isinstance(row, Picture) for row in rows):
        both = ("image", "label")
    elif rows and all(isinstance(row, Clip) for row in rows):
        frames = isinstance(answers[0], list) and not is_target(rows, answers)
        both = ("video", "tags" if frames else "label")
    return _checked(Columns(name, dict(zip(both, (rows, answers))), named=False))


def is_series(rows: Sequence[Any]) -> bool:
    return bool(rows) and all(map(is_numeric, rows))


def is_target(rows: Sequence[Any], answers: Sequence[Any]) -> bool:
    """Whether answers that are lists are several numbers a series rather than a label a step."""
    return any(len(answer) != len(row) for answer, row in zip(answers, rows))


def _name_of(rows: Sequence[Any], lists: str, others: str) -> str:
    if is_series(rows):
        return "series"
    for kind, name in ((Picture, "image"), (Clip, "video")):
        if rows and all(isinstance(row, kind) for row in rows):
            return name
    if rows and all(isinstance(row, int | float) for row in rows[:SAMPLE]):
        return "value"
    return lists if rows and isinstance(rows[0], list | tuple) else others


def _checked(columns: Columns) -> Columns:
    if not len(columns):
        raise DataError("holds no rows", where=columns.name, remedy="give some")
    sizes = {name: len(values) for name, values in columns.values.items()}
    for name, size in sizes.items():
        if size != len(columns):
            raise DataError(
                f"the columns are of different length: {len(columns):,} and {size:,} values",
                where=columns.name,
                got=name,
                remedy="give every row a value in each",
            )
    lists = {
        name: [list(value) if isinstance(value, tuple) else value for value in values]
        for name, values in columns.values.items()
    }
    return Columns(columns.name, lists, columns.named, columns.header)


def _where(name: str, row: int) -> str:
    return f"{name}, row {row}"


class InMemoryTable(Reader):
    """The rows of some columns; a row's line is its number, from 1."""

    name = "memory"
    shape = Shape.TABLE
    title = "rows in memory"
    typed = True

    def __init__(self, columns: Columns) -> None:
        super().__init__([], DataConfig())
        self.values = list(columns.values.values())
        self.header = columns.header
        self.columns = [
            Column(name, i, values[:SAMPLE])
            for i, (name, values) in enumerate(columns.values.items())
        ]

    @property
    def options(self) -> dict[str, Any]:
        return {"columns": [column.name for column in self.columns]}

    def rows(self, numbers: Sequence[int], report: Report = None) -> Iterator[Row]:
        chosen = [self.values[i] for i in numbers]
        size = len(self.values[0])
        every = max(1, size // STEPS)
        for i, values in enumerate(zip(*chosen), start=1):
            yield Row(values, i)
            if report is not None and (i % every == 0 or i == size):
                report(i / size)


class MemoryTable(Table):
    """A table without a file."""

    @property
    def summary(self) -> str:
        return f"{self.name}: {self.reader.title}"

    def where(self, line: int, *, file: int = 0, column: Column | None = None) -> str:
        return _where(self.name, line)

    @property
    def key(self) -> dict[str, Any]:
        return {"content": self.sha256, "format": self.format, "options": self.reader.options}

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        reader: Any = getattr(self.reader, "inner", self.reader)  # of steps, their rows
        for column, values in zip(reader.columns, reader.values):
            digest.update(json.dumps(column.name).encode() + b"\n")
            for value in values:
                digest.update(as_bytes(value) + b"\n")
        return digest.hexdigest()


def as_bytes(value: Any) -> bytes:
    """For a hash: JSON, or the numbers of an array."""
    if isinstance(value, Recording):
        times = b"" if value.times is None else value.times.tobytes()
        return json.dumps([value.name, *value.channels]).encode() + as_bytes(value.values) + times
    if isinstance(value, Picture):
        return str(value.path).encode() if value.pixels is None else as_bytes(value.pixels)
    if isinstance(value, Clip):
        frames = b"".join(map(as_bytes, value.pictures))
        return frames or as_bytes(value.pixels if value.path is None else str(value.path))
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} ".encode() + value.tobytes()
    return json.dumps(value, default=repr).encode()


def memory_table(columns: Columns, data: DataConfig) -> Table:
    """Open columns in memory; those that the user has not named are not looked up by name."""
    if not columns.named:
        unset = dict.fromkeys(("text", "label", "source", "target", "series"))
        data = data.model_copy(update={**unset, "time": "auto", "id": "auto"})
    return MemoryTable(columns.name, columns.name, [], True, data, InMemoryTable(columns))
