"""Standard MIDI files: bytes in, the notes of all tracks out; and notes in, bytes out.

A file is a header and tracks; a track is events, each after a number of ticks, of which there are
so many a beat (a quarter note). Of them notes and the first tempo are read.

    MThd <length> <format> <tracks> <ticks a beat>      MTrk <length> (<ticks> <event>)...

A reader of its own rather than a library's: the few events that are read take a page, damage is
reported with its byte, and no package is needed.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from unspool.errors import DataError

DRUMS = 9  # the channel whose pitches are instruments
USUAL_TEMPO = 500_000  # microseconds a beat, where a file says nothing
NOTE_OFF, NOTE_ON, META, SYSEX = 0x80, 0x90, 0xFF, (0xF0, 0xF7)
END_OF_TRACK, SET_TEMPO = 0x2F, 0x51
BYTES = {0x80: 2, 0x90: 2, 0xA0: 2, 0xB0: 2, 0xC0: 1, 0xD0: 1, 0xE0: 2}  # of data, by kind
AGAIN = "export it again as a Standard MIDI File (.mid)"


class Score(NamedTuple):
    """The notes and tempo of a file.

    notes     (N, 4) int64: first tick, last tick, pitch, velocity; in the order of time
    beat      ticks of a beat
    tempo     microseconds of a beat, the first that the file names
    drums     notes of the drums' channel, which are left out
    tempos    how often the tempo changes
    """

    notes: np.ndarray
    beat: int
    tempo: int = USUAL_TEMPO
    drums: int = 0
    tempos: int = 0


class Bytes:
    """Bytes that are read one after the other; what is missing is a DataError."""

    def __init__(self, content: bytes, where: str, first: int = 0) -> None:
        self.content, self.where, self.at, self.first = content, where, 0, first

    def __bool__(self) -> bool:
        return self.at < len(self.content)

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.content):
            raise self.damaged("it is cut off")
        self.at += count
        return self.content[self.at - count : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def variable(self) -> int:
        """A number of up to four bytes, seven bits each, the last without the eighth bit."""
        value = 0
        for _ in range(4):
            byte = self.byte()
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value
        raise self.damaged("a number has more than four bytes")

    def damaged(self, what: str) -> DataError:
        return DataError(
            f"a damaged MIDI file: {what} at byte {self.first + self.at}",
            where=self.where,
            remedy=AGAIN,
        )


class MidiTrack:
    """The notes of one track, and its tempos as (tick, microseconds)."""

    def __init__(self, content: Bytes) -> None:
        self.notes: list[tuple[int, int, int, int]] = []
        self.tempos: list[tuple[int, int]] = []
        self.drums = 0
        self._sounding: dict[tuple[int, int], tuple[int, int]] = {}
        self._read(content)

    def _read(self, content: Bytes) -> None:
        tick, status = 0, 0
        while content:
            tick += content.variable()
            byte = content.byte()
            if byte == META:
                kind, data = content.byte(), content.take(content.variable())
                if kind == END_OF_TRACK:
                    break
                if kind == SET_TEMPO and len(data) == 3:
                    self.tempos.append((tick, int.from_bytes(data, "big")))
                continue
            if byte in SYSEX:
                content.take(content.variable())
                continue
            if byte < 0x80:  # the status of the event before holds
                content.at -= 1
            else:
                status = byte
            kind, channel = status & 0xF0, status & 0x0F
            if kind not in BYTES:
                raise content.damaged(f"{byte:#04x} is not an event")
            data = content.take(BYTES[kind])
            if max(data) > 0x7F:
                raise content.damaged("an event has a byte above 127")
            if kind in (NOTE_ON, NOTE_OFF):
                self._note(tick, channel, data[0], data[1] if kind == NOTE_ON else 0)
        for channel, pitch in list(self._sounding):
            self._end(tick, channel, pitch)

    def _note(self, tick: int, channel: int, pitch: int, velocity: int) -> None:
        """A velocity of 0 ends the note, as does a new one of the same pitch."""
        if channel == DRUMS:
            self.drums += velocity > 0
            return
        self._end(tick, channel, pitch)
        if velocity:
            self._sounding[channel, pitch] = tick, velocity

    def _end(self, tick: int, channel: int, pitch: int) -> None:
        begun = self._sounding.pop((channel, pitch), None)
        if begun is not None and tick > begun[0]:
            self.notes.append((begun[0], tick, pitch, begun[1]))


def read_midi(content: bytes, where: str) -> Score:
    """The notes of a file; one that is damaged is refused."""
    whole = Bytes(content, where)
    if not content:
        raise DataError("the file is empty", where=where, remedy=AGAIN)
    if content[:4] != b"MThd":
        raise DataError(
            "is not a MIDI file: it does not begin with MThd",
            where=where,
            got=content[:4],
            remedy=AGAIN,
        )
    whole.take(4)
    header = whole.take(int.from_bytes(whole.take(4), "big"))
    if len(header) < 6:
        raise whole.damaged("its header is too short")
    division = int.from_bytes(header[4:6], "big")
    tracks = list[MidiTrack]()
    while whole:
        name, size = whole.take(4), int.from_bytes(whole.take(4), "big")
        first = whole.at
        chunk = whole.take(size)
        if name == b"MTrk":
            tracks.append(MidiTrack(Bytes(chunk, where, first)))
    tempos = sorted(own for track in tracks for own in track.tempos)
    beat, tempo = division, tempos[0][1] if tempos else USUAL_TEMPO
    if division >= 0x8000:  # frames of film a second, and ticks a frame: a beat is half a second
        beat, tempo = (256 - (division >> 8)) * (division & 0xFF) // 2, USUAL_TEMPO
    if beat == 0 or tempo == 0:
        raise DataError("a damaged MIDI file: its beats last no time", where=where, remedy=AGAIN)
    notes = sorted(note for track in tracks for note in track.notes)
    return Score(
        np.array(notes, np.int64).reshape(-1, 4),
        beat,
        tempo,
        drums=sum(track.drums for track in tracks),
        tempos=len({microseconds for _, microseconds in tempos} - {tempo}),
    )


def write_midi(score: Score) -> bytes:
    """A file of one track, format 0."""
    events = [(0, -1, bytes([META, SET_TEMPO, 3]) + score.tempo.to_bytes(3, "big"))]
    for first, last, pitch, velocity in score.notes.tolist():
        events.append((first, 1, bytes([NOTE_ON, pitch, velocity])))
        events.append((last, 0, bytes([NOTE_OFF, pitch, 0])))  # before what begins there
    track, now = bytearray(), 0
    for tick, _, event in sorted(events):
        track += variable(tick - now) + event
        now = tick
    track += variable(0) + bytes([META, END_OF_TRACK, 0])
    head = struct.pack(">4sIHHH", b"MThd", 6, 0, 1, score.beat)
    return head + struct.pack(">4sI", b"MTrk", len(track)) + bytes(track)


def variable(value: int) -> bytes:
    """Seven bits a byte, all but the last with the eighth bit."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F | 0x80)
    return bytes(reversed(groups))
