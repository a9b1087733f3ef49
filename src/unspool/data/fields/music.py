"""music as frames: which of the 88 keys of a piano sound at each step; batched as series are.

raw: a `Piece`, the path of a MIDI file, lists of pitches or an array (steps, 88). values: `Series`.
tensors: `SeriesBatch`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.music_numbers import MusicNumbers, music_numbers
from unspool.data.fields.recordings import SeriesWriter, StoredSize
from unspool.data.fields.series import SeriesField
from unspool.data.fields.series_features import FeatureField
from unspool.data.read.music import (
    KEYS,
    NAMES,
    Midi,
    Piece,
    as_piece,
    is_midi,
    piece_from_json,
    piece_to_json,
)
from unspool.data.read.recording import Recording
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.vectors import VectorColumn
from unspool.errors import DataError, RunError
from unspool.io.files import AGAIN, read_json, write_json

FILE = "music.json"
OPENINGS = 256  # first frames that are kept
COUNTED = 500  # pieces whose numbers are taken
STORED = 4000  # notes of an example that a run keeps, at most


@dataclass
class Known:
    """What a run keeps of the music that it was trained on.

    grid       steps of a beat
    openings   the keys of the first frames of pieces
    numbers    of the training pieces
    """

    grid: int
    openings: list[list[int]] = field(default_factory=list)
    numbers: MusicNumbers | None = None

    def learn(self, pieces: Iterable[np.ndarray]) -> None:
        """From the frames of pieces, (T, 88) each."""
        found = list(pieces)
        self.numbers = music_numbers(found[:COUNTED])
        firsts = [np.flatnonzero(frames[0]).tolist() for frames in found[:OPENINGS] if len(frames)]
        self.openings = [keys for keys in firsts if keys]

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, asdict(self) | {"numbers": self.numbers and list(self.numbers)})

    def load(self, folder: Path) -> None:
        stored = read_json(folder / FILE)
        try:
            self.grid = int(stored["grid"])
            self.openings = [[int(key) for key in own] for own in stored["openings"]]
            numbers = stored["numbers"]
            self.numbers = None if numbers is None else MusicNumbers(*map(float, numbers))
            fine = 0 < self.grid <= 480
            fine &= all(0 <= key < KEYS for own in self.openings for key in own)
        except (KeyError, TypeError, ValueError, OverflowError):
            fine = False
        if not fine:
            raise RunError("not what is known of music", where=folder / FILE, remedy=AGAIN)


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


class LeftOut:
    """How many notes of a column were left out or moved, by the reason, in a file beside it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.left.json"
        self.counts: Counter[str] = Counter()

    def count(self, pieces: Iterable[Piece]) -> None:
        for own in pieces:
            self.counts["notes"] += len(own.notes)
            self.counts.update(own.left)

    def close(self) -> None:
        self.path.write_text(json.dumps(self.counts), encoding="utf-8")

    def load(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.path.read_text(encoding="utf-8"))
        return found


def notes_about(left: dict[str, int], grid: int) -> list[str]:
    """What was left out and moved, in words."""
    found = dict(left)
    notes, moved = found.pop("notes", 0), found.pop("moved to the grid", 0)
    tempos = found.pop("changes of the tempo", 0)
    lines = [f"{many:,} notes {why} left out" for why, many in found.items()]
    if moved:
        lines.append(
            f"{moved:,} of {notes:,} notes begin between the {grid} steps of a beat and were moved"
            " to the nearest (--set grid= for another grid)"
        )
    if tempos:
        lines.append(f"{tempos:,} changes of the tempo are not read: time is counted in beats")
    return lines


class MusicSource(SeriesField):
    """What fields of frames have in common: how music becomes them."""

    kind = "music"
    known: Known

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

    def what_is_missing(self, column: Any, rows: np.ndarray) -> str:
        return "no note"

    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress | None = None
    ) -> list[str]:
        super().fit(column, rows, where=where, progress=progress)
        series = column.values.select(rows)
        self.known.learn(np.asarray(series[row]) for row in range(len(series)))
        lengths = series.lengths
        first = (
            f"music: frames of {KEYS} keys, {int(lengths.sum()):,} steps in train, from"
            f" {lengths.min():,} to {lengths.max():,} a piece"
        )
        return [first, *notes_about(column.left, self.known.grid), f"train: {self.known.numbers}"]

    def invent(self, *, vocab: int, classes: int) -> None:
        self.channels = list(NAMES)
        self.mean, self.std = np.zeros(KEYS), np.ones(KEYS)

    def refuse(self, own: Recording, where: str) -> None:
        if not len(own) or not own.values.any():
            raise DataError("there is no note in it", where=own.name or where, remedy="give some")
        super().refuse(own, where)

    def items(self, given: Any) -> Iterable[Any]:
        return music_items(given)

    def named(self, name: str) -> Midi | None:
        return Midi(Path(name), name) if is_midi(name) else None

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

    def examiner(self, values: Any) -> None:
        """Pieces are counted, and not compared."""
        return

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


class MusicFrames(MusicSource):
    """Frames for a network."""

    def __init__(self, name: str, grid: int, **options: Any) -> None:
        super().__init__(name, **options, scaling="none")
        self.known = Known(grid)


class MusicFeatures(MusicSource, FeatureField):
    """Statistics of the frames, for a linear model."""

    def __init__(self, name: str, grid: int, **options: Any) -> None:
        super().__init__(name, **options, scaling="none")
        self.known = Known(grid)


def music_items(given: Any) -> Iterable[Any]:
    """One piece, or several."""
    one = isinstance(given, str | Path | Midi | Recording | dict)
    if one or (isinstance(given, np.ndarray) and given.ndim == 2):
        given = [given]
    if not isinstance(given, Iterable):
        as_piece(given, "item")
    return (Midi(Path(own), own) if isinstance(own, str) and is_midi(own) else own for own in given)
