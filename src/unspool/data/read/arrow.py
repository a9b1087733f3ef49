"""Parquet, and Arrow's own file and stream formats (Feather): columns with types."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from unspool.config import DataConfig
from unspool.data.read.budget import Allowance
from unspool.data.read.files import LINE_RATIO, Report, TextFile
from unspool.data.read.reader import Column, Reader, Row, Shape, sampled
from unspool.data.read.thrift import Struct, ThriftReader
from unspool.errors import DataError

BATCH = 256  # rows in memory at once, at most
LOOKED_AT = 128 << 20  # bytes after which no more rows are looked at
PIECE = 16 << 20  # bytes of texts and lists that are decoded at once, unless a row has more
TEXTS = ("string", "large_string")  # types
OBJECT = 56  # bytes of a value in a list
NEXT_I32 = 0x15  # before the next field of a structure, an int32
FILE_MAGIC = 8  # bytes before the stream that an Arrow file holds
DICTIONARY_BATCH = 2  # type of a message


class Parquet(Reader):
    """The line of a row is its number, from 1."""

    name = "parquet"
    shape = Shape.TABLE
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    magic = b"PAR1"
    title = "Parquet"
    typed = binary = header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.names = self.read_names(files[0])
        self.columns = sampled(self.names, self._first(files[0]))
        if not self.columns or not self.columns[0].sample:
            raise DataError(
                "the table has no rows", where=files[0].name, remedy="name a file with rows"
            )
        for column in self.columns:
            refuse_sound(column, files[0].name)

    def _first(self, file: TextFile) -> Iterator[tuple[Any, ...]]:
        """The rows to look at: fewer where they are long."""
        total = 0
        for rows, size in self._batches(file, range(len(self.names))):
            yield from (row.values for row in rows)
            total += size
            if total > LOOKED_AT:
                return

    def read_names(self, file: TextFile) -> list[str]:
        with opened(file) as arrow:
            return list(arrow.parquet.read_schema(file.unpacked()).names)

    def batches(self, file: TextFile, names: list[str]) -> Iterator[Any]:
        with opened(file) as arrow:
            path, allowed = file.unpacked(), file.allowance()
            with arrow.parquet.ParquetFile(path) as content:
                longest = hold_groups(path, allowed)
                rows = min(BATCH, max(1, allowed.memory // max(1, 8 * longest)))
                yield from content.iter_batches(rows, columns=names)

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        return (row for rows, _ in self._batches(file, numbers) for row in rows)

    def _batches(
        self, file: TextFile, numbers: Sequence[int]
    ) -> Iterator[tuple[Iterator[Row], int]]:
        """The rows of each batch, and their bytes."""
        names = [self.names[i] for i in numbers]
        lines, allowed = count(1), file.allowance()
        with opened(file):
            for batch in self.batches(file, list(dict.fromkeys(names))):
                batch.validate(full=True)  # offsets of a damaged one would lead outside of the file
                for piece in pieces_of(batch):
                    size = max(2 * piece.nbytes, decoded_size(piece))
                    allowed.fits(size, "a batch of rows")
                    columns = [values_of(piece.column(name)) for name in names]
                    yield (Row(values, next(lines)) for values in zip(*columns)), size


class Arrow(Parquet):
    name = "arrow"
    suffixes = (".arrow", ".feather", ".ipc")
    magic = b"ARROW1"
    title = "Arrow"

    def read_names(self, file: TextFile) -> list[str]:
        with opened(file) as arrow, arrow.memory_map(str(file.unpacked())) as source:
            return list(stream(arrow, source).schema.names)

    def batches(self, file: TextFile, names: list[str]) -> Iterator[Any]:
        with opened(file) as arrow, arrow.memory_map(str(file.unpacked())) as source:
            hold_batches(arrow, source, file.allowance())
            content = stream(arrow, source)
            if hasattr(content, "num_record_batches"):
                batches = map(content.get_batch, range(content.num_record_batches))
            else:
                batches = iter(content)
            for batch in batches:
                columns = batch.select(names)
                for start in range(0, columns.num_rows, BATCH):
                    yield columns.slice(start, BATCH)


def refuse_sound(column: Column, name: str) -> None:
    """Recordings inside of cells are not read, and what stands beside them is not a corpus."""
    first = next((value for value in column.sample if value is not None), None)
    data = first.get("bytes") if isinstance(first, dict) else first
    if isinstance(data, bytes) and (
        data.startswith((b"fLaC", b"OggS", b"ID3", b"\xff\xfb"))
        or (data[:4], data[8:12]) == (b"RIFF", b"WAVE")
    ):
        raise DataError(
            f"column {column.name!r} holds recordings of sound, which are read from files",
            where=name,
            remedy="write each to a file, and a table of their names beside them",
        )


def pieces_of(batch: Any) -> Iterator[Any]:
    """A batch in parts of fewer rows where long texts or lists of many values stand in them."""
    rows = max(1, PIECE * batch.num_rows // max(1, decoded_size(batch)))
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def decoded_size(values: Any) -> int:
    """Bytes of what the texts, lists and objects of a column or of a batch become."""
    parts = values.columns if hasattr(values, "columns") else [values]
    total = 0
    for part in parts:
        if str(part.type) in TEXTS:
            total += LINE_RATIO * part.nbytes
        if hasattr(part, "flatten"):
            inner = part.flatten()
            inner = inner if isinstance(inner, list) else [inner]
            total += sum(map(decoded_size, inner)) + OBJECT * sum(map(len, inner))
    return total


def values_of(column: Any) -> Iterable[Any]:
    """The values of a column of a batch; those of a dictionary are decoded once, if they occur."""
    if not hasattr(column, "dictionary"):
        return map(plain, column.to_pylist())
    used = column.indices.drop_null().unique()
    values = map(plain, column.dictionary.take(used).to_pylist())
    return map(dict(zip(used.to_pylist(), values)).get, column.indices.to_pylist())


def hold_groups(path: Path, allowed: Allowance) -> int:
    """Declare the largest group of rows: its pages, and the elements of lists, which may be one
    value of a dictionary a million times. Returns the bytes of the largest dictionaries, of which
    one value may stand in every row."""
    longest = 0
    with described(), open(path, "rb") as file:
        for i, group in enumerate(row_groups(file)):
            columns = [chunk[META] for chunk in group[COLUMNS] if META in chunk]
            size = sum(column[SIZE] for column in columns)
            size += sum(8 * c[VALUES] for c in columns if c[VALUES] > group[ROWS])
            allowed.fits(size, f"group {i + 1} of rows")
            texts = [column for column in columns if column[TYPE] == BYTE_ARRAY]
            longest = max(longest, sum(dictionary_size(c, file) for c in texts))
    return longest


# Numbers of fields of the structures FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
GROUPS, COLUMNS, ROWS, META = 4, 1, 3, 3
TYPE, VALUES, SIZE, DICTIONARY = 1, 5, 6, 11
BYTE_ARRAY = 6  # the type of texts


def row_groups(file: BinaryIO) -> list[Struct]:
    """The groups of rows as the footer describes them."""
    end = file.seek(-8, os.SEEK_END)
    size = int.from_bytes(file.read(4), "little")
    file.seek(max(0, end - size))
    groups: list[Struct] = ThriftReader(file.read(size)).struct()[GROUPS]
    return groups


@contextmanager
def described() -> Iterator[None]:
    """Give descriptions without a field that must be there an error that says so."""
    try:
        yield
    except (KeyError, TypeError):
        raise ValueError("damaged description") from None


def dictionary_size(column: Struct, file: BinaryIO) -> int:
    """Bytes of a column's dictionary, by the header of its page."""
    offset = column.get(DICTIONARY, 0)
    if offset <= 0:
        return 0
    file.seek(offset)
    reader = ThriftReader(file.read(64))
    try:
        kind, _ = reader.byte(), reader.integer()
        return max(0, reader.integer()) if kind == NEXT_I32 == reader.byte() else 0
    except ValueError:
        return 0


