"""Vectors in word2vec's binary format: after its first line, words and floats of 32 bits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from unspool.errors import DataError
from unspool.vectors.opening import (
    COPY_AGAIN,
    Header,
    checked,
    open_bytes,
    read_bytes,
    twice,
    wrong_count,
)
from unspool.vectors.words import WordVectors

READ = 1 << 22  # bytes at once


def read_binary(path: Path, name: str, header: Header) -> WordVectors:
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
