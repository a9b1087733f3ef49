"""word2vec's formats of vectors, plain or gzip: a first line of count and size, then a word a line
with its numbers (text), or words and floats of 32 bits (binary). GloVe's text has no first line.

A path in, `WordVectors` out; whatever is wrong with the file is a DataError.
"""

from __future__ import annotations

import gzip
import re
import warnings
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from unspool.data.read.files import TextFile, unreadable
from unspool.errors import DataError
from unspool.io.files import open_regular
from unspool.vectors.words import WordVectors

HEAD = 1 << 16  # bytes
ROWS = 4096  # of text, parsed at once
READ = 1 << 22  # bytes of binary vectors, read at once
LARGEST = float(np.finfo(np.float32).max)
NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
COPY_AGAIN = "copy or download it again"


def open_bytes(path: Path, name: str) -> BinaryIO:
    try:
        file = open_regular(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, name, error) from None
    if file.read(2) == b"\x1f\x8b":
        file.close()
        return gzip.open(path, "rb")  # type: ignore[return-value]
    file.seek(0)
    return file


def read_head(path: Path, name: str) -> bytes:
    with open_bytes(path, name) as file:
        head = read_bytes(file, HEAD, name)
    if not head.strip():
        raise DataError("the file is empty", where=name, remedy="name a file that holds vectors")
    return head


def read_bytes(file: BinaryIO, count: int, name: str) -> bytes:
    try:
        return file.read(count)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"the gzip file is damaged or ends too early ({str(error).lower()})",
            where=name,
            remedy=COPY_AGAIN,
        ) from None
    except OSError as error:
        raise unreadable(Path(name), name, error) from None


class VectorHeader(NamedTuple):
    """The first line of word2vec's formats."""

    rows: int
    size: int
    length: int  # bytes of the line


def parse_header(head: bytes) -> VectorHeader | None:
    """`count size`, or None where the first line is something else."""
    line, newline, _ = head.partition(b"\n")
    fields = line.split()
    if not newline or len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    # A number of thousands of digits is none that Python reads, nor any that is true.
    rows, size = (int(field) if len(field) < 19 else 10**18 for field in fields)
    return VectorHeader(rows, size, len(line) + 1)


def checked(header: VectorHeader, name: str) -> VectorHeader:
    if header.rows < 1 or header.size < 1:
        raise DataError(
            "the first line must be the number of vectors and their size",
            where=f"{name}:1",
            got=f"{header.rows} {header.size}",
            remedy=COPY_AGAIN,
        )
    return header


def wrong_count(header: VectorHeader, count: int, name: str) -> DataError:
    return DataError(
        f"the first line promises {header.rows:,} vectors of size {header.size:,}, and {count:,}"
        " whole ones follow",
        where=f"{name}:1",
        remedy=COPY_AGAIN,
    )


def twice(word: str, where: str, before: str) -> DataError:
    return DataError(
        f"the word has a vector before, in {before}",
        where=where,
        got=word,
        remedy="remove one of the two",
    )


def read_text(file: TextFile, header: VectorHeader | None) -> WordVectors:
    """Lines of a word and its numbers, with spaces between them."""
    lines = enumerate(file.lines(), start=1)
    size = None
    if header is not None:
        next(lines)
        size = checked(header, file.name).size
    words: dict[str, int] = {}  # and the line of each
    blocks: list[np.ndarray] = []
    while block := list(islice(lines, ROWS)):
        rows = [(number, line.rstrip()) for number, line in block if line.strip()]
        size = len(rows[0][1].split(" ")) - 1 if size is None and rows else size
        if not rows or size is None:
            continue
        cut = [_cut(line, size, f"{file.name}:{number}") for number, line in rows]
        blocks.append(_numbers(cut, [f"{file.name}:{number}" for number, _ in rows], size))
        for (number, _), (word, _) in zip(rows, cut):
            if word in words:
                raise twice(word, f"{file.name}:{number}", f"line {words[word]}")
            words[word] = number
    matrix = np.concatenate(blocks) if blocks else np.empty((0, size or 0), np.float32)
    if header is not None and header.rows != len(words):
        raise wrong_count(header, len(words), file.name)
    return WordVectors(list(words), matrix, source=file.name)