def hold_batches(arrow: Any, source: Any, allowed: Allowance) -> None:
    """Declare the largest batch whose buffers are compressed: each begins with its size."""
    source.seek(FILE_MAGIC if source.read(6) == b"ARROW1" else 0)
    messages = arrow.ipc.MessageReader.open_stream(source)
    for message in messages:
        if message.type != "record batch" and message.type != "dictionary":
            continue
        body = memoryview(message.body) if message.body is not None else memoryview(b"")
        sizes = [
            int.from_bytes(body[offset : offset + 8], "little", signed=True)
            for offset, length in compressed_buffers(bytes(message.metadata))
            if length >= 8
        ]
        allowed.fits(sum(size for size in sizes if size > 0), "a batch")
    source.seek(0)


def compressed_buffers(message: bytes) -> list[tuple[int, int]]:
    """(offset, length) of the compressed buffers of a message in FlatBuffers: Message.header ->
    RecordBatch, or DictionaryBatch.data -> RecordBatch; of this `compression` and `buffers`."""

    def field(table: int, number: int) -> int:
        """Position of a field of a table; 0 where it is absent."""
        vtable = table - struct.unpack_from("<i", message, table)[0]
        if 4 + 2 * number >= struct.unpack_from("<H", message, vtable)[0]:
            return 0
        offset = struct.unpack_from("<H", message, vtable + 4 + 2 * number)[0]
        return table + offset if offset else 0

    def pointed(at: int) -> int:
        return at + int(struct.unpack_from("<I", message, at)[0])

    try:
        root = pointed(0)
        batch = pointed(field(root, 2))
        if message[field(root, 1)] == DICTIONARY_BATCH:
            batch = pointed(field(batch, 1))
        if not field(batch, 3):
            return []
        buffers = pointed(field(batch, 2))
        count = struct.unpack_from("<I", message, buffers)[0]
        return [struct.unpack_from("<qq", message, buffers + 4 + 16 * i) for i in range(count)]
    except (struct.error, IndexError):
        return []  # damaged, which the parser reports


def stream(arrow: Any, source: Any) -> Any:
    try:
        return arrow.ipc.open_file(source)
    except arrow.ArrowInvalid:
        source.seek(0)
        return arrow.ipc.open_stream(source)


def plain(value: Any) -> Any:
    """A missing number is None; a date is written out."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, str):
        return value.strip()
    return value.isoformat() if hasattr(value, "isoformat") else value


@contextmanager
def opened(file: TextFile) -> Iterator[Any]:
    """pyarrow; whatever it says about a file becomes one line."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            "Parquet and Arrow files are read by pyarrow, which is not installed",
            where=file.name,
            remedy="pip install 'unspool[parquet]', or save the table as CSV",
        ) from None
    try:
        yield pyarrow
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"cannot be read ({reason})", where=file.name, remedy="copy or write it again"
        ) from None
