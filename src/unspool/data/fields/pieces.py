"""Pieces of music, read as frames or as events: how they are given, what is left out of them, and
what a run keeps of those that it was trained on.

raw: a `Piece`, the path of a MIDI file, lists of pitches or an array (steps, 88).
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.data.read.music import KEYS, LOWEST, Midi, Piece, as_piece, is_midi
from unspool.data.read.recording import Recording
from unspool.errors import Setting
from unspool.io.files import stored_state, write_json

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
        rolls = list(pieces)
        self.numbers = music_numbers(rolls[:COUNTED])
        firsts = [np.flatnonzero(frames[0]).tolist() for frames in rolls[:OPENINGS] if len(frames)]
        self.openings = [keys for keys in firsts if keys]

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, asdict(self) | {"numbers": self.numbers and list(self.numbers)})

    def load(self, folder: Path) -> None:
        with stored_state(folder / FILE, "invalid music settings") as stored:
            self.grid = int(stored["grid"])
            self.openings = [[int(key) for key in keys] for keys in stored["openings"]]
            numbers = stored["numbers"]
            self.numbers = None if numbers is None else MusicNumbers(*map(float, numbers))
            valid = 0 < self.grid <= 480
            valid &= all(0 <= key < KEYS for keys in self.openings for key in keys)
            if not valid:
                raise ValueError


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
            f"{moved:,} of {notes:,} notes begin between the {grid} steps of a beat and were"
            f" moved to the nearest ({Setting('grid')} for another grid)"
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
    one = isinstance(values, str | Path | Midi | Recording | dict)
    if one or (isinstance(values, np.ndarray) and values.ndim == 2):
        values = [values]
    if not isinstance(values, Iterable):
        as_piece(values, "item")
    return (value if (midi := named_midi(value)) is None else midi for value in values)


def named_midi(name: Any) -> Midi | None:
    return Midi(Path(name), name) if isinstance(name, str) and is_midi(name) else None


MAJOR = (0, 2, 4, 5, 7, 9, 11)  # pitch classes of C major, and of A minor
FIFTH = 7  # semitones


class MusicNumbers(NamedTuple):
    """Shares, from 0 to 1, and a mean.

    in_key           of the notes that sound at steps, those of the best of the twelve diatonic
                     scales, for each piece its own
    parallel_fifths  of the changes from one chord to another of as many notes, those in which two
                     voices a fifth apart move on, in the same direction, to a fifth
    repeated         of the steps, but for the first of each piece, those that are as the one before
    notes            that sound at a step
    """

    in_key: float
    parallel_fifths: float
    repeated: float
    notes: float

    def __str__(self) -> str:
        return (
            f"notes in key {100 * self.in_key:.1f} %, parallel fifths"
            f" {100 * self.parallel_fifths:.1f} %, repeated steps {100 * self.repeated:.1f} %,"
            f" {self.notes:.2f} notes a step"
        )


def music_numbers(pieces: Iterable[np.ndarray]) -> MusicNumbers:
    """Measure pieces, given as frames (T, 88)."""
    inside = sounding = parallel = changes = same = after = steps = 0
    for frames in pieces:
        on = frames > 0.5
        sounding += int(on.sum())
        inside += in_best_key(on)
        steps += len(on)
        after += max(0, len(on) - 1)
        same += int((on[1:] == on[:-1]).all(1).sum())
        chords = [np.flatnonzero(frame) + LOWEST for frame in on]
        for one, other in itertools.pairwise(chords):
            if len(one) == len(other) > 1 and (one != other).any():
                changes += 1
                parallel += has_parallel_fifth(one, other)
    return MusicNumbers(
        inside / max(1, sounding),
        parallel / max(1, changes),
        same / max(1, after),
        sounding / max(1, steps),
    )


def in_best_key(on: np.ndarray) -> int:
    """(T, 88) bool -> how many of its notes are in the scale that has most of them"""
    classes = (np.arange(on.shape[1]) + LOWEST) % 12
    counts = np.bincount(classes, on.sum(0), minlength=12)
    return int(
        max(counts[[(degree + tonic) % 12 for degree in MAJOR]].sum() for tonic in range(12))
    )


def has_parallel_fifth(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two voices, the n-th and m-th of each chord, keep a fifth and move alike."""
    moved = other - one
    fifths = ((one[None] - one[:, None]) % 12 == FIFTH) & (
        (other[None] - other[:, None]) % 12 == FIFTH
    )
    alike = np.sign(moved)[None] * np.sign(moved)[:, None] > 0
    return bool(np.triu(fifths & alike, 1).any())
