"""Piece: notes on a grid of time, and the same as frames; from MIDI files, lists and arrays.

notes    (N, 4) the first step, the step after the last, the pitch (MIDI's, 60 is middle C) and
         the velocity of each
frames   (T, 88) 1 where a key of the piano sounds at a step: a piano roll
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unspool.data.read.budget import Allowance, size_of
from unspool.data.read.files import unreadable
from unspool.data.read.midi import Score, read_midi, write_midi
from unspool.data.read.recording import Recording
from unspool.errors import DataError
from unspool.io.files import read_regular

ENDINGS = (".mid", ".midi", ".kar")
LOWEST, KEYS = 21, 88  # A0; 88 keys up to C8
HIGHEST = LOWEST + KEYS - 1
GRID = 4  # steps a beat
TEMPO = 90.0  # beats a minute of music that has none
VELOCITY = 64  # of a note that has none
STEP_BYTES = 16 * KEYS  # in memory while a piece is made
TICKS = 480  # a beat, in files that are written
OFF_GRID = 0.02  # of a step, from which on a note is said to be moved
CLASSES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")

Frame = Sequence[Any] | None


def pitch_name(pitch: int) -> str:
    return f"{CLASSES[pitch % 12]}{pitch // 12 - 1}"


NAMES = tuple(pitch_name(LOWEST + key) for key in range(KEYS))


@dataclass(frozen=True, eq=False)
class Piece(Recording):
    """Music; `values` are its frames.

    notes   as above, int64, in the order of their first steps
    grid    steps of a beat
    tempo   beats a minute
    left    how many notes were left out or moved, and why
    """

    channels: tuple[str, ...] = NAMES
    notes: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    grid: int = GRID
    tempo: float = TEMPO
    left: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        count = f"{len(self.notes):,} note{'s' * (len(self.notes) != 1)}"
        size = f"{count} in {len(self):,} steps"
        return f"{self.name}: {size}" if self.name else size

    def __getitem__(self, steps: slice) -> Piece:
        start, stop, _ = steps.indices(len(self))
        notes = self.notes[(self.notes[:, 1] > start) & (self.notes[:, 0] < stop)].copy()
        notes[:, :2] = notes[:, :2].clip(start, stop) - start
        return replace(self, values=self.values[start:stop], notes=notes)

    def score(self) -> Score:
        """In ticks, as a MIDI file has it."""
        notes = self.notes.copy()
        notes[:, :2] = notes[:, :2] * TICKS // self.grid
        tempo = min(0xFFFFFF, max(1, round(60e6 / self.tempo)))
        return Score(notes, TICKS, tempo)

    def midi(self) -> bytes:
        return write_midi(self.score())

    def chords(self) -> list[list[int]]:
        """The pitches that sound at each step, the lowest first."""
        return [(np.flatnonzero(frame) + LOWEST).tolist() for frame in self.values]


@dataclass(frozen=True)
class Midi:
    """A MIDI file, or its bytes."""

    path: Path | None
    name: str
    data: bytes | None = None

    def __str__(self) -> str:
        return self.name

    def score(self) -> Score:
        if self.data is not None:
            return read_midi(self.data, self.name)
        assert self.path is not None
        allowed = Allowance(self.name, size_of(self.path))
        try:
            with allowed.spending():
                return read_midi(read_regular(self.path, allowed.memory), self.name)
        except (OSError, ValueError) as error:
            raise unreadable(self.path, self.name, error) from None


def is_midi(name: Any) -> bool:
    return isinstance(name, str | Path) and str(name).lower().endswith(ENDINGS)


def as_piece(raw: Any, where: str, grid: int = GRID) -> Piece:
    """Make a piece of a MIDI file, lists of pitches, an array (T, 88) or (T, 128), or of JSON."""
    if isinstance(raw, Piece):
        return raw
    if is_midi(raw):
        raw = Midi(Path(raw), str(raw))
    if isinstance(raw, Midi):
        return piece_of_score(raw.score(), raw.name, grid)
    if isinstance(raw, dict):
        return piece_from_json(raw, where, grid)
    if isinstance(raw, Recording):
        raw = raw.values
    if isinstance(raw, np.ndarray) and raw.ndim == 2:
        return piece_of_roll(raw, where, grid)
    if isinstance(raw, list | tuple | np.ndarray):
        return piece_of_chords(list(raw), where, grid)
    raise DataError(
        "is not music",
        where=where,
        got=raw,
        remedy="give a MIDI file (.mid), lists of pitches, one a step, or an array (steps, 88)",
    )


def piece_of_score(score: Score, name: str, grid: int) -> Piece:
    """On a grid: a note begins and ends at the nearest step, and lasts at least one."""
    left = Counter[str]()
    left["of the drums' channel"] = score.drums
    left["changes of the tempo"] = score.tempos
    notes = score.notes
    inside = (notes[:, 2] >= LOWEST) & (notes[:, 2] <= HIGHEST)
    left["outside of the 88 keys"] = int((~inside).sum())
    notes = notes[inside].copy()
    if not len(notes):
        few = f" but {score.drums:,} of drums" if score.drums else ""
        raise DataError(f"a MIDI file without notes{few}", where=name, remedy="leave it out")
    exact = notes[:, :2] * (grid / score.beat)
    notes[:, :2] = np.rint(exact)
    left["moved to the grid"] = int((abs(exact[:, 0] - notes[:, 0]) > OFF_GRID).sum())
    notes[:, 1] = np.maximum(notes[:, 1], notes[:, 0] + 1)
    return piece_of_notes(notes, name=name, grid=grid, tempo=60e6 / score.tempo, left=left)


def piece_of_notes(
    notes: np.ndarray,
    steps: int = 0,
    *,
    name: str = "",
    grid: int = GRID,
    tempo: float = TEMPO,
    left: Mapping[str, int] | None = None,
) -> Piece:
    """`steps`: at least. Of two notes of one pitch at a time the later ends the earlier."""
    notes = untangled(notes)
    steps = max([steps, *notes[:, 1].tolist()])
    Allowance(name).fits(STEP_BYTES * steps, f"music of {steps:,} steps")
    frames = np.zeros((steps, KEYS), np.float32)
    for first, last, pitch, _ in notes.tolist():
        frames[first:last, pitch - LOWEST] = 1
    counted = {what: many for what, many in (left or {}).items() if many}
    return Piece(frames, name=name, notes=notes, grid=grid, tempo=tempo, left=counted)


def untangled(notes: np.ndarray) -> np.ndarray:
    """One note of a pitch at a time, by the first step and the pitch."""
    notes = notes[np.lexsort((-notes[:, 1], notes[:, 0], notes[:, 2]))]
    same = (notes[1:, 2] == notes[:-1, 2]) & (notes[1:, 0] == notes[:-1, 0])
    notes = notes[np.concatenate([[True], ~same])] if len(notes) else notes
    after = np.where(notes[1:, 2] == notes[:-1, 2], notes[1:, 0], np.iinfo(np.int64).max)
    notes[:-1, 1] = np.minimum(notes[:-1, 1], after)
    return notes[np.lexsort((notes[:, 2], notes[:, 0]))]


def piece_of_frames(frames: np.ndarray, *, name: str = "", grid: int = GRID, **more: Any) -> Piece:
    """Make a piece of (T, 88) zeros and ones; consecutive steps of a key are one note."""
    edges = np.diff(np.pad(frames > 0.5, ((1, 1), (0, 0))).astype(np.int8), axis=0).T
    key, first = np.nonzero(edges == 1)
    _, last = np.nonzero(edges == -1)
    notes = np.stack([first, last, key + LOWEST, np.full_like(key, VELOCITY)], 1)
    return piece_of_notes(notes.astype(np.int64), len(frames), name=name, grid=grid, **more)


def piece_of_roll(roll: np.ndarray, where: str, grid: int) -> Piece:
    width = roll.shape[1]
    if roll.dtype.kind not in "biuf" or width not in (KEYS, 128):
        raise DataError(
            "a piano roll has a column for each of 88 keys, or of 128 pitches",
            where=where,
            got=f"shape {roll.shape} of {roll.dtype}",
            remedy="give an array (steps, 88), 1 where a key sounds",
        )
    on = np.nan_to_num(roll) > 0
    outside = 0
    if width == 128:
        outside = int(on.sum() - on[:, LOWEST : HIGHEST + 1].sum())
        on = on[:, LOWEST : HIGHEST + 1]
    return piece_of_frames(on, grid=grid, left={"outside of the 88 keys": outside})


def piece_of_chords(chords: Sequence[Frame], where: str, grid: int) -> Piece:
    """Make a piece of the pitches that sound at each step; None, -1 and NaN are silence."""
    frames = np.zeros((len(chords), KEYS), bool)
    outside = 0
    for step, chord in enumerate(chords):
        for pitch in pitches(chord, f"{where}: step {step + 1}"):
            if LOWEST <= pitch <= HIGHEST:
                frames[step, pitch - LOWEST] = True
            else:
                outside += 1
    return piece_of_frames(frames, grid=grid, left={"outside of the 88 keys": outside})


def pitches(chord: Frame, where: str) -> Iterable[int]:
    if chord is None:
        return
    if isinstance(chord, str) or not isinstance(chord, Iterable):
        raise DataError(
            "is not a list of pitches", where=where, got=chord, remedy="write [60, 64, 67], or []"
        )
    for pitch in chord:
        if pitch is None or pitch == -1 or (isinstance(pitch, float) and math.isnan(pitch)):
            continue
        fine = isinstance(pitch, int | float | np.number) and not isinstance(pitch, bool)
        if not fine or not 0 <= pitch <= 127 or pitch % 1:  # NaN and infinity are not within
            raise DataError(
                "is not a MIDI pitch",
                where=where,
                got=pitch,
                remedy="write whole numbers from 0 to 127, 60 for middle C",
            )
        yield int(pitch)


def piece_to_json(piece: Piece) -> dict[str, Any]:
    fields = {
        "notes": piece.notes.tolist(),
        "steps": len(piece),
        "grid": piece.grid,
        "tempo": piece.tempo,
    }
    return {"name": piece.name, **fields} if piece.name else fields


def piece_from_json(value: Any, where: str, grid: int = GRID) -> Piece:
    """Read a piece from JSON, also from MIDI in base64, {"name": ..., "midi": ...}."""
    if isinstance(value, dict) and "midi" in value:
        name = str(value.get("name") or where)
        try:
            data = base64.b64decode(value["midi"], validate=True)
        except (TypeError, ValueError):
            raise DataError(
                "is not a MIDI file in base64",
                where=name,
                remedy="choose a file that ends with .mid",
            ) from None
        return as_piece(Midi(None, name, data), where, grid)
    try:
        notes = np.array(value["notes"], np.int64).reshape(-1, 4)
        steps, grid = int(value["steps"]), int(value.get("grid", GRID))
        tempo, name = float(value.get("tempo", TEMPO)), str(value.get("name") or "")
        first, last, pitch, velocity = notes.T
        fine = bool(((first >= 0) & (last > first) & (velocity > 0) & (velocity < 128)).all())
        fine &= bool(((pitch >= LOWEST) & (pitch <= HIGHEST)).all())
        fine &= steps >= 0 and 0 < grid <= TICKS and 0 < tempo < 1e6
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        fine = False
    if not fine:
        raise DataError(
            "is not music",
            where=where,
            remedy='write {"notes": [[first step, step after the last, pitch, velocity], ...],'
            ' "steps": 16}',
        )
    return piece_of_notes(notes, steps, name=name, grid=grid, tempo=tempo)
