"""The bytes of a vector file, plain or gzip, and the first line that word2vec gives them.

A path in, bytes and a `Header` out; whatever is wrong with them is a DataError.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, NamedTuple

from unspool.data.read.files import unreadable
from unspool.errors import DataError

HEAD = 1 << 16
COPY_AGAIN = "copy or download it again"


def open_bytes(path: Path, name: str) -> BinaryIO:
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as error:
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


class Header(NamedTuple):
    """The first line of word2vec's formats."""

    rows: int
    size: int
    length: int  # bytes of the line


def parse_header(head: bytes) -> Header | None:
    """`count size`, or None where the first line is something else."""
    line, newline, _ = head.partition(b"\n")
    fields = line.split()
    if not newline or len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    return Header(int(fields[0]), int(fields[1]), len(line) + 1)


def checked(header: Header, name: str) -> Header:
    if header.rows < 1 or header.size < 1:
        raise DataError(
            "the first line must be the number of vectors and their size",
            where=f"{name}:1",
            got=f"{header.rows} {header.size}",
            remedy=COPY_AGAIN,
        )
    return header


def wrong_count(header: Header, found: int, name: str) -> DataError:
    return DataError(
        f"the first line promises {header.rows:,} vectors of size {header.size:,}, and {found:,}"
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
