"""A file, a folder, two parallel files or standard input, seen as columns of raw values.

table = open_table("reviews.csv", data)
print(table.summary)                                # reviews.csv: CSV
text = table.column("review", option="text")
for (value,), line in table.rows([text]):           # as often as needed, in constant memory
    ...
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from unspool.config import DataConfig
from unspool.data.read.budget import begin
from unspool.data.read.clips import find_clips
from unspool.data.read.columns import is_column_number, listed_names, names_texts, plain
from unspool.data.read.content import find_encoding
from unspool.data.read.file_index import FileIndex
from unspool.data.read.files import (
    PARTS,
    STDIN,
    Report,
    TextFile,
    find_files,
    no_texts,
    sides,
    stem,
    visible_below,
)
from unspool.data.read.formats import AUTO, FORMATS, guess_format
from unspool.data.read.json_lines import no_field
from unspool.data.read.linked import LinkedRows, listing_table, text_files, with_texts
from unspool.data.read.media import Medium, find_media, left_out
from unspool.data.read.plain import LongText, label_file
from unspool.data.read.reader import Column, FileHead, Reader, Row, Shape
from unspool.data.read.stack import declared_parts, parts_of_paths, stack_tables
from unspool.data.read.usable import bad_files_remark, usable_files
from unspool.errors import DataError, Option, choose, nearest


@dataclass
class Table:
    """Files of one format, read as columns.

    name         what messages call it
    certain      whether the format was not only guessed from the look of the lines
    in_folder    whether the user has named its folder, so that ids may be names of files in it
    file_index   for files that cells name, shared by all tables that are made of this one
    """

    path: str
    name: str
    files: Sequence[TextFile]
    certain: bool
    data: DataConfig = field(repr=False)
    reader: Reader = field(repr=False)
    in_folder: bool = False
    file_index: FileIndex = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.file_index is None:
            self.file_index = FileIndex(self.folder)

    @property
    def folder(self) -> Path:
        """Folder of the first file; the working directory of a table in memory."""
        return Path(self.files[0].path).parent if self.files else Path()

    @property
    def format(self) -> str:
        return self.reader.name

    @property
    def shape(self) -> Shape:
        return self.reader.shape

    def holds_files(self, medium: Medium) -> bool:
        """Whether rows are files of a medium, rather than names or values in a table."""
        return self.shape == Shape.FILES and self.reader.medium == medium

    @property
    def by_file(self) -> bool:
        """Whether each of several files is a recording of its own."""
        return len(self.files) > 1 and not self.reader.stacked

    @property
    def header(self) -> bool:
        return self.reader.header

    @property
    def typed(self) -> bool:
        return self.reader.typed

    @property
    def columns(self) -> list[Column]:
        return self.reader.columns

    @property
    def summary(self) -> str:
        """The beginning of the line that is printed: `reviews.csv: CSV without a header`."""
        title = self.reader.title
        if self.shape == Shape.TABLE and not self.typed and not self.header:
            title += " without a header"
        if self.shape == Shape.PAIRS:
            return f"{', '.join(file.name for file in self.files)}: {title}"
        if Path(self.path).is_dir():
            title = "files of text" if isinstance(self.reader, LongText) else f"files, {title}"
            title = f"{len(self.files):,} {title}"
        elif not self.reader.binary:
            title += self._encoding()
        return f"{self.name}: {title}" + (f", {self.reader.remark}" if self.reader.remark else "")

    def _encoding(self) -> str:
        """` in UTF-16` where that is not what the settings say."""
        codec = self.files[0].codec
        return "" if codec == find_encoding(self.data.encoding) else f" in {codec.upper()}"

    def column(self, requested: str, *, option: str) -> Column:
        """The column with a name, or a number from 1; a DataError names the nearest."""
        for match in (requested, plain(requested)):
            for column in self.columns:
                if match in (column.name, plain(column.name)):
                    return column
        where, names = self.where(self.reader.first_line), [c.name for c in self.columns]
        if self.typed:
            raise no_field(requested, names, where)
        if is_column_number(requested):
            if len(requested) < 10 and 1 <= int(requested) <= len(names):
                return self.columns[int(requested) - 1]
            raise DataError(
                f"there is no column {requested}, only {len(names)}",
                where=where,
                remedy=("columns are numbered from 1; choose another with ", Option(option)),
            )
        near = nearest(requested, names)
        raise DataError(
            f"there is no column {requested!r} among {', '.join(names)}",
            where=where,
            remedy=("did you mean ", Option(**{option: near}), "?")
            if near
            else ("choose one of them with ", Option(option)),
        )

    def several(self, requested: str, *, option: str) -> list[Column]:
        """The columns that an option names, with commas between them, unless a name has commas."""
        if any(column.name == requested for column in self.columns):
            return [self.column(requested, option=option)]
        columns = [self.column(name, option=option) for name in listed_names(requested)]
        if not columns:
            raise DataError(
                (Option(option), " names no column"),
                where=self.name,
                got=requested,
                remedy=f"choose from {', '.join(column.name for column in self.columns)}",
            )
        for column in columns:
            if columns.count(column) > 1:
                raise DataError(
                    "a column is named twice",
                    where=self.name,
                    got=column.name,
                    remedy=("name each one once with ", Option(option)),
                )
        return columns

    def rows(self, columns: Sequence[Column], report: Report = None) -> Iterator[Row]:
        """The rows, with the values of some columns; `report` gets the share that has been read."""
        numbers = [member.number for column in columns for member in column.members]
        rows = self.reader.rows(numbers, report)
        return _joined(rows, columns) if any(column.parts for column in columns) else rows

    def reread(self, format: str, *, header: bool | None = None) -> Table:
        """The same files in another format, or with another decision about the header."""
        changes: dict[str, Any] = {} if header is None else {"header": header}
        data = self.data.model_copy(update=changes)
        return replace(self, data=data, reader=self.reader.reread(FORMATS[format], data))

    def as_documents(self) -> Table:
        """The same file as something else than sentences, unless that format was named."""
        if self.shape != Shape.SENTENCES or self.data.format != AUTO:
            return self
        reader, certain = guess_format(self.files[0], self.data, sentences=False)
        return replace(self, certain=certain, reader=self.reader.reread(reader, self.data))

    def where(self, line: int, *, file: int = 0, column: Column | None = None) -> str:
        """`file:line` for a message; of two parallel files, the one that holds the column."""
        if self.shape == Shape.PAIRS and column is not None:
            file = column.number
        if self.reader.one_row:
            return self.files[file].name
        return f"{self.files[file].name}:{line}"

    def token_line(self, row: int, token: int) -> int:
        """The line of a token of a row, for a message: the file is read once more."""
        return self.reader.token_line(row, token)

    @property
    def key(self) -> dict[str, Any]:
        """All that decides what is read, for the key of a cache."""
        return {
            "content": self.sha256,
            "format": self.format,
            "options": self.reader.options,
            "encoding": self.files[0].encoding,
        }

    @cached_property
    def sha256(self) -> str:
        """The hash of the content, as it is on disk; a folder's names count as well."""
        if self.shape == Shape.PAIRS:
            hashes = dict.fromkeys(_hash([file]) for file in self.files)
            if len(hashes) == 1:
                return next(iter(hashes))
            return hashlib.sha256(" ".join(hashes).encode()).hexdigest()
        return _hash(self.files)


