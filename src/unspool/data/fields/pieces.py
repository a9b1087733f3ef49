"""Pieces of music, read as frames or as events: how they are given, what is left out of them, and
what a run keeps of those that it was trained on.

raw: a `Piece`, the path of a MIDI file, lists of pitches or an array (steps, 88).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unspool.data.fields.music_numbers import MusicNumbers, music_numbers
from unspool.data.read.music import KEYS, Midi, Piece, as_piece, is_midi
from unspool.data.read.recording import Recording
from unspool.errors import RunError
from unspool.io.files import AGAIN, read_json, write_json

FILE = "music.json"
OPENINGS = 256  # first frames that are kept
COUNTED = 500  # pieces whose numbers are taken


@dataclass
class KnownMusic:
    """Facts that a run keeps of the music that it was trained on.

    grid       steps of a beat
    openings   the keys of the first frames of pieces
    numbers    of the training pieces
    """

    grid: int
    openings: list[list[int]] = field(default_factory=list)
    numbers: MusicNumbers | None = None

    def learn(self, pieces: Iterable[np.ndarray]) -> None:
        """From the frames of pieces, (T, 88) each."""
        rolls = list(pieces)
        self.numbers = music_numbers(rolls[:COUNTED])
        firsts = [np.flatnonzero(frames[0]).tolist() for frames in rolls[:OPENINGS] if len(frames)]
        self.openings = [keys for keys in firsts if keys]

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, asdict(self) | {"numbers": self.numbers and list(self.numbers)})

    def load(self, folder: Path) -> None:
        stored = read_json(folder / FILE)
        try:
            self.grid = int(stored["grid"])
            self.openings = [[int(key) for key in keys] for keys in stored["openings"]]
            numbers = stored["numbers"]
            self.numbers = None if numbers is None else MusicNumbers(*map(float, numbers))
            fine = 0 < self.grid <= 480
            fine &= all(0 <= key < KEYS for keys in self.openings for key in keys)
        except (KeyError, TypeError, ValueError, OverflowError):
            fine = False
        if not fine:
            raise RunError("not what is known of music", where=folder / FILE, remedy=AGAIN)


class LeftOut:
    """Counts of notes that were left out or moved, by reason, in a file beside their column."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.left.json"
        self.counts: Counter[str] = Counter()

    def count(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            self.counts["notes"] += len(piece.notes)
            self.counts.update(piece.left)

    def close(self) -> None:
        self.path.write_text(json.dumps(self.counts), encoding="utf-8")

    def load(self) -> dict[str, int]:
        counts: dict[str, int] = json.loads(self.path.read_text(encoding="utf-8"))
        return counts


def notes_about(left: dict[str, int], grid: int) -> list[str]:
    """Report what was left out and moved."""
    counts = dict(left)
    notes, moved = counts.pop("notes", 0), counts.pop("moved to the grid", 0)
    tempos = counts.pop("changes of the tempo", 0)
    lines = [f"{many:,} notes {why} left out" for why, many in counts.items()]
    if moved:
        lines.append(
            f"{moved:,} of {notes:,} notes begin between the {grid} steps of a beat and were moved"
            " to the nearest (--set grid= for another grid)"
        )
    if tempos:
        lines.append(f"{tempos:,} changes of the tempo are not read: time is counted in beats")
    return lines


def piece_notes(
    what: str, lengths: np.ndarray, left: dict[str, int], known: KnownMusic
) -> list[str]:
    """Describe training pieces of such lengths."""
    first = f"{what} in train, from {lengths.min():,} to {lengths.max():,} a piece"
    return [first, *notes_about(left, known.grid), f"train: {known.numbers}"]


def piece_items(values: Any) -> Iterable[Any]:
    """Return the raw values of one piece, or of several."""
    one = isinstance(values, str | Path | Midi | Recording | dict)
    if one or (isinstance(values, np.ndarray) and values.ndim == 2):
        values = [values]
    if not isinstance(values, Iterable):
        as_piece(values, "item")
    return (value if (midi := named_midi(value)) is None else midi for value in values)


def named_midi(name: Any) -> Midi | None:
    return Midi(Path(name), name) if isinstance(name, str) and is_midi(name) else None
