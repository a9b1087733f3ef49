"""Bad recordings of sound, through the command line: one line that names the file, exit code 2."""

from __future__ import annotations

import numpy as np
import pytest

from tones import RATE, tones, wav, write_labels, write_texts

QUICK = ["--set", "epochs=1", "--set", "hidden=8", "--set", "layers=1", "--set", "baseline=false"]
GOOD = wav(tones("a"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "2.wav: the file is empty"),
        (b"hello, I am a text", "2.wav: is not a WAV file, though it is named like one"),
        (GOOD[:500], "2.wav: is a broken WAV file: it ends after 228 of"),
        (wav(np.zeros((0, 1))), "2.wav: holds no samples"),
    ],
)
def test_a_broken_file(here, refused, content, says) -> None:
    home = write_texts(here / "x", 6)
    (home / "2.wav").write_bytes(content)
    refused("train", home, *QUICK, says=[says])


def test_a_missing_path_in_the_table(here, refused) -> None:
    home = write_texts(here / "x", 6)
    (home / "2.wav").unlink()
    refused("train", home, says=["texts.csv:4:", "2.wav: no such file"])


def test_silence_is_left_out_and_counted(here, unspool) -> None:
    home = write_texts(here / "x", 8)
    (home / "2.wav").write_bytes(wav(np.zeros(4000)))
    ended = unspool("train", home, "--set", "valid_share=0", "--out", here / "run", *QUICK)
    assert ended.code == 0, ended.err
    assert "1 recordings with silence alone left out, the first at" in ended.err
    assert "texts.csv:4" in ended.err
    ended = unspool("predict", here / "run", home / "2.wav")
    assert ended.code == 2
    assert "2.wav: is silent: every sample is 0" in ended.err
    ended = unspool("predict", here / "run", "some text")
    assert ended.code == 2
    assert "the model reads audio, which is no text; got 'some text'" in ended.err


def test_24_bits_and_floats_are_read(here, unspool) -> None:
    home = write_texts(here / "x", 8)
    (home / "1.wav").write_bytes(wav(tones("ab"), bits=24))
    (home / "2.wav").write_bytes(wav(tones("ab"), bits=32, floats=True))
    ended = unspool("train", home, "--set", "valid_share=0", "--out", here / "run", *QUICK)
    assert ended.code == 0, ended.err


def test_a_folder_with_one_class(here, refused) -> None:
    home = write_labels(here / "x", 4)
    refused(
        "train", home / "a", "--task", "classify",
        says=["holds sound without labels", "name_1 (a)", "--task transcribe"],
    )  # fmt: skip
    refused(
        "train",
        home / "a",
        "--set",
        "pattern={label}_{who}_{n}",
        says=["all rows have the same label"],
    )


def test_a_folder_without_anything_to_learn(here, refused) -> None:
    home = write_texts(here / "x", 4)
    (home / "texts.csv").unlink()
    refused("train", home, says=["holds sound without labels", "--set pattern="])


def test_sound_has_no_label_a_step(here, refused) -> None:
    home = write_labels(here / "x", 2)
    refused("train", home, "--task", "tag", says=["holds sound without a label for each step"])


def test_texts_are_not_transcribed(file, refused) -> None:
    path = file("text,label\na fine film,x\nwhat a bore,y\n" * 10)
    refused("train", path, "--task", "transcribe", says=["holds neither sound nor series"])


def test_a_damaged_run(here, unspool) -> None:
    home = write_texts(here / "x", 6)
    ended = unspool("train", home, "--set", "valid_share=0", "--out", here / "run", *QUICK)
    assert ended.code == 0, ended.err
    (here / "run" / "audio.json").write_text('{"rate": "fast"}')
    ended = unspool("predict", here / "run", home / "0.wav")
    assert ended.code == 2
    assert "audio.json" in ended.err


def test_rates_are_said_where_a_file_differs(here, unspool) -> None:
    home = write_labels(here / "x", 4)
    (home / "a" / "a_x_0.wav").write_bytes(wav(tones("a", 0, 2 * RATE), 2 * RATE))
    ended = unspool("train", home, "--out", here / "run", *QUICK, "--model", "gru")
    assert ended.code == 0, ended.err
    assert "label = folder" in ended.err
    assert "resampled to 8,000 Hz: 1 of 16,000 Hz (--set rate= for another rate)" in ended.err
