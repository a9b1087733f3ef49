"""What a run keeps of recordings to look at it with: the sound, not too much of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tones import RATE, tones, wav
from unspool.data.fields.audio import STORED, AudioSource
from unspool.data.fields.audio_frames import Framing
from unspool.data.fields.vectors import VectorField
from unspool.data.read.recording import Recording
from unspool.errors import DataError


@pytest.fixture
def field() -> VectorField:
    return VectorField("audio", AudioSource(Framing(RATE, bands=8)))


def test_the_same_frames_from_the_run_folder(field, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.wav"
    path.parent.mkdir()
    path.write_bytes(wav(tones("abc"), bits=24))
    kept = json.loads(json.dumps(field.form.to_json(str(path))))
    assert kept["name"] == "x.wav"  # not where it was
    again = field.form.from_json(kept, "the example")
    frames = [field.recording(own, "x").values for own in (str(path), again)]
    np.testing.assert_array_equal(*frames)
    assert field.source.extent(again) == f"{len(frames[0]) * 0.01:.2f} s"
    size = field.source.stored_size(kept)
    assert 0 < size.share < 1
    assert field.source.may_be_stored(str(path))


def test_frames_alone_are_kept_as_they_are(field) -> None:
    frames = Recording(np.ones((3, 8), np.float32), name="f")
    kept = field.form.to_json(frames)
    assert field.source.stored_size(kept).steps == 3
    np.testing.assert_array_equal(field.form.from_json(kept, "x").values, frames.values)


def test_long_recordings_are_not_read_for_it(field, tmp_path: Path) -> None:
    path = tmp_path / "long.wav"
    path.write_bytes(b"RIFF")
    with path.open("r+b") as file:
        file.truncate(9 * STORED)
    assert not field.source.may_be_stored(str(path))


@pytest.mark.parametrize("kept", [{"wav": "%"}, {"wav": 3}, {"wav": "AAAA"}, {"wav": ""}])
def test_what_is_no_sound(field, kept) -> None:
    with pytest.raises(DataError, match=r"WAV|empty"):
        field.form.from_json(kept, "x")


def test_how_it_is_drawn(field) -> None:
    field.source.channels = field.source.framing.names
    assert field.form.display.form == "spectrum"
    shown = field.picture((tones("ab"), RATE))
    assert shown["steps"][:3] == ["0.00 s", "0.01 s", "0.02 s"]
    assert np.shape(shown["values"]) == (8, len(shown["steps"]))
    assert shown["channels"][0].endswith(" Hz")
    cepstral = VectorField("audio", AudioSource(Framing(RATE, bands=16, features="mfcc")))
    assert cepstral.form.display.form == "heat map"
