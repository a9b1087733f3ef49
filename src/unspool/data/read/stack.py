"""Tables one below the other: several files in, one table out, with the part that the name of each
file or folder declares.

train.csv, test.csv                        a file a part
train-00000-of-00002.parquet, ...          shards, as on the hub, perhaps in one folder
train/pos/1.txt, test/pos/1.txt            a folder a part
train_1.csv, train_2.csv, test.csv         texts in tables of any number and depth
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unspool.config import DataConfig
from unspool.data.read.files import PARTS, Report, names_in, stem
from unspool.data.read.media import USUAL
from unspool.data.read.reader import Column, Reader, Row, rescaled
from unspool.errors import DataError, Message, Option

if TYPE_CHECKING:
    from unspool.data.read.table import Table

SHARD = re.compile(r"[-_.]\d{5}-of-\d{5}$")
SPLIT = "split"


class StackedRows(Reader):
    """The rows of several readers with the same columns, one reader after the other.

    parts   of the readers, in a column `split`; empty: there is no such column
    """

    def __init__(self, readers: Sequence[Reader], parts: Sequence[str] = ()) -> None:
        first = readers[0]
        self.readers, self.parts = readers, parts
        self.files = [file for reader in readers for file in reader.files]
        self.share(first)
        self.stacked = True
        self.bad_files = [line for reader in readers for line in reader.bad_files]
        self.columns = list(first.columns)
        if parts:
            self.columns.append(Column(SPLIT, len(self.columns), list(dict.fromkeys(parts))))
            by = f"in the parts {', '.join(dict.fromkeys(parts))} by name"
            self.remark = ", ".join(filter(None, (first.remark, by)))
        for reader in readers[1:]:
            self._refuse_other_columns(reader)

    def _refuse_other_columns(self, reader: Reader) -> None:
        first = self.readers[0]
        names, columns = ([column.name for column in each.columns] for each in (first, reader))
        if type(reader) is type(first) and names == columns:
            return
        missing = [name for name in names if name not in columns]
        what = "has other columns"
        if type(reader) is not type(first):
            what = f"was read as {reader.title}"
        elif missing:
            what = f"has no column {missing[0]!r}"
        raise DataError(
            f"{what}, and {first.files[0].name} is {first.title} of {', '.join(names)}",
            where=reader.files[0].name,
            got=", ".join(columns),
            remedy=(
                "give all files the same columns in the same order, or name the one to train on,"
                " and others with ",
                Option("valid", "test"),
            ),
        )

    @property
    def options(self) -> dict[str, Any]:
        return {"stacked": [reader.options for reader in self.readers], "parts": list(self.parts)}

    def rows(self, numbers: Sequence[int], report: Report = None) -> Iterator[Row]:
        split = len(self.readers[0].columns)
        inner = [number for number in numbers if number != split]
        before = 0
        for i, reader in enumerate(self.readers):
            part = rescaled(report, i / len(self.readers), 1 / len(self.readers))
            for row in reader.rows(inner or [0], part):
                values = row.values
                if len(inner) < len(numbers):
                    cells = iter(values)
                    values = tuple(self.parts[i] if n == split else next(cells) for n in numbers)
                yield Row(values, row.line, row.file + before)
            before += len(reader.files)

    def sources(self, column: Column) -> tuple[str, ...]:
        return self.readers[0].sources(column)

    def as_written(self) -> Reader:
        return StackedRows([reader.as_written() for reader in self.readers], self.parts)

    def reread(self, reader: type[Reader], data: DataConfig) -> Reader:
        return StackedRows([reader(each.files, data) for each in self.readers], self.parts)


def part_of_name(stem: str) -> str | None:
    """The part that a name declares: `train`, `reviews_test`, `train-00000-of-00002`."""
    numbered = re.split(r"[-_. ]+", SHARD.sub("", stem).lower())
    words = [word.rstrip("0123456789") for word in numbered]
    words = list(filter(None, words)) or [""]
    return next((PARTS[word] for word in (words[0], words[-1]) if word in PARTS), None)


def parts_of_paths(folder: Path, paths: Sequence[Path]) -> list[str]:
    """The part of each file below a folder, by its name or by a folder around it; none where train
    is not among them, or nothing else is."""
    parts: list[str | None] = []
    for path in paths:
        names = [*path.relative_to(folder).parent.parts, stem(path)]
        declared = {part_of_name(name) for name in names} - {None}
        parts.append(declared.pop() if len(declared) == 1 else None)
    if "train" not in parts or len({*parts, None}) < 3:
        return []
    if None in parts:
        raise _unnamed(folder, paths[parts.index(None)], paths[parts.index("train")])
    return [part for part in parts if part]


def _unnamed(folder: Path, path: Path, first: Path) -> DataError:
    return DataError(
        f"the name {path.relative_to(folder)} declares no part, and {first.name} does",
        where=folder,
        remedy=_name_what(first),
    )


def _name_what(first: Path) -> Message:
    return f"name what to train on, such as {first}, and others with ", Option("valid", "test")


def declared_parts(folder: Path) -> dict[Path, str]:
    """Files or folders in a folder, "train" first, each with its part; none where the names declare
    no parts, or where a part has several files that are no shards."""
    places = visible(folder)
    if len(places) == 1 and places[0].is_dir():
        return declared_parts(places[0])
    parts = {path: part for path in places if (part := part_of_name(base_of(path)))}
    by_folder = {path.is_dir() for path in parts}
    if "train" not in parts.values() or len(set(parts.values())) < 2 or len(by_folder) > 1:
        return {}
    endings = sorted({ending(path) for path in parts})
    first = next(path for path, part in parts.items() if part == "train")
    if len(endings) > 1:
        formats = ", ".join(endings)
        raise DataError(
            f"holds parts in several formats ({formats})", where=folder, remedy=_name_what(first)
        )
    unnamed = [
        path
        for path in places
        if path not in parts and {path.is_dir()} == by_folder and ending(path) in endings
    ]
    if unnamed:
        raise _unnamed(folder, unnamed[0], first)
    if len(set(parts.values())) < len(parts) and not all(SHARD.search(stem(p)) for p in parts):
        return {}
    order = [*dict.fromkeys(PARTS.values())]
    return dict(sorted(parts.items(), key=lambda item: order.index(item[1])))


def visible(folder: Path) -> list[Path]:
    """Names in a folder, without those of files that are no data."""
    names = names_in(folder)
    return [folder / name for name in names if name[0] != "." and not USUAL.fullmatch(name)]


def base_of(path: Path) -> str:
    return path.name if path.is_dir() else stem(path)


def ending(path: Path) -> str:
    """`.csv.gz` of a file, nothing of a folder."""
    return path.name[len(base_of(path)) :].lower()


def stack_tables(path: str, tables: Sequence[Table], parts: Sequence[str] = ()) -> Table:
    """One table of the rows of several."""
    reader = StackedRows([table.reader for table in tables], parts)
    name = path if Path(path).is_dir() else f"{tables[0].name} and {len(tables) - 1} more"
    return replace(tables[0], path=path, name=name, files=reader.files, reader=reader)
