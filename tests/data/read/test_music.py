"""Music from JSON, MATLAB and folders: what is read, what is said of it, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from small_tasks import load_data
from unspool.config import DataConfig
from unspool.data.fields.music_events import events_of, piece_of_events
from unspool.data.fields.pieces import music_numbers
from unspool.data.plan import split_plans
from unspool.data.read.music import as_piece
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

SHARED = Path(__file__).parents[4] / "shared" / "data" / "music"
CHORDS = [[60, 64, 67], [60, 64, 67], [], [62, 65], [62.0, None, -1]]


def as_json(path, value) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_parts_of_one_file(tmp_path) -> None:
    path = as_json(
        tmp_path / "x.json", {"train": [CHORDS] * 3, "valid": [CHORDS], "test": [CHORDS]}
    )
    plan = open_plan(str(path), DataConfig())
    assert plan.task == "compose"
    assert "in the parts train, valid, test as frames (--set music=events" in plan.summary
    parts, note = split_plans(plan, DataConfig())
    assert "parts by column 'part': train 3, valid 1, test 1" in note
    assert [len(list(own.rows())) for own in parts.values()] == [3, 1, 1]


@pytest.mark.parametrize("form", ["frames", "events"])
def test_the_same_piece_from_every_format(form, tmp_path) -> None:
    from scipy.io import savemat

    own = as_piece(CHORDS, "x")
    assert own.chords() == [[60, 64, 67], [60, 64, 67], [], [62, 65], [62]]
    as_json(tmp_path / "x.json", {"train": [CHORDS, CHORDS]})
    cells = np.empty(2, object)
    cells[:] = [own.values.astype(np.uint8)] * 2
    savemat(tmp_path / "x.mat", {"traindata": cells})
    folder = tmp_path / "songs"
    folder.mkdir()
    for name in ("a.mid", "b.midi"):
        (folder / name).write_bytes(own.midi())
    parts = [
        load_data(path, data={"music": form, "valid_share": 0.0}).parts["train"]
        for path in (tmp_path / "x.json", tmp_path / "x.mat", folder)
    ]
    for part in parts[1:]:
        for one, other in zip(part.collate(np.arange(2))["music"].inputs,
                              parts[0].collate(np.arange(2))["music"].inputs):  # fmt: skip
            assert one.tolist() == other.tolist()


def test_events_are_the_music() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        chords = [(40 + rng.choice(30, rng.integers(0, 5), False)).tolist() for _ in range(60)]
        own = as_piece(chords, "x")
        again = piece_of_events(events_of(own))
        np.testing.assert_array_equal(again.notes, own.notes)
        assert len(again) == len(own)
    assert list(events_of(as_piece(CHORDS, "x")))[:5] == [
        "on_C4",
        "on_E4",
        "on_G4",
        "shift_2",
        "off_C4",
    ]


def test_what_is_left_out_is_said(tmp_path) -> None:
    mido = pytest.importorskip("mido")
    file, track = mido.MidiFile(ticks_per_beat=480), mido.MidiTrack()
    file.tracks.append(track)
    for note, channel, wait in ((60, 0, 0), (62, 0, 50), (40, 9, 0), (10, 0, 0)):
        track.append(mido.Message("note_on", note=note, channel=channel, velocity=64, time=wait))
        track.append(mido.Message("note_off", note=note, channel=channel, time=480))
    file.save(tmp_path / "a.mid")
    for form in ("frames", "events"):
        notes = "\n".join(
            load_data(tmp_path / "a.mid", data={"music": form, "valid_share": 0}).notes
        )
        assert "1 notes of the drums' channel left out" in notes
        assert "1 notes outside of the 88 keys left out" in notes
        assert "1 of 2 notes begin between the 4 steps of a beat and were moved" in notes


def test_numbers_of_music() -> None:
    """By hand: C E G to D F A in parallel, then the same again, then one note out of C major."""
    own = as_piece([[60, 64, 67], [62, 65, 69], [62, 65, 69], [61, 64, 67]], "x")
    found = music_numbers([own.values])
    assert found.in_key == pytest.approx(11 / 12)
    assert found.parallel_fifths == pytest.approx(1 / 2)  # 61 to 67 is no fifth
    assert found.repeated == pytest.approx(1 / 3)
    assert found.notes == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "x.json",
            b'{"train": [[[60, 300]]]}',
            r"x\.json:1: step 1: is not a MIDI pitch; got 300",
        ),
        ("x.json", b'{"train": [[[60.5]]]}', "is not a MIDI pitch"),
        ("x.json", b'{"train": [[[60], 5]]}', "step 2: is not a list of pitches"),
        ("x.json", b'{"train": [[[60]], 7]}', "'train' is not a list of pieces"),
        ("x.json", b'{"train": [[[60]]', "not valid JSON"),
        ("x.json", b'{"train": [[[]]]}', "all 1 rows have no note"),
        ("x.mat", b"nothing", "is not a MATLAB file that can be read"),
        ("x.mid", b"", "the file is empty"),
        ("x.mid", b"MThd", "a damaged MIDI file"),
    ],
)
def test_what_cannot_be_read(name, content, message, tmp_path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_data(tmp_path / name)


def test_rolls_of_other_shapes(tmp_path) -> None:
    from scipy.io import savemat

    savemat(tmp_path / "x.mat", {"traindata": np.ones((4, 50))})
    with pytest.raises(DataError, match="a column for each of 88 keys, or of 128 pitches"):
        load_data(tmp_path / "x.mat", data={"input": "music"})
    wide = np.zeros((4, 128))
    wide[:, [5, 60]] = 1
    assert as_piece(wide, "x").chords() == [[60]] * 4
    assert as_piece(wide, "x").left == {"outside of the 88 keys": 4}


@pytest.mark.skipif(not SHARED.exists(), reason="../shared/data is not there")
def test_the_chorales() -> None:
    """MATLAB's piano rolls are the lists of pitches in quarter notes, frame by frame."""
    files = ("boulanger_lewandowski/JSB_Chorales.mat", "jsb/jsb-chorales-quarter.json")
    both = [open_plan(str(SHARED / file), DataConfig()) for file in files]
    for one, other in zip(*(split_plans(plan, DataConfig())[0]["test"].rows() for plan in both)):
        assert as_piece(one.values[0], "x").chords() == as_piece(other.values[0], "x").chords()
