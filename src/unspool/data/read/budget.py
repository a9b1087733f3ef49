"""Budget of reading: memory and processor time of what is decoded, however small it is stored.

A file may be held in `data.read_memory` megabytes, and in 64 times its size on disk if that is
more. All passes over the files together may take `data.read_seconds` of processor time, and if that
is more, 3 s for each megabyte that deflate leaves of the files, or 0.1 s for each on disk. Large
files are therefore never refused for their size, and small ones never grow without bounds, nor do
files that repeat a small content. Decoders declare what they are about to allocate (`hold`),
count what they decompress (`Counted`) and look at the clock (`tick`); `Reader.rows` times the rows
of every format.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, TypeVar

from unspool.config import DataConfig
from unspool.errors import DataError, Setting

MEGABYTE = 1 << 20
RATIO = 64  # bytes that are held for each byte on disk
PER_MEGABYTE = 3.0  # seconds for each megabyte that deflate leaves,
PER_STORED = 0.1  # and for each on disk
BLOCK, BLOCKS = 1 << 18, 16  # bytes and number of the blocks by which deflate is judged
QUICK, SLOW, CHUNK = 0.001, 0.01, 128  # seconds and rows of a chunk that is timed as one
JSON_SIZES = {",": 40, ":": 40, "[": 150, "{": 190}  # bytes of what each of them announces
T = TypeVar("T")


class TimeExceeded(DataError):
    """All the time for reading is spent, so no other file can be tried."""


class Budget:
    """The limits of what is read with some settings, and the seconds that are spent.

    sizes   of the files that have been read, by name
    since   the moment when what is being read now began; None: nothing is
    """

    def __init__(self, data: DataConfig) -> None:
        self.memory, self.seconds, self.spent = data.read_memory, data.read_seconds, 0.0
        self.sizes: dict[str, int] = {}
        self.deflated: dict[str, int] = {}
        self.blocks: set[bytes] = set()  # digests of those that were counted
        self.since: float | None = None

    @property
    def limit(self) -> float:
        """Seconds that all passes may take."""
        stored = sum(self.sizes.values()) / MEGABYTE
        if PER_MEGABYTE * stored <= self.seconds:
            return self.seconds
        for name in self.sizes.keys() - self.deflated.keys():
            self.deflated[name] = self._deflated(name)
        left = sum(self.deflated.values()) / MEGABYTE
        return max(self.seconds, PER_MEGABYTE * left, PER_STORED * stored)

    def _deflated(self, name: str) -> int:
        """Bytes that deflate leaves of a file, by some blocks of it; the same block counts once."""
        size, total, left = self.sizes[name], 0, 0
        starts = range(0, size, max(BLOCK, size // BLOCKS))
        try:
            with open(name, "rb", buffering=0) as file:
                for start in starts:
                    file.seek(start)
                    block = file.read(BLOCK)
                    total += len(block)
                    if (digest := hashlib.blake2b(block).digest()) not in self.blocks:
                        self.blocks.add(digest)
                        left += len(zlib.compress(block, 1))
        except OSError:  # a member of an archive, or standard input
            return size
        return min(size, round(size * left / max(total, 1)))

    @property
    def taken(self) -> float:
        """Seconds until now."""
        return self.spent + (0.0 if self.since is None else time.thread_time() - self.since)


# Decoders deep inside of fields know no settings. Threads that read nothing have none.
_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


def begin(data: DataConfig) -> None:
    """Start to read data with these settings."""
    _budget.set(Budget(data))


class Allowance:
    """Memory for one pass over one file, and its share of the time of all.

    name   for messages
    size   bytes on disk
    """

    def __init__(self, name: str, size: int = 0) -> None:
        self.name, self.held = name, 0
        self.budget = _budget.get() or Budget(DataConfig())
        self.memory = max(self.budget.memory * MEGABYTE, RATIO * size)
        if size:
            self.budget.sizes[name] = size

    def hold(self, size: int, what: str = "") -> None:
        """Declare bytes that stay in memory; a DataError where they are too many."""
        self.held += size
        if self.held > self.memory:
            raise DataError(
                f"would take {-(-self.held // MEGABYTE):,} MB of memory{f' ({what})' * bool(what)},"
                f" more than the {self.memory // MEGABYTE:,} MB that a file of this size may",
                where=self.name,
                remedy=("if you trust the file: ", Setting(read_memory=self._enough)),
            )

    def fits(self, size: int, what: str = "") -> None:
        """`hold`, of what is released again."""
        self.hold(size, what)
        self.held -= size

    @property
    def _enough(self) -> int:
        return 1 << (self.held // MEGABYTE).bit_length()

    def tick(self) -> None:
        """Raise a DataError where reading takes too long."""
        budget = self.budget
        if budget.taken > budget.seconds and budget.taken > (limit := budget.limit):
            budget.spent = 0.0
            raise TimeExceeded(
                f"takes more than {limit:.3g} s of processor time to read, which is long for its"
                " size",
                where=self.name,
                remedy=("if you trust the file: ", Setting(read_seconds=round(10 * limit))),
            )

    @contextmanager
    def spending(self) -> Iterator[Allowance]:
        """Count the time of a block, once if blocks are nested."""
        budget, outermost = self.budget, self.budget.since is None
        if outermost:
            budget.since = time.thread_time()
        try:
            yield self
            self.tick()
        finally:
            if outermost:
                budget.spent, budget.since = budget.taken, None

    def timed(self, rows: Iterable[T]) -> Iterator[T]:
        """The same rows; only the time to read them counts, not that of their consumer."""
        rows, count = iter(rows), 1
        while True:
            started, chunk, error = time.thread_time(), list[T](), None
            try:
                with self.spending():
                    chunk.extend(islice(rows, count))
            except DataError as bad_row:  # comes after the rows before it
                error = bad_row
            taken = time.thread_time() - started
            yield from chunk
            if error is not None:
                raise error
            if len(chunk) < count:
                return
            count = min(CHUNK, 2 * count) if taken < QUICK else 1 if taken > SLOW else count


class Counted(io.RawIOBase):
    """Decompressed content, whose bytes are counted."""

    def __init__(self, content: Any, allowance: Allowance) -> None:
        self._content, self._allowance = content, allowance

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._content.read(size if size >= 0 else self._allowance.memory + 1)
        self._allowance.hold(len(data), "decompressed")
        self._allowance.tick()
        return data


def json_size(text: str) -> int:
    """Bytes that the values of a JSON text take."""
    return len(text) + sum(size * text.count(mark) for mark, size in JSON_SIZES.items())


_stored: dict[str, int] = {}  # sizes of compressed files, by the paths of their contents


def derived(path: str | os.PathLike[str], size: int) -> None:
    """Count a temporary file as the file of this size that it was made of."""
    _stored[os.fspath(path)] = size


def size_of(path: str | os.PathLike[str]) -> int:
    """Bytes of a file on disk; 0 where it cannot be seen."""
    try:
        return _stored.get(os.fspath(path)) or os.stat(path).st_size
    except (OSError, ValueError):
        return 0
