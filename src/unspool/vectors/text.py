"""Vectors as lines of text: a word and its numbers, with spaces between them."""

from __future__ import annotations

import warnings
from itertools import islice

import numpy as np

from unspool.data.read.files import TextFile
from unspool.errors import DataError
from unspool.vectors.opening import Header, checked, twice, wrong_count
from unspool.vectors.words import WordVectors

ROWS = 4096  # parsed at once
LARGEST = float(np.finfo(np.float32).max)


def read_text(file: TextFile, header: Header | None) -> WordVectors:
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
            remedy="mend or remove the line",
        )
    if extra > 0:
        parts = line.rsplit(" ", size)
        word, numbers = parts[0], " ".join(parts[1:])
    return word, numbers


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(cut: list[tuple[str, str]], where_of: list[str], size: int) -> np.ndarray:
    """(rows, size) float32; where a row holds anything else, an error that names its line."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            # One call on a long string is ten times as fast as one for each number.
            found = np.fromstring(" ".join(rest for _, rest in cut), np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            found = np.empty(0, np.float32)
    if found.size == len(cut) * size and np.isfinite(found).all():
        return found.reshape(len(cut), size)
    for (_, rest), where in zip(cut, where_of):
        for field in rest.split():
            if not _is_number(field) or not abs(float(field)) <= LARGEST:
                raise DataError(
                    "is not a finite number",
                    where=where,
                    got=field,
                    remedy="mend or remove the line",
                )
    raise AssertionError("numpy and Python disagree about a number")
