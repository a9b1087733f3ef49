"""music as frames: which of the 88 keys of a piano sound at each step; batched as series are.

raw: as of all music (`pieces.py`). values: `Series`. tensors: `SeriesBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.pieces import (
    FILE,
    KnownMusic,
    LeftOut,
    named_midi,
    piece_items,
    piece_notes,
)
from unspool.data.fields.series_values import FittedChannels, Moments, Scaler, Series
from unspool.data.fields.source import SeriesWriter, StoredSize, VectorSource
from unspool.data.fields.tokens import Display
from unspool.data.read.music import (
    KEYS,
    NAMES,
    Midi,
    Piece,
    as_piece,
    piece_from_json,
    piece_to_json,
)
from unspool.data.read.recording import Recording, file_schema
from unspool.data.store.vectors import VectorColumn
from unspool.errors import DataError

STORED = 4000  # notes of an example that a run keeps, at most


@dataclass(frozen=True)
class MusicColumn(VectorColumn):
    """Frames of pieces; `left`: notes that were left out or moved, by the reason."""

    left: dict[str, int]


class MusicWriter(SeriesWriter):
    """Counts what is left out."""

    def __init__(self, folder: Path, name: str, recording: Callable[[Any, str], Piece]) -> None:
        super().__init__(folder, name, recording)
        self.piece, self.left = recording, LeftOut(folder, name)

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        pieces = [self.piece(raw, where(i)) for i, raw in enumerate(values)]
        self.left.count(pieces)
        super().add(pieces, where)

    def close(self) -> None:
        super().close()
        self.left.close()


class PianoRoll(VectorSource):
    """Pieces of music as frames of keys."""

    kind = "music"
    noun = "music"
    missing = "no note"
    scaling = "none"
    files = (FILE,)

    def __init__(self, grid: int) -> None:
        super().__init__()
        self.known = KnownMusic(grid)

    def recording(self, raw: Any, where: str) -> Piece:
        return as_piece(raw, where, self.known.grid)

    def storage_key(self) -> Any:
        return [self.kind, self.known.grid]

    def writer(self, folder: Path, name: str) -> MusicWriter:
        return MusicWriter(folder, name, self.recording)

    def open(self, folder: Path, name: str) -> MusicColumn:
        stored = VectorColumn.load(folder, name)
        return MusicColumn(**vars(stored), left=LeftOut(folder, name).load())

    def blank(self, column: VectorColumn) -> np.ndarray:
        return np.array([not column.values[row].any() for row in range(len(column))], bool)

    def fit(self, column: Any, rows: np.ndarray, *, where: str) -> FittedChannels:
        series = column.values.select(rows)
        self.known.learn(np.asarray(series[row]) for row in range(len(series)))
        return super().fit(column, rows, where=where)

    def fit_notes(self, column: Any, rows: np.ndarray, fitted: FittedChannels) -> list[str]:
        lengths = column.values.lengths[rows]
        steps = f"music: frames of {KEYS} keys, {int(lengths.sum()):,} steps"
        return piece_notes(steps, lengths, column.left, self.known)

    def invent(self) -> Moments:
        self.channels = list(NAMES)
        return super().invent()

    def refuse(self, recording: Recording, where: str) -> None:
        if not len(recording) or not recording.values.any():
            raise DataError(
                "there is no note in it", where=recording.name or where, remedy="give some"
            )
        super().refuse(recording, where)

    json_schema: ClassVar = file_schema("midi", "audio/midi")

    def items(self, values: Any) -> Iterable[Any]:
        return piece_items(values)

    def named(self, name: Any) -> Midi | None:
        return named_midi(name)

    def to_json(self, raw: Any) -> dict[str, Any]:
        return piece_to_json(self.recording(raw, "the music"))

    def from_json(self, value: Any, where: str) -> Piece:
        return piece_from_json(value, where, self.known.grid)

    def stored_size(self, value: Any) -> StoredSize:
        return StoredSize(int(value["steps"]), len(value["notes"]) / STORED)

    @property
    def display(self) -> Display:
        return Display("piano roll")

    def extent(self, raw: Any) -> str:
        piece = self.recording(raw, "the music")
        return f"{len(piece.notes):,} notes in {len(piece):,} steps"

    def examiner(self, values: Series, scaler: Scaler) -> None:
        """Pieces are counted, and not compared."""
        return

    def transposed(self, values: Tensor, semitones: Tensor) -> Tensor:
        """(B, T, 88), (B,) -> each row so many keys higher"""
        at = torch.arange(KEYS, device=values.device) - semitones[:, None]  # (B, 88)
        inside = (at >= 0) & (at < KEYS)
        moved = values.gather(2, at.clamp(0, KEYS - 1)[:, None].expand_as(values))
        return moved * inside[:, None]

    def keys(self, values: Tensor) -> Tensor:
        """(B, T, 88) -> (B, 88) bool: keys that sound somewhere"""
        return (values > 0.5).any(1)

    def save(self, folder: Path) -> None:
        self.known.save(folder)

    def load(self, folder: Path) -> None:
        self.known.load(folder)
