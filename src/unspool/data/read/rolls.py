"""Files of many pieces: JSON of lists of pitches, and MATLAB's piano rolls; a row a piece.

{"train": [[[60, 64, 67], [62, 65, 69]], ...], "valid": [...], "test": [...]}    .json
traindata, validdata, testdata: cells of arrays (steps, 88)                      .mat

As of Boulanger-Lewandowski et al. (2012). The names are the parts of the data; without names, a
JSON file is one list of pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile
from unspool.data.read.matlab import stored_matlab
from unspool.data.read.media import MUSIC
from unspool.data.read.music import KEYS
from unspool.data.read.reader import SAMPLE, Column, FileHead, Match, Reader, Record, Shape
from unspool.errors import DataError
from unspool.io.files import parse_json

PARTS = {"train": "train", "valid": "valid", "validation": "valid", "val": "valid", "test": "test"}
# The beginning of a list of pieces: lists in lists in lists, of numbers or of nothing.
LISTS = r"\[\s*\[\s*\[\s*(-?[\d\]]|null|NaN)"
NAMED = re.compile(rf'\s*\{{\s*"({"|".join(PARTS)})"\s*:\s*{LISTS}', re.IGNORECASE)
UNNAMED = re.compile(rf"\s*{LISTS}")


class Held(NamedTuple):
    """A piece as a file has it, and the part that it belongs to."""

    raw: Any
    part: str


class Rolls(Reader):
    """Columns: the music, and its part."""

    shape = Shape.SERIES
    medium = MUSIC
    typed = binary = header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        pieces = self.pieces(files[0])
        if not pieces:
            raise DataError("holds no music", where=files[0].name, remedy="name another file")
        self.columns = [Column("music", 0, [piece.raw for piece in pieces[:SAMPLE]])]
        parts = list(dict.fromkeys(piece.part for piece in pieces))
        if any(parts):
            self.columns.append(Column("part", 1, [piece.part for piece in pieces[:SAMPLE]]))
            self.remark = "in the parts " + ", ".join(parts)

    def pieces(self, file: TextFile) -> list[Held]:
        raise NotImplementedError

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        """The line of a piece is its number, from 1."""
        return enumerate(self.pieces(file), 1)


class Chorales(Rolls):
    name = "chorales"
    suffixes = (".json",)
    title = "pieces of music as lists of pitches"

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """Parts of lists of pieces; a list of pieces is enough where music is asked for."""
        requested = head.data.input == "music"
        match = NAMED.match(head.start) or (requested and UNNAMED.match(head.start))
        return Match.CERTAIN.when(match)

    def pieces(self, file: TextFile) -> list[Held]:
        path = file.unpacked()
        return json_pieces(path, file.name, path.stat().st_mtime_ns)


class PianoRolls(Rolls):
    name = "rolls"
    suffixes = (".mat",)
    title = "piano rolls of MATLAB"

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """Music is asked for, or arrays have a column a key."""
        if head.data.input == cls.medium.name:
            return Match.CERTAIN
        rolls = matlab_pieces(stored_matlab(head.file))
        return Match.CERTAIN.when(rolls and all(held.raw.shape[1] == KEYS for held in rolls))

    def pieces(self, file: TextFile) -> list[Held]:
        return matlab_pieces(stored_matlab(file))


@lru_cache(1)
def json_pieces(path: Path, name: str, changed: int) -> list[Held]:
    try:
        stored = parse_json(TextFile(path, name).whole().encode())
    except (OSError, ValueError) as error:
        raise DataError(
            f"not valid JSON ({error})", where=name, remedy="correct it, or write it again"
        ) from None
    parts = stored if isinstance(stored, dict) else {"": stored}
    pieces = []
    for part, rolls in parts.items():
        if not isinstance(rolls, list) or not all(isinstance(roll, list) for roll in rolls):
            raise DataError(
                f"{part!r} is not a list of pieces" if part else "is not a list of pieces",
                where=name,
                remedy='write {"train": [[[60, 64], [62, 65]], ...]}: pieces of steps of pitches',
            )
        pieces += [Held(roll, part_name(part)) for roll in rolls]
    return pieces


def matlab_pieces(stored: Mapping[str, np.ndarray]) -> list[Held]:
    pieces = []
    for key, array in stored.items():
        cells = [array] if array.dtype != object else array.ravel().tolist()
        rolls = [cell for cell in cells if isinstance(cell, np.ndarray) and cell.ndim == 2]
        if len(rolls) == len(cells):
            pieces += [Held(roll, part_name(key)) for roll in rolls if roll.dtype.kind in "biuf"]
    return pieces


def part_name(name: str) -> str:
    """`traindata` is train; "" where it names no part."""
    return PARTS.get(name.lower().removesuffix("data").strip("_"), name)
