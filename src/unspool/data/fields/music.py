"""music as frames: which of the 88 keys of a piano sound at each step; batched as series are.

raw: as of all music (`pieces.py`). values: `Series`. tensors: `SeriesBatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.pieces import FILE, Known, LeftOut, PieceField
from unspool.data.fields.recordings import SeriesWriter, StoredSize
from unspool.data.fields.series import SeriesField
from unspool.data.read.music import (
    KEYS,
    NAMES,
    Piece,
    as_piece,
    piece_from_json,
    piece_to_json,
)
from unspool.data.read.recording import Recording
from unspool.data.store.columns import Progress, WhereStep
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


class MusicFrames(PieceField, SeriesField):
    """A column of pieces as frames of keys."""

    def __init__(self, name: str, grid: int, *, max_length: int = 0, window: int = 0) -> None:
        super().__init__(name, max_length=max_length, window=window, scaling="none")
        self.known = Known(grid)

    def recording(self, raw: Any, where: str) -> Piece:
        return as_piece(raw, where, self.known.grid)

    def storage_key(self) -> Any:
        return [self.kind, self.known.grid]

    def writer(self, folder: Path) -> MusicWriter:
        return MusicWriter(folder, self.name, self.recording)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> MusicColumn:
        found = VectorColumn.load(folder, self.name)
        return MusicColumn(**vars(found), left=LeftOut(folder, self.name).load())

    def blank(self, column: VectorColumn) -> np.ndarray:
        lengths = column.values.lengths
        return np.array([not column.values[row].any() for row in range(len(lengths))], bool)

    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress | None = None
    ) -> list[str]:
        super().fit(column, rows, where=where, progress=progress)
        series = column.values.select(rows)
        self.known.learn(np.asarray(series[row]) for row in range(len(series)))
        steps = f"music: frames of {KEYS} keys, {int(series.lengths.sum()):,} steps"
        return self.fit_notes(steps, series.lengths, column.left)

    def invent(self, *, vocab: int, classes: int) -> None:
        self.channels = list(NAMES)
        self.mean, self.std = np.zeros(KEYS), np.ones(KEYS)

    def refuse(self, own: Recording, where: str) -> None:
        if not len(own) or not own.values.any():
            raise DataError("there is no note in it", where=own.name or where, remedy="give some")
        super().refuse(own, where)

    def as_read(self, own: Recording) -> Recording:
        return own[: self.max_length or None]

    @property
    def shown_as(self) -> str:
        return "piano roll"

    def extent(self, raw: Any) -> str:
        own = self.recording(raw, "the music")
        return f"{len(own.notes):,} notes in {len(own):,} steps"

    def to_json(self, raw: Any) -> dict[str, Any]:
        return piece_to_json(self.recording(raw, "the music"))

    def from_json(self, value: Any, where: str) -> Piece:
        return piece_from_json(value, where, self.known.grid)

    def stored_size(self, value: Any) -> StoredSize:
        return StoredSize(int(value["steps"]), len(value["notes"]) / STORED)

    def transposed(self, values: Tensor, semitones: Tensor) -> Tensor:
        """(B, T, 88), (B,) -> each row so many keys higher"""
        at = torch.arange(KEYS, device=values.device) - semitones[:, None]  # (B, 88)
        inside = (at >= 0) & (at < KEYS)
        found = values.gather(2, at.clamp(0, KEYS - 1)[:, None].expand_as(values))
        return found * inside[:, None]

    def keys(self, values: Tensor) -> Tensor:
        """(B, T, 88) -> (B, 88) bool: keys that sound somewhere"""
        return (values > 0.5).any(1)

    @property
    def files(self) -> tuple[str, ...]:
        return (*super().files, FILE)

    def save(self, folder: Path) -> None:
        super().save(folder)
        self.known.save(folder)

    def load(self, folder: Path) -> None:
        super().load(folder)
        self.known.load(folder)
