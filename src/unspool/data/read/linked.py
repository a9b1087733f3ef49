"""Tables whose rows are texts in files of their own: `metadata.csv` and `texts/ID.txt`.

In: a table and the folder of the texts. Out: the same table with one more column, the content of
the file that a row names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from unspool.config import DataConfig
from unspool.data.read.columns import names_texts
from unspool.data.read.files import TEXTS, Report, TextFile, names_in, stem, visible_below
from unspool.data.read.reader import SAMPLE, Column, Reader, Row, sampled
from unspool.data.read.usable import bad_files_remark, with_usable_files
from unspool.errors import DataError, Option

if TYPE_CHECKING:
    from unspool.data.read.table import Table

TABLES = (".csv", ".tsv", ".tab", ".jsonl", ".xlsx", ".parquet")
TEXT = "text"
MOST_FILES = 1_000_000


class Link(NamedTuple):
    """The column that names files, and the file of each name."""

    column: Column
    files: Mapping[str, Path]


class LinkedRows(Reader):
    """The columns of a table, and the text of the file that a row names."""

    def __init__(self, inner: Table, link: Link) -> None:
        self.inner, self.link = inner.reader, link
        self.share(inner.reader)
        self.stacked = True
        encoding = inner.data.encoding
        names = [str(value) for value in self._names()]
        lacking = [name for name in names if name not in link.files]
        if lacking:
            raise DataError(
                f"{len(lacking):,} of {len(names):,} rows name a text that is not there",
                where=inner.name,
                got=lacking[0],
                remedy=(
                    "add these files, leave out their rows, or name the column of the text with ",
                    Option("text"),
                ),
            )
        self.texts = {
            name: TextFile(link.files[name], str(link.files[name]), encoding)
            for name in dict.fromkeys(names)
        }
        self.files = [*inner.files, *self.texts.values()]
        taken = {column.name for column in inner.columns}
        name = TEXT if TEXT not in taken else f"{link.column.name}.{TEXT}"
        known = [value for value in link.column.sample if str(value) in self.texts]
        (column,) = sampled([name], ([self._text(value)] for value in known))
        self.columns = [*inner.columns, column._replace(number=len(inner.columns))]
        linked = f"texts of {len(self.texts):,} files by {link.column.name!r}"
        bad = bad_files_remark(len(self.bad_files)) if self.bad_files else ""
        self.remark = ", ".join(filter(None, (inner.reader.remark, linked, bad)))

    def _names(self) -> Iterator[Any]:
        return (row.values[0] for row in self.inner.rows([self.link.column.number]))

    def _text(self, name: Any) -> str:
        return self.texts[str(name)].document()

    @property
    def options(self) -> dict[str, Any]:
        return {"linked": self.link.column.number, **self.inner.options}

    def rows(self, numbers: Sequence[int], report: Report = None) -> Iterator[Row]:
        text = len(self.columns) - 1
        cells = [self.link.column.number if number == text else number for number in numbers]
        for row in self.inner.rows(cells, report):
            values = (
                self._text(value) if number == text else value
                for number, value in zip(numbers, row.values)
            )
            yield row._replace(values=tuple(values))

    def sources(self, column: Column) -> tuple[str, ...]:
        return (column.name,) if column == self.columns[-1] else self.inner.sources(column)

    def reread(self, reader: type[Reader], data: DataConfig) -> Reader:
        return self.inner.reread(reader, data)


def with_texts(table: Table, folder: Path, *, ids: bool) -> Table:
    """A table with the texts that a column names, by paths and endings or, with `ids`, without; the
    table itself where no column does."""
    if isinstance(table.reader, LinkedRows):
        return table
    if table.data.text is not None and any(c.name == table.data.text for c in table.columns):
        return table
    named = [column for column in table.columns if ids or names_texts(column)]
    files = text_files(folder) if named else {}
    for column in sorted(named, key=names_texts, reverse=True):
        values = [str(value) for value in column.sample[:SAMPLE] if value not in (None, "")]
        known = sum(value in files for value in values)
        if len(values) > 1 and len(set(values)) == len(values) and known > 0.5 * len(values):
            encoding = table.data.encoding

            def read(name: Any, where: str, encoding: str = encoding) -> None:
                if str(name) not in files:
                    raise DataError("names a text that is not there", where=where, got=name)
                for _ in TextFile(files[str(name)], str(files[str(name)]), encoding).blocks():
                    pass

            table = with_usable_files(table, column, read)
            reader = LinkedRows(table, Link(column, files))
            return replace(table, reader=reader, files=reader.files)
    return table


def text_files(folder: Path) -> dict[str, Path]:
    """Texts below a folder by their paths, names and stems, where these are not ambiguous."""
    files: dict[str, set[Path]] = defaultdict(set)
    for path in visible_below(folder)[:MOST_FILES]:
        if path.name.endswith(TEXTS):
            inside = path.relative_to(folder).as_posix()
            for name in (inside, path.name, stem(path), f"{path.parent.name}/{stem(path)}"):
                files[name].add(path)
    return {name: next(iter(paths)) for name, paths in files.items() if len(paths) == 1}


def listing_table(folder: Path) -> Path | None:
    """The only table of a folder."""
    names = [name for name in names_in(folder) if name.lower().endswith(TABLES) and name[0] != "."]
    return folder / names[0] if len(names) == 1 else None
