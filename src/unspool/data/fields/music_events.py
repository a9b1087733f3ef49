"""music as events: notes begin and end, and time passes; a word each, of a text that models read.

on_C4 shift_4 off_C4 on_E4        a C for four steps, then an E
velocity_24                       how loud the notes after it are, 1 to 32, where that changes

As of Oore et al. (2018). raw: as of `pieces.py`, or such a text. values: `Tokens`. tensors:
`TokenBatch`. All events are in the vocabulary, so that music can be transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.config import TokenizerConfig
from unspool.data.fields.pieces import (
    COUNTED,
    FILE,
    KnownMusic,
    LeftOut,
    named_midi,
    piece_items,
    piece_notes,
)
from unspool.data.fields.text import TokenField
from unspool.data.fields.tokens import TextForm, TextWriter, Tokens
from unspool.data.read.music import (
    KEYS,
    LOWEST,
    NAMES,
    VELOCITY,
    Midi,
    Piece,
    as_piece,
    piece_from_json,
    piece_of_notes,
)
from unspool.data.read.recording import file_schema
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import TokenColumn
from unspool.errors import DataError
from unspool.text.open_vocabulary import TokenRules
from unspool.text.tokenizers import WordTokenizer
from unspool.text.vocab import SENTENCE_SPECIALS, Vocab
from unspool.text.words import Normalizer

LONGEST_SHIFT = 32  # steps of one event
LOUDNESS = 4  # velocities that are one event
ON = [f"on_{name}" for name in NAMES]
OFF = [f"off_{name}" for name in NAMES]
SHIFTS = [f"shift_{steps}" for steps in range(1, LONGEST_SHIFT + 1)]
VELOCITIES = [f"velocity_{level}" for level in range(1, 128 // LOUDNESS + 1)]
EVENTS = [*ON, *OFF, *SHIFTS, *VELOCITIES]
NUMBER = {event: i for i, event in enumerate(EVENTS)}
FIRST_ON = len(SENTENCE_SPECIALS)  # the id of the first event
FIRST_SHIFT = FIRST_ON + 2 * KEYS


class Event(NamedTuple):
    """kind: on, off, shift or velocity; of a pitch, steps or a level."""

    kind: str
    value: int


def parsed(name: str) -> Event:
    number = NUMBER[name]
    for kind, size, first in (
        ("on", KEYS, LOWEST),
        ("off", KEYS, LOWEST),
        ("shift", LONGEST_SHIFT, 1),
    ):
        if number < size:
            return Event(kind, number + first)
        number -= size
    return Event("velocity", number + 1)


PARSED = {name: parsed(name) for name in EVENTS}


def events_of(piece: Piece, *, begun: bool = False) -> Iterator[str]:
    """At each step notes end, then begin; then time passes. A `begun` piece ends no notes."""
    ends = [(last, pitch) for _, last, pitch, _ in piece.notes.tolist()]
    moments = [(last, 0, pitch, 0) for last, pitch in ends if last < len(piece) or not begun]
    moments += [(first, 1, pitch, loud) for first, _, pitch, loud in piece.notes.tolist()]
    now, level = 0, VELOCITY // LOUDNESS
    for step, begins, pitch, velocity in sorted(moments):
        yield from shifts(step - now)
        now = step
        if begins and velocity // LOUDNESS != level:
            level = velocity // LOUDNESS
            yield VELOCITIES[level]
        yield (ON if begins else OFF)[pitch - LOWEST]
    yield from shifts(len(piece) - now)


def shifts(steps: int) -> Iterator[str]:
    while steps > 0:
        step = min(steps, LONGEST_SHIFT)
        yield SHIFTS[step - 1]
        steps -= step


def piece_of_events(names: Iterable[str], **about: Any) -> Piece:
    """The music that events stand for; silent keys do not end, and all notes end at the end."""
    notes, sounding = list[tuple[int, int, int, int]](), dict[int, tuple[int, int]]()
    now, velocity = 0, VELOCITY

    def end(pitch: int) -> None:
        begun = sounding.pop(pitch, None)
        if begun is not None and now > begun[0]:
            notes.append((begun[0], now, pitch, begun[1]))

    for name in names:
        kind, value = PARSED[name]
        if kind == "shift":
            now += value
        elif kind == "velocity":
            velocity = (value - 1) * LOUDNESS + LOUDNESS // 2
        else:
            end(value)
            if kind == "on":
                sounding[value] = now, velocity
    for pitch in list(sounding):
        end(pitch)
    return piece_of_notes(np.array(notes, np.int64).reshape(-1, 4), now, **about)


@dataclass(frozen=True)
class EventColumn(TokenColumn):
    """`left`: notes that were left out or moved, by the reason."""

    left: dict[str, int] | None = None


class EventWriter(TextWriter):
    """Pieces as texts of events; counts what is left out."""

    def __init__(
        self, folder: Path, name: str, rules: TokenRules, piece: Callable[[Any, str], Piece]
    ) -> None:
        super().__init__(folder, name, rules)
        self.piece, self.left = piece, LeftOut(folder, name)

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        pieces = [self.piece(raw, where(i)) for i, raw in enumerate(values)]
        self.left.count(pieces)
        texts = [" ".join(events_of(piece)) if len(piece.notes) else "" for piece in pieces]
        super().add(texts, where)

    def close(self) -> None:
        super().close()
        self.left.close()


class EventForm(TextForm):
    """Pieces of music, as texts of events."""

    def __init__(self, grid: int) -> None:
        self.known = KnownMusic(grid)

    def piece(self, raw: Any, where: str) -> Piece:
        if isinstance(raw, str):  # never a path: texts also come from a page
            return self.piece_of(raw.split(), where)
        return as_piece(raw, where, self.known.grid)

    def piece_of(self, names: Sequence[str], where: str) -> Piece:
        odd = next((name for name in names if name not in NUMBER), None)
        if odd is not None:
            raise DataError(
                "is not a music event",
                where=where,
                got=odd,
                remedy="name a MIDI file, or write events such as on_C4 shift_4 off_C4",
            )
        return piece_of_events(names, grid=self.known.grid)

    def text(self, raw: Any, where: str = "the music") -> str:
        """Return a piece as a text of events; a text is one already."""
        if isinstance(raw, str):
            self.piece_of(raw.split(), where)
            return raw
        return " ".join(events_of(self.piece(raw, where)))

    def missing(self, name: str, column: Any, rows: np.ndarray) -> str:
        return "no note"

    def writer(self, folder: Path, name: str, rules: TokenRules) -> EventWriter:
        return EventWriter(folder, name, rules, self.piece)

    def items(self, values: Any) -> Iterable[Any]:
        return piece_items(values)

    def named(self, name: Any) -> Midi | None:
        return named_midi(name)

    def shown(self, raw: Any) -> str:
        return str(self.piece(raw, "item"))

    def to_json(self, raw: Any) -> str:
        return self.text(raw)

    json_schema: ClassVar = {"anyOf": [{"type": "string"}, file_schema("midi", "audio/midi")]}

    def from_json(self, value: Any, where: str) -> Any:
        return value if isinstance(value, str) else piece_from_json(value, where, self.known.grid)

    def examiner(self, values: Any, *, words: bool, unit: str) -> None:
        """Pieces are counted, and not compared."""


class MusicEvents(TokenField):
    """A column of pieces as texts of events, each between <s> and </s>."""

    kind = "music"
    unit = "events"
    form: EventForm

    def __init__(self, name: str, grid: int, *, max_length: int = 0) -> None:
        super().__init__(
            name,
            TokenizerConfig(kind="word", split="space", normalize="none"),
            form=EventForm(grid),
            specials=SENTENCE_SPECIALS,
            marks=(True, True),
            max_length=max_length,
        )
        self.files = (*self.files, FILE)
        self.known = self.form.known
        self.invent(vocab=0, classes=0)

    def storage_key(self) -> Any:
        return [super().storage_key(), "events", self.known.grid]

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> EventColumn:
        column = super().open(folder, key, where)
        return EventColumn(**vars(column), left=LeftOut(folder, self.name).load())

    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        lengths = np.diff(column.offsets)[rows]
        self.known.learn(
            piece_of_events(
                column.types[i] for i in column.ids[column.offsets[row] : column.offsets[row + 1]]
            ).values
            for row in rows[:COUNTED]
        )
        events = f"music: {len(EVENTS)} kinds of events, {int(lengths.sum()):,} events"
        return piece_notes(events, lengths, column.left, self.known)

    def invent(self, *, vocab: int, classes: int) -> None:
        vocabulary = Vocab.of(EVENTS, specials=SENTENCE_SPECIALS)
        self.tokenizer = WordTokenizer(vocabulary, normalizer=Normalizer("none"), split="space")

    def encode(self, raw: Sequence[Any]) -> Tokens:
        texts = [self.form.text(value, f"item {i + 1}") for i, value in enumerate(raw)]
        return super().encode(texts)

    def transposed(self, ids: Tensor, semitones: Tensor) -> Tensor:
        """(B, T), (B,) -> the notes of each row so many keys higher"""
        notes = (ids >= FIRST_ON) & (ids < FIRST_SHIFT)
        return ids + notes * semitones[:, None]

    def keys(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, 88) bool: keys that sound somewhere"""
        begun = (ids >= FIRST_ON) & (ids < FIRST_ON + KEYS)
        keys = torch.zeros(len(ids), KEYS + 1, dtype=torch.bool, device=ids.device)
        return keys.scatter(1, torch.where(begun, ids - FIRST_ON, KEYS), True)[:, :KEYS]

    def save(self, folder: Path) -> None:
        super().save(folder)
        self.known.save(folder)

    def load(self, folder: Path) -> None:
        super().load(folder)
        self.known.load(folder)
