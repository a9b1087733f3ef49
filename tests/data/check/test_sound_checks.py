"""What `check` finds in recordings of sound with texts or labels, and in strokes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import unspool
from tones import RATE, tones, wav, write_labels, write_texts
from unspool.data.check import CheckReport
from unspool.data.fields.series_examiner import loudness, runs
from unspool.data.read.sound import as_sound


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> CheckReport:
    """Sound with one of each flaw."""
    folder = write_texts(tmp_path_factory.mktemp("sound") / "tones", 40)
    sound = tones("abc", 5)
    more = {
        "copy": ((folder / "3.wav").read_bytes(), "cab"),
        "clipped": (wav(4 * sound), "abc"),
        "padded": (wav(np.append(sound, np.zeros(20 * RATE))), "abc"),
        "faint": (wav(0.01 * sound), "abc"),
        "fast": (wav(tones("ab", 3, 16_000), 16_000), "ab"),
        "stereo": (wav(np.stack([sound, sound], 1)), "abc"),
        "silent": (wav(np.zeros(4000)), "abc"),
        "crowded": (wav(tones("a", 9)), "abc" * 40),
        "rare": (wav(tones("ab", 11)), "abz"),
    }
    with (folder / "texts.csv").open("a") as table:
        for name, (data, text) in more.items():
            (folder / f"{name}.wav").write_bytes(data)
            table.write(f"{name}.wav,{text}\n")
    return unspool.check(folder, task="transcribe", valid_share=0.0)


def shown(report: CheckReport, kind: str) -> list[str]:
    return [
        example.shown
        for finding in report.findings
        if finding.kind == kind
        for example in finding.examples
    ]


@pytest.mark.parametrize(
    ("kind", "name", "note"),
    [
        ("clipped", "clipped.wav", "times"),
        ("mostly-silence", "padded.wav", "%"),
        ("faint", "faint.wav", "largest sample 0.4"),
        ("silent", "silent.wav", "0.50 s"),
        ("long", "padded.wav", "s, 8,000 Hz"),
    ],
)
def test_flaws_of_recordings(report, kind, name, note) -> None:
    found = shown(report, kind)
    assert [own.split(":")[0] for own in found] == [name]
    assert note in found[0]


def test_the_same_recording_twice(report) -> None:
    assert {own.split(":")[0] for own in shown(report, "contradiction")} == {"3.wav", "copy.wav"}


def test_rates_and_channels(report) -> None:
    assert report.families["rate of the audio"] == {"8,000 Hz": 48, "16,000 Hz": 1}
    assert report.families["number of channels of the audio"] == {"1": 48, "2": 1}
    names = {own.split(":")[0] for own in shown(report, "minority")}
    assert names == {"fast.wav", "stereo.wav"}


def test_texts_that_do_not_fit_and_characters_that_occur_once(report) -> None:
    assert any("texts are longer than their steps" in note for note in report.notes)
    assert shown(report, "rare-character") == ["'z'"]


def test_counts_and_words(report) -> None:
    lines = report.lines()
    assert any(line.startswith("train audio: 47 recordings, ") for line in lines)
    assert any(line.startswith("train text: 47 recordings, ") for line in lines)
    assert any(line.startswith("  length in frames: ") for line in lines)
    assert any(line.startswith("  length in characters: ") for line in lines)
    assert not any("max_length" in line or "pairs are few" in line for line in lines)
    assert json.loads(json.dumps(report.to_json()))["parts"][1]["unit"] == "characters"
    assert "recordings" in report.to_html()


def test_labels_and_groups(tmp_path: Path) -> None:
    folder = write_labels(tmp_path / "letters")
    for path in (folder / "c").glob("c_y_*.wav"):
        path.unlink()
    (folder / "b" / "b_x_9.wav").write_bytes((folder / "a" / "a_x_0.wav").read_bytes())
    report = unspool.check(folder, task="classify", group="name_2")
    kinds = {finding.kind: finding for finding in report.findings}
    assert {"contradiction", "label-of-one-group", "group"} <= set(kinds)
    assert "c (x)" in kinds["label-of-one-group"].what


def test_loudness_by_hand(tmp_path: Path) -> None:
    assert runs(np.array([0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1], bool)) == 2
    sound = np.concatenate([np.full(800, 0.5), np.zeros(2400)]).astype(np.float32)
    found = loudness(as_sound((sound, RATE), "item"))
    assert found == (0.4, 0.5, 0, 0.75)
    path = tmp_path / "a.wav"
    path.write_bytes(wav(sound))
    assert loudness(as_sound(path, "item")).quiet == 0.75


def test_strokes(tmp_path: Path) -> None:
    """Drawings with texts: the same twice, and a character that occurs once."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(30):
        lines = [rng.normal(0, 2, (12, 2)).round(2).cumsum(0).tolist() for _ in range(2)]
        rows.append({"strokes": lines, "text": "ab"[i % 2] * (1 + i % 3)})
    rows.append({**rows[4], "text": "b"})
    rows.append({**rows[7], "text": "z"})
    path = tmp_path / "pen.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = unspool.check(path, task="transcribe", input="strokes", valid_share=0.0)
    kinds = {finding.kind: finding for finding in report.findings}
    assert kinds["contradiction"].count == 4
    assert shown(report, "rare-character") == ["'z'"]
    assert any(line.startswith("train strokes: 32 ") for line in report.lines())
