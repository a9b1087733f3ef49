"""MIDI files: what is read, against mido and pretty_midi; what is damaged."""

from __future__ import annotations

import io
import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.data.read.midi import Score, read_midi, write_midi
from unspool.data.read.music import Midi, as_piece, piece_of_frames, piece_of_notes
from unspool.errors import DataError

NOTES = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 30), st.integers(21, 108), st.integers(1, 127)),
    min_size=1,
    max_size=30,
)


def piece(notes):
    return piece_of_notes(np.array([(f, f + d, p, v) for f, d, p, v in notes], np.int64))


@given(NOTES)
def test_what_is_written_is_read(notes) -> None:
    own = piece(notes)
    found = as_piece(Midi(None, "x.mid", own.midi()), "x")
    np.testing.assert_array_equal(found.notes, own.notes)
    np.testing.assert_array_equal(found.values, own.values)
    assert found.tempo == pytest.approx(own.tempo, rel=1e-5)
    assert not found.left


@given(NOTES)
def test_frames_and_notes_are_the_same_music(notes) -> None:
    own = piece(notes)
    again = piece_of_frames(own.values)
    np.testing.assert_array_equal(again.values, own.values)
    assert len(again.notes) <= len(own.notes)  # what is struck again sounds on
    some = own[3:9]
    np.testing.assert_array_equal(some.values, piece_of_notes(some.notes, len(some)).values)


def test_notes_as_mido_and_pretty_midi_have_them(tmp_path) -> None:
    mido = pytest.importorskip("mido")
    rng = np.random.default_rng(1)
    notes = [
        (int(f), int(f + d), int(p), int(v))
        for p in rng.choice(np.arange(21, 109), 40, False)
        for f, d, v in [(rng.integers(0, 400), rng.integers(1, 90), rng.integers(1, 127))]
    ]
    score = Score(np.array(sorted(notes)), 96, 400_000)
    path = tmp_path / "ours.mid"
    path.write_bytes(write_midi(score))
    file = mido.MidiFile(path)
    assert (file.ticks_per_beat, file.type) == (96, 0)
    now, sounding, found = 0, {}, []
    for message in file.tracks[0]:
        now += message.time
        if message.type == "set_tempo":
            assert message.tempo == 400_000
        elif message.type == "note_on":
            sounding[message.note] = now, message.velocity
        elif message.type == "note_off":
            first, velocity = sounding.pop(message.note)
            found.append((first, now, message.note, velocity))
    assert sorted(found) == sorted(notes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pretty_midi = pytest.importorskip("pretty_midi")
        played = pretty_midi.PrettyMIDI(str(path))
    seconds = 0.4 / 96
    theirs = sorted(
        (round(n.start / seconds), round(n.end / seconds), n.pitch, n.velocity)
        for n in played.instruments[0].notes
    )
    assert theirs == sorted(notes)


def test_a_file_of_mido_is_read(tmp_path) -> None:
    """Two tracks, running status, a system message, drums, velocity 0 for the end, tempos."""
    mido = pytest.importorskip("mido")
    file = mido.MidiFile(ticks_per_beat=480)
    one, two = mido.MidiTrack(), mido.MidiTrack()
    file.tracks += [one, two]
    one += [
        mido.MetaMessage("track_name", name="Bach", time=0),
        mido.MetaMessage("set_tempo", tempo=600_000, time=0),
        mido.Message("sysex", data=(1, 2, 3), time=0),
        mido.Message("note_on", note=60, velocity=90, time=0),
        mido.Message("note_on", note=64, velocity=80, time=0),
        mido.Message("note_on", note=60, velocity=0, time=480),
        mido.Message("note_on", note=64, velocity=0, time=10),
        mido.MetaMessage("set_tempo", tempo=500_000, time=0),
    ]
    two += [
        mido.Message("program_change", program=3, time=0),
        mido.Message("note_on", note=40, velocity=64, channel=9, time=0),
        mido.Message("note_on", note=12, velocity=64, time=0),
        mido.Message("note_off", note=12, velocity=64, time=240),
        mido.Message("note_on", note=48, velocity=64, time=0),
    ]
    buffer = io.BytesIO()
    file.save(file=buffer)
    score = read_midi(buffer.getvalue(), "x.mid")
    assert score.notes.tolist() == [[0, 240, 12, 64], [0, 480, 60, 90], [0, 490, 64, 80]]
    assert (score.beat, score.tempo, score.drums, score.tempos) == (480, 600_000, 1, 1)
    own = as_piece(Midi(None, "x.mid", buffer.getvalue()), "x")
    assert own.notes.tolist() == [[0, 4, 60, 90], [0, 4, 64, 80]]
    assert dict(own.left) == {
        "of the drums' channel": 1,
        "changes of the tempo": 1,
        "outside of the 88 keys": 1,
    }
    assert own.tempo == pytest.approx(100)


GOOD = piece_of_frames(np.eye(88, dtype=np.float32)[40:44]).midi()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"x\.mid: the file is empty"),
        (b"RIFF....", r"x\.mid: is not a MIDI file: it does not begin with MThd"),
        (GOOD[:12], "a damaged MIDI file: it is cut off at byte 8"),
        (GOOD[:-5], "a damaged MIDI file: it is cut off at byte 22"),
        (GOOD[:30] + b"\xf5" + GOOD[31:], "0xf5 is not an event at byte"),
        (GOOD[:12] + b"\0\0" + GOOD[14:], "its beats last no time"),
        (piece_of_frames(np.zeros((3, 88))).midi(), "a MIDI file without notes"),
        (GOOD[:22] + b"\xff\xff\xff\xff\xff" + GOOD[27:], "more than four bytes"),
    ],
)
def test_what_is_no_music(content, message) -> None:
    with pytest.raises(DataError, match=message):
        as_piece(Midi(None, "x.mid", content), "x.mid")


@given(st.binary(max_size=60), st.integers(0, 40))
def test_damage_is_refused_or_read(damage, at) -> None:
    """Nothing but a DataError, whatever the bytes."""
    with suppress(DataError):
        as_piece(Midi(None, "x.mid", GOOD[:at] + damage + GOOD[at + len(damage) :]), "x")