def _joined(rows: Iterator[Row], columns: Sequence[Column]) -> Iterator[Row]:
    for row in rows:
        values = iter(row.values)
        joined = (
            column.value(list(islice(values, len(column.parts)))) if column.parts else next(values)
            for column in columns
        )
        yield row._replace(values=tuple(joined))


def _hash(files: Sequence[TextFile]) -> str:
    digest = hashlib.sha256()
    for file in files:
        if len(files) > 1:
            digest.update(f"\0{file.path.parent.name}/{stem(file.path)}\0".encode())
        file.add_to(digest)
    return digest.hexdigest()


def open_table(path: str, data: DataConfig) -> Table:
    """Look at a file, several files `a,b`, a folder of NAME.txt files, or stdin (`-`).

    The format, the header and the names of the columns are inferred; `data` overrides.
    """
    if data.format != AUTO:
        choose("format", data.format, [AUTO, *FORMATS])
    begin(data)
    both = sides(path)
    if len(both) > 1:
        return _open_several(path, both, data)
    media = find_clips(path, data) if data.input == "video" else find_media(path, data)
    if media is None and Path(path).is_dir() and (parts := declared_parts(Path(path))):
        tables = [open_table(str(place), data) for place in parts]
        return stack_tables(path, tables, list(parts.values()))
    if media is not None and media.listed and len(media.files) > 1:
        tables = [open_table(str(file.path), data) for file in media.files]
        return stack_tables(path, tables, [PARTS[stem(f.path).lower()] for f in media.files])
    folder = Path(path) if media is None and Path(path).is_dir() else None
    if folder and (listed := _listed_texts(listing_table(folder), folder, data)):
        return replace(listed, path=path)
    files = media.files if media else find_files(path, encoding=data.encoding)
    reader_type, certain = FORMATS["folder"], True
    if media is not None and not media.listed:
        reader_type = FORMATS[media.medium.name]
    elif media is not None:
        path = files[0].name
        reader_type, certain = guess_format(files[0], data)
    elif not Path(path).is_dir() or not files[0].content_name.endswith(".txt"):
        reader_type, certain = guess_format(files[0], data)
    elif files[0].path.parent != Path(path):
        reader_type = FORMATS["folders"]
    elif data.format == AUTO:
        _refuse_listed(Path(path), data)
    if reader_type.shape == Shape.PAIRS:
        raise DataError(
            "pairs of lines are two files", where=path, remedy="name two files: a.en,a.de"
        )
    name = files[0].name if len(files) == 1 else path
    every_file = [file.path for file in files]
    bad_files: list[DataError] = []
    if len(files) > 1 and data.bad_files == "skip":
        files, bad_files = usable_files(files, reader_type, data)
    with files[0].allowance().spending():
        reader = reader_type(files, data)
    reader.bad_files = list(map(str, bad_files))
    unread = media.remark if media is not None else ""
    if folder:
        unread = left_out(visible_below(folder), every_file)
    bad = bad_files_remark(len(bad_files)) if bad_files else ""
    reader.remark = ", ".join(filter(None, (reader.remark, unread, bad)))
    by_file = Path(path).is_dir() and media is None
    by_file = by_file and reader.shape not in (Shape.FOLDER, Shape.SERIES, Shape.DRAWINGS)
    if by_file and not any(column.profile.is_numbers for column in reader.columns):
        raise no_texts(Path(path))
    if by_file and any(column.profile.is_texts for column in reader.columns):  # no recordings
        declared = zip(parts_of_paths(Path(path), every_file), every_file)
        order = sorted(declared, key=lambda item: item[0] != "train")
        if order:
            members = [open_table(str(file), data) for _, file in order]
            return stack_tables(path, members, [part for part, _ in order])
    table = Table(path, name, files, certain, data, reader, in_folder=media is not None)
    if reader.shape == Shape.TABLE and not table.by_file and any(map(names_texts, reader.columns)):
        return with_texts(table, table.folder, ids=False)
    return table


