"""Base class of formats: a reader knows the columns of its files and reads their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum, StrEnum
from functools import cached_property, wraps
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from unspool.config import DataConfig
from unspool.data.profile import ColumnProfile
from unspool.data.read.files import Report, TextFile
from unspool.io.files import naming

if TYPE_CHECKING:
    from unspool.data.read.media import Medium

T = TypeVar("T")
SAMPLE = 1000  # rows looked at
SAMPLED = 1 << 25  # characters after which no more rows are looked at


class Shape(StrEnum):
    """The rows of a format."""

    TABLE = "table"  # cells or JSON values under the names that a file gives its columns
    CORPUS = "corpus"  # the columns of one corpus, such as question, context and answer
    TEXTS = "texts"  # plain text, perhaps with labels
    FOLDER = "folder"  # files of text, labelled by their names or folders
    PAIRS = "pairs"  # two files, line by line
    SENTENCES = "sentences"  # a token a line, in columns
    SERIES = "series"  # vectors over time
    DRAWINGS = "drawings"  # strokes of a pen
    FILES = "files"  # a file of a medium each
    ARRAYS = "arrays"  # values of a medium, in arrays


class Match(IntEnum):
    """The confidence that a file has a format."""

    NO = 0
    LIKELY = 1  # by the look of its lines
    CERTAIN = 2

    def when(self, condition: object) -> Match:
        """This match if the condition holds, otherwise none."""
        return self if condition else Match.NO


class FileHead:
    """The beginning of a file, read once, and the settings that it is read with."""

    def __init__(self, file: TextFile, data: DataConfig) -> None:
        self.file, self.data = file, data

    @cached_property
    def name(self) -> str:
        return self.file.content_name

    @cached_property
    def suffix(self) -> str:
        return Path(self.name).suffix.lower()

    @cached_property
    def magic(self) -> bytes:
        """The first bytes as they are on disk."""
        return self.file.first_bytes()

    @cached_property
    def start(self) -> str:
        return next(self.file.blocks(), "")

    @cached_property
    def lines(self) -> list[str]:
        return self.file.head(SAMPLE)


class _Column(NamedTuple):
    name: str
    number: int
    sample: list[Any]
    parts: tuple[Column, ...] = ()
    glue: str | None = None


class Column(_Column):
    """A column, as far as it is known without reading the whole file.

    name     the header's, a JSON field's, CoNLL-U's; "1", "2", ... where there is no header
    number   from 0
    sample   the raw values of the first rows, at most 1000
    parts    several columns that are read as one: a value is the list of theirs, or
    glue     theirs with this between them, but for empty ones
    """

    def __hash__(self) -> int:
        return hash((self.name, self.number))

    @cached_property
    def profile(self) -> ColumnProfile:
        return ColumnProfile(self.sample)

    @property
    def members(self) -> tuple[Column, ...]:
        """The columns of the file that it consists of."""
        return self.parts or (self,)

    def value(self, values: list[Any]) -> Any:
        """The value of a row, of those of its parts."""
        filled = [value for value in values if value not in (None, "")]
        if self.glue is None or not all(isinstance(value, str) for value in filled):
            return values
        return self.glue.join(filled)


def fact(function: Callable[[Column], T]) -> Callable[[Column], T]:
    """A function of a column that computes its result once: plans ask about every column often."""
    key = f"{function.__module__}.{function.__name__}"

    @wraps(function)
    def known(column: Column) -> T:
        facts = vars(column)
        if key not in facts:
            facts[key] = function(column)
        return facts[key]

    return known


def joined(columns: Sequence[Column], glue: str | None = None) -> Column:
    """Several columns as one; a single one as it is."""
    if len(columns) == 1:
        return columns[0]
    name = ", ".join(column.name for column in columns)
    whole = Column(name, columns[0].number, [], tuple(columns), glue)
    rows = zip(*(column.sample for column in columns))
    return whole._replace(sample=[whole.value(list(values)) for values in rows])


class Row(NamedTuple):
    """The raw values of the columns that were asked for; the line where the row starts, and the
    number of its file.

    A cell or a line is a str without white space around it; a piece of one long text is a str as it
    stands; a JSON value is as it stands; the tokens of a CoNLL sentence are a list[str].
    """

    values: tuple[Any, ...]
    line: int
    file: int = 0


Record = tuple[int, Sequence[Any]]  # a line, and the values of all columns


def sampled(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[Column]:
    """Columns of these names, by the values of the first rows: fewer where their texts are long."""
    first, size = list[Sequence[Any]](), 0
    for row in islice(rows, SAMPLE):
        first.append(row)
        size += sum(len(value) for value in row if isinstance(value, str))
        if size > SAMPLED:
            break
    return [Column(name, i, [row[i] for row in first]) for i, name in enumerate(names)]


class Change(NamedTuple):
    """A new value of a column in one row."""

    column: Column
    before: str
    after: str


FACTS = (
    "name", "shape", "medium", "title", "typed", "binary", "one_row", "noun", "header", "marked",
    "label_source", "stroke_layout", "first_line", "remark", "stacked", "bad_files",
)  # fmt: skip


class Reader:
    """The rows of some files in one format. The constructor looks at the first rows.

    name         of the format, in settings and in `FORMATS`
    shape        what the rows are
    suffixes     of the names of its files
    file_pattern of their names, where no suffix is enough
    magic        first bytes of its files, by which they are recognised under any name
    medium       of the values, where these are images, sound and the like
    title        what the summary calls the format
    first_line   where the first row starts
    typed        whether values may be numbers, lists and the like, not only strings
    binary       whether the files have no encoding
    one_row      whether a file is one row, so that a message needs no line
    stacked      whether several files are parts of one table, rather than a recording each
    editable     whether `rewrite` can change values of a row
    marked       whether labels are marked as such in each line of text
    label_source   what labels texts in folders
    stroke_layout  how strokes are nested
    noun         what a column is called
    remark       what else the summary says: which sheet of several
    bad_files    messages about files that were left out, as they cannot be read
    options      what decides, besides the content of the files, what is read: for keys of caches
    """

    name: ClassVar[str]
    shape: ClassVar[Shape]
    suffixes: ClassVar[tuple[str, ...]] = ()
    file_pattern: ClassVar[re.Pattern[str] | None] = None
    magic: ClassVar[bytes] = b""
    medium: ClassVar[Medium | None] = None
    title: ClassVar[str]
    typed: bool = False
    binary: ClassVar[bool] = False
    one_row: ClassVar[bool] = False
    stacked: bool = False
    editable: ClassVar[bool] = False
    marked: ClassVar[bool] = False
    label_source: ClassVar[str] = ""
    stroke_layout: ClassVar[str] = "points"
    noun: ClassVar[str] = "column"
    header: bool = False
    remark: str = ""
    bad_files: Sequence[str] = ()
    first_line: int = 1
    columns: list[Column]

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        self.files = files

    def share(self, inner: Reader) -> None:
        """Take over the facts of the reader whose rows this one changes."""
        for name in FACTS:
            setattr(self, name, getattr(inner, name))

    @classmethod
    def is_named(cls, head: FileHead) -> bool:
        """Whether the file is called like one of this format."""
        matches = cls.file_pattern is not None and cls.file_pattern.fullmatch(head.name) is not None
        return matches or head.suffix in cls.suffixes

    @classmethod
    def is_signed(cls, head: FileHead) -> bool:
        """Whether a file that begins with `magic` has this format."""
        return True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """Whether the content of a file has this format.

        Called for files that are named so, where several formats share a suffix; and, unless the
        format is binary, for files whose suffix belongs to no format.
        """
        return Match.NO

    @classmethod
    def probe(cls, file: TextFile, data: DataConfig) -> tuple[str, ...]:
        """Read a whole file and return the names of its columns; a DataError where that fails."""
        reader = cls([file], data)
        for _ in reader.rows(range(len(reader.columns))):
            pass
        return tuple(column.name for column in reader.columns)

    @property
    def options(self) -> dict[str, Any]:
        return {}

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        """The line and the values of all columns of every row of one file."""
        raise NotImplementedError

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        """The rows of one file, with the values of the columns of these numbers."""
        for line, values in self.records(file, report):
            yield Row(tuple(values[i] for i in numbers), line)

    def rows(self, numbers: Sequence[int], report: Report = None) -> Iterator[Row]:
        """The rows of all files; `report` gets the share of their bytes that has been read."""
        ends = list(accumulate(max(1, file.size()) for file in self.files))
        for i, file in enumerate(self.files):
            start = ends[i - 1] if i else 0
            part = rescaled(report, start / ends[-1], (ends[i] - start) / ends[-1])
            rows = file.allowance().timed(self.read(file, numbers, part))
            with naming(file.name):
                yield from rows if i == 0 else (row._replace(file=i) for row in rows)

    def rewrite(self, block: str, changes: Sequence[Change]) -> str:
        """The lines of a row with other values in some columns."""
        (change,) = changes  # the text, with which a line ends
        return block.strip().removesuffix(change.before) + one_line(change.after) + "\n"

    def as_written(self) -> Reader:
        """A reader of the same rows that leaves cells as they are written."""
        return self

    def reread(self, reader: type[Reader], data: DataConfig) -> Reader:
        """A reader of another format, or with other settings, of the same files."""
        return reader(self.files, data)

    def sources(self, column: Column) -> tuple[str, ...]:
        """The names, in the file, of what a column is made of."""
        return tuple(member.name for member in column.members)

    def token_line(self, row: int, token: int) -> int:
        """The line of a token of a row, for a message: the file is read once more."""
        return next(islice(self.rows([0]), row, None)).line


def rescaled(report: Report, start: float, share: float) -> Report:
    return None if report is None else lambda fraction: report(start + share * fraction)


def one_line(value: str, delimiter: str = "\n") -> str:
    return value.replace("\r", " ").replace("\n", " ").replace(delimiter, " ")
