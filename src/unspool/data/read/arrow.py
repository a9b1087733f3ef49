"""Parquet, and Arrow's own file and stream formats (Feather): columns with types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, ClassVar

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import Column, Reader, Row, Shape, sampled
from unspool.errors import DataError

BATCH = 4096  # rows in memory at once


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
        rows = self.read(files[0], range(len(self.names)), None)
        self.columns = sampled(self.names, (row.values for row in rows))
        if not self.columns or not self.columns[0].sample:
            raise DataError(
                "the table has no rows", where=files[0].name, remedy="name a file with rows"
            )
        for column in self.columns:
            refuse_sound(column, files[0].name)

    def read_names(self, file: TextFile) -> list[str]:
        with opened(file) as arrow:
            return list(arrow.parquet.read_schema(file.unpacked()).names)

    def batches(self, file: TextFile, names: list[str]) -> Iterator[Any]:
        with opened(file) as arrow, arrow.parquet.ParquetFile(file.unpacked()) as content:
            yield from content.iter_batches(BATCH, columns=names)

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        names = [self.names[i] for i in numbers]
        lines = count(1)
        with opened(file):
            for batch in self.batches(file, list(dict.fromkeys(names))):
                batch.validate(full=True)  # offsets of a damaged one would lead outside of the file
                columns = [map(plain, batch.column(name).to_pylist()) for name in names]
                for values in zip(*columns):
                    yield Row(values, next(lines))


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
            content = stream(arrow, source)
            if hasattr(content, "num_record_batches"):
                batches = map(content.get_batch, range(content.num_record_batches))
            else:
                batches = iter(content)
            for batch in batches:
                yield batch.select(names)


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
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"cannot be read ({reason})", where=file.name, remedy="copy or write it again"
        ) from None