def _listed_texts(listing: Path | None, folder: Path, data: DataConfig) -> Table | None:
    """A table whose rows name texts in a folder."""
    if listing is None or not text_files(folder):
        return None
    table = with_texts(open_table(str(listing), data), folder, ids=True)
    return table if isinstance(table.reader, LinkedRows) else None


def _refuse_listed(folder: Path, data: DataConfig) -> None:
    """Raise a DataError for a folder of texts that a table beside it names."""
    try:
        listed = _listed_texts(listing_table(folder.absolute().parent), folder, data)
    except DataError:  # the table is not what was asked for
        return
    if listed is not None:
        raise DataError(
            f"its files are texts that {listed.name} names",
            where=folder,
            remedy=(
                f"name the folder of both, {Path(listed.name).parent}, or use ",
                Option(format="folder"),
                " for labels by the names of files",
            ),
        )


def _open_several(path: str, paths: Sequence[str], data: DataConfig) -> Table:
    """Tables one below the other, or two files line by line."""
    files = []
    for name in paths:
        side = find_files(name, encoding=data.encoding)
        if len(side) > 1 or name == STDIN:
            raise DataError(
                "one of several files must be a file",
                where=name,
                remedy="name files: tables a.csv,b.csv, or pairs of lines a.en,a.de",
            )
        files += side
    if data.format not in ("lines", "parallel"):
        tables = [open_table(file.name, data) for file in files if is_table(file, data)]
        if len(tables) == len(files) and min(len(table.columns) for table in tables) > 1:
            return stack_tables(path, tables)
    if len(files) > 2 or data.format not in (AUTO, "lines", "parallel", "labelled_lines"):
        raise DataError(
            "several files are tables with the same columns, or two files of pairs, line by line",
            where=path,
            remedy=("name one file, or leave out ", Option("format")),
        )
    labelled = data.format == AUTO and label_file(files) >= 0
    reader = FORMATS["labelled_lines" if labelled else "parallel"]
    return Table(path, path, files, True, data, reader(files, data))


def is_table(file: TextFile, data: DataConfig) -> bool:
    """Whether a file is a table by its name or the settings, rather than by its lines."""
    head, format = FileHead(file, data), FORMATS.get(data.format)
    readers = FORMATS.values() if format is None else [format]
    return any(r.shape == Shape.TABLE and (format or r.is_named(head)) for r in readers)
