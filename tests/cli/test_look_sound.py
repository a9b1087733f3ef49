"""`unspool look` and `--picture` of models of sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tones import tones, wav, write_texts
from unspool.api.train import train
from unspool.insight.plots.overtime import saliency_over_time
from unspool.insight.saliency import explain


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spoken")
    data = write_texts(folder / "data", 12)
    small = {"hidden": 8, "layers": 1, "epochs": 1, "threads": 1, "bands": 12}
    return train(data, task="transcribe", model="bilstm", out=folder / "run", **small)


@pytest.fixture
def call(tmp_path: Path) -> Path:
    path = tmp_path / "call.wav"
    path.write_bytes(wav(tones("abc", 4)))
    return path


def test_pictures_of_a_recording(unspool, spoken, call, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    ended = unspool("look", spoken.path, call, "--pictures", seen)
    assert ended.code == 0, ended.err
    names = {path.stem for path in seen.iterdir()}
    assert {"lattice", "saliency", "gates-encoder-1-forwards", "trace"} <= names


def test_the_first_lattice_of_predict(unspool, spoken, call, tmp_path: Path) -> None:
    picture = tmp_path / "lattice.svg"
    ended = unspool("predict", spoken.path, call, call, "--picture", picture)
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 2
    assert f"the lattice is in {picture}" in ended.err
    assert "blank" in picture.read_text()
    wrong = unspool("predict", spoken.path, call, "--picture", tmp_path / "x.gif")
    assert wrong.code == 2
    assert "a picture cannot be written in this format" in wrong.err


def test_the_page_of_a_file(unspool, spoken, call, tmp_path: Path) -> None:
    html = tmp_path / "seen.html"
    ended = unspool("look", spoken.path, call, "--html", html)
    assert ended.code == 0, ended.err
    assert "call.wav" in html.read_text()
    broken = tmp_path / "broken.wav"
    broken.write_bytes(b"RIFF")
    ended = unspool("look", spoken.path, broken, "--html", tmp_path / "none.html")
    assert ended.code == 2
    assert len(ended.err.strip().splitlines()) <= 2
    assert not (tmp_path / "none.html").exists()


def test_reasons_are_drawn_below_the_spectrum(spoken, call) -> None:
    """Frames that are read as one have one bar as wide as they are, and seconds below."""
    field = spoken.task.input_field
    item = field.recording(str(call), "call")
    reading = spoken.task.reading(spoken.model, item)
    why = explain(reading, deletions=False)
    figure = saliency_over_time(field.curves(item), why, reading.input.token_spans)
    _, bars, below = figure.axes[:3]
    assert len(bars.patches) == len(reading.input.tokens) == -(-len(item) // 3)
    assert bars.patches[0].get_width() == 3
    assert below.get_xlabel() == "seconds"
    shown = [text.get_text() for text in below.get_yticklabels()]
    assert shown[0] == field.channels[0]
    assert shown[-1] == field.channels[-1]
