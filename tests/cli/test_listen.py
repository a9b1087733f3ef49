"""`unspool predict RUN -` of a transcriber: sound on standard input."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import unspool as api
from tones import RATE, tones, wav, write_texts
from unspool.tasks.transcribe.answer import GREEDY

TEXT = "abcbac"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> api.Run:
    home = tmp_path_factory.mktemp("listen")
    return api.train(
        write_texts(home / "tones", 40), task="transcribe", model="gru", scaling="channel",
        out=home / "run", hidden=24, layers=1, epochs=20, lr=1e-2, batch=8, threads=1, bands=16,
    )  # fmt: skip


@pytest.fixture
def heard(unspool, monkeypatch):
    def call(run, data: bytes, *more: object):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return unspool("predict", run.path, "-", *more)

    return call


def test_standard_input_as_it_comes(run) -> None:
    """The text of what has come is there before the end has."""
    whole = wav(tones(TEXT, 79))
    endless = whole[:40] + (0x7FFFFFFF).to_bytes(4, "little") + whole[44:]
    (wanted,) = run.predict((np.frombuffer(whole[44:], "<i2"), RATE), GREEDY)
    with subprocess.Popen(
        [sys.executable, "-m", "unspool", "predict", str(run.path), "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        bufsize=0,  # `communicate` does not see what a buffer has read ahead
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(endless[: len(endless) * 2 // 3])
        process.stdin.flush()
        first = process.stdout.read(1).decode()
        assert first == wanted.text[0]
        out, err = process.communicate(endless[len(endless) * 2 // 3 :], timeout=120)
    assert process.returncode == 0, err
    assert first + out.decode() == wanted.text + "\n"
    assert "listening: 8,000 Hz, 1 channel" in err.decode()
    assert "ended after" not in err.decode()


def test_raw_samples_and_json(run, heard) -> None:
    whole = wav(tones(TEXT, 80))
    (wanted,) = run.predict((np.frombuffer(whole[44:], "<i2"), RATE), GREEDY)
    ended = heard(run, whole[44:], "--pcm", "8000", "--json")
    assert ended.code == 0, ended.err
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert "".join(own["text"] for own in found) == wanted.text
    tokens = [token for own in found for token in own["tokens"]]
    assert [own["start"] for own in tokens] == pytest.approx([own.start for own in wanted.tokens])


def test_several_channels_and_floats(run, heard) -> None:
    sound = tones(TEXT, 80)
    both = wav(np.stack([sound, sound], 1), bits=32, floats=True)
    ended = heard(run, both)
    assert (ended.code, ended.out) == (0, run.predict((sound, RATE), GREEDY)[0].text + "\n")


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        (b"", [], "standard input: the file is empty"),
        (b"fLaC" + bytes(100), [], "standard input: is not a WAV file; got"),
        (wav(np.zeros(0)), [], "standard input: holds no samples"),
        (b"", ["--pcm", "8000"], "standard input: holds no samples"),
        (b"", ["--pcm", "0"], "--pcm is the samples a second, from 100 to 1,000,000; got 0"),
        (b"", ["--beam", "8"], "a stream is transcribed by the best path"),
        (b"", ["--out", "x.csv"], "- reads standard input and prints each answer at once"),
        (b"", ["--follow"], "--follow reads lines, and sound comes as samples"),
    ],
)
def test_bad_standard_input(run, heard, data, more, message) -> None:
    ended = heard(run, data, *more)
    assert ended.code == 2
    assert message in ended.err
    assert ended.out == ""


def test_sound_that_ends_early_is_counted(run, heard) -> None:
    ended = heard(run, wav(tones("ab", 81))[:2044])
    assert ended.code == 0
    assert "ended after 1,000 of" in ended.err


def test_pcm_is_for_sound_that_comes(run, unspool, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(tones("ab", 82)))
    ended = unspool("predict", run.path, path, "--pcm", "8000")
    assert ended.code == 2
    assert "--pcm is for sound on standard input" in ended.err