def _cut(line: str, size: int, where: str) -> tuple[str, str]:
    """The word of a line and the rest of it, `size` numbers. A word may hold spaces, but no number
    after one."""
    word, _, numbers = line.partition(" ")
    fields = numbers.split()
    extra = len(fields) - size
    if size < 1 or extra < 0 or (extra > 0 and any(map(_is_number, fields[:extra]))):
        raise DataError(
            f"has {len(fields)} numbers after the word, others have {size}",
            where=where,
            remedy="correct or remove the line",
        )
    if extra > 0:
        parts = line.rsplit(" ", size)
        word, numbers = parts[0], " ".join(parts[1:])
    return word, numbers


def _is_number(text: str) -> bool:
    """Return whether C would parse it; Python also accepts 1_000 and digits of other scripts."""
    return NUMBER.fullmatch(text) is not None


def _numbers(cut: list[tuple[str, str]], where_of: list[str], size: int) -> np.ndarray:
    """(rows, size) float32; where a row holds anything else, an error that names its line."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            # One call on a long string is ten times as fast as one for each number.
            numbers = np.fromstring(" ".join(rest for _, rest in cut), np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            numbers = np.empty(0, np.float32)
    if numbers.size == len(cut) * size and np.isfinite(numbers).all():
        return numbers.reshape(len(cut), size)
    for (_, rest), where in zip(cut, where_of):
        for field in rest.split():
            if not _is_number(field) or not abs(float(field)) <= LARGEST:
                raise DataError(
                    "is not a finite number",
                    where=where,
                    got=field,
                    remedy="correct or remove the line",
                )
    odd = next((i for i, (_, rest) in enumerate(cut) if not rest.isascii()), 0)
    raise DataError(
        "has something else than spaces between its numbers",
        where=where_of[odd],
        got=cut[odd][1],
        remedy="correct or remove the line",
    )


def read_binary(path: Path, name: str, header: VectorHeader) -> WordVectors:
    """word2vec's binary format: after the header `word`, a space, and E floats of 32 bits."""
    count, size, skip = checked(header, name)
    try:
        matrix = np.empty((count, size), np.float32)
    except (MemoryError, ValueError):
        raise wrong_count(header, 0, name) from None
    words: dict[str, int] = {}
    with open_bytes(path, name) as file:
        records = _records(file, name, skip, 4 * size)
        for number, (raw, vector) in enumerate(islice(records, count), start=1):
            where = f"{name}: vector {number}"
            try:
                word = raw.decode("utf-8")
            except UnicodeDecodeError:
                raise DataError(
                    "its word is not valid UTF-8", where=where, got=raw, remedy=COPY_AGAIN
                ) from None
            if word in words:
                raise twice(word, where, f"vector {words[word]}")
            words[word] = number
            matrix[number - 1] = np.frombuffer(vector, "<f4")
        if len(words) < count:
            raise wrong_count(header, len(words), name)
        if next(records, None) is not None:
            raise DataError(
                f"goes on after the {count:,} vectors that its first line promises",
                where=name,
                remedy=COPY_AGAIN,
            )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise DataError(
            "holds a number that is not finite",
            where=f"{name}: vector {bad[0] + 1}",
            got=list(words)[bad[0]],
            remedy=COPY_AGAIN,
        )
    return WordVectors(list(words), matrix, source=name)


def _records(file: BinaryIO, name: str, skip: int, length: int) -> Iterator[tuple[bytes, bytes]]:
    """(word, `length` bytes) again and again; an unfinished last one is left out."""
    data, at = b"", skip
    while True:
        space = data.find(b" ", at)
        if space < 0 or space + 1 + length > len(data):
            more = read_bytes(file, READ + length, name)
            if not more:
                return
            data, at = data[at:] + more, max(0, at - len(data))
            continue
        end = space + 1 + length
        yield data[at:space].lstrip(b"\n"), data[space + 1 : end]
        at = end
