"""`unspool look RUN FILE` of models of series: the table, the pictures, the page."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from unspool.api.train import train
from unspool.data.fields.joined import JoinedField
from unspool.data.fields.source import SeriesSource
from unspool.data.fields.strokes import Preparation, StrokesSource
from unspool.data.fields.vectors import VectorField
from unspool.data.read.recording import Recording, recording_from_json, recording_to_json
from unspool.data.read.strokes import from_lines

QUICK = {"epochs": 1, "threads": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """moves.csv: a label a recording; steps.csv: one a step; load.csv: hours of a week."""
    folder = tmp_path_factory.mktemp("series")
    moves, steps = ["id,time,x,y,move"], ["id,time,x,y,move"]
    for i in range(24):
        for t in range(18):
            x, y = math.sin((0.4 + i % 2) * t), math.cos(0.3 * t + i)
            moves.append(f"r{i},{t},{x:.3f},{y:.3f},{'ab'[i % 2]}")
            steps.append(f"r{i},{t},{x:.3f},{y:.3f},{'ab'[t // 9]}")
    hours = [
        f"{datetime(2026, 3, 1) + timedelta(hours=h)},{9 + math.sin(h / 4):.3f}" for h in range(240)
    ]
    (folder / "moves.csv").write_text("\n".join(moves) + "\n")
    (folder / "steps.csv").write_text("\n".join(steps) + "\n")
    (folder / "load.csv").write_text("\n".join(["time,load", *hours]) + "\n")
    return folder


@pytest.fixture(scope="module")
def run_of(data, tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("runs"), {}
    ahead = {"task": "forecast", "horizon": 4, "window": 12, "patch": 4}
    recurrent = {"hidden": 8, "embedding": 8}
    settings = {
        "gru": ("moves.csv", {"model": "bigru", "label": "move", **recurrent}),
        "transformer": (
            "moves.csv", {"model": "transformer", "label": "move", "hidden": 8, "heads": 2}
        ),
        "cnn": ("moves.csv", {"model": "cnn", "label": "move", "embedding": 8, "filters": 4}),
        "pooled": (
            "moves.csv", {"model": "lstm", "label": "move", "pooling": "attention", **recurrent}
        ),
        "tags": ("steps.csv", {"model": "gru", "task": "tag", "label": "move", **recurrent}),
        "ahead": ("load.csv", {"model": "gru", **ahead, **recurrent}),
    }  # fmt: skip

    def make(name: str) -> tuple[Path, Path]:
        file, own = settings[name]
        if name not in made:
            made[name] = train(data / file, out=folder / name, **QUICK, **own).path
        return made[name], data / file

    return make


@pytest.mark.parametrize(
    ("name", "pictures"),
    [
        ("gru", ["gates-encoder-1-backwards", "gates-encoder-1-forwards", "saliency"]),
        ("transformer", ["saliency", "self-attention"]),
        ("cnn", ["features", "saliency"]),
        ("pooled", ["gates-encoder-1-forwards", "pooling", "saliency"]),
        ("tags", ["gates-encoder-1-forwards", "saliency"]),
        ("ahead", ["ahead", "gates-encoder-1-forwards"]),
    ],
)
def test_pictures(unspool, run_of, tmp_path: Path, name, pictures) -> None:
    run, file = run_of(name)
    ended = unspool("look", run, file, "--pictures", tmp_path / "seen")
    assert ended.code == 0, ended.err
    found = sorted(path.stem for path in (tmp_path / "seen").glob("*.png"))
    assert found == pictures
    trace = json.loads((tmp_path / "seen" / "trace.json").read_text())
    gates = [own for own in trace["arrays"] if own["axes"][-1] == "unit"]
    assert all(own["shape"][0] == len(trace["tokens"]) for own in gates)


def test_the_page_of_a_file(unspool, run_of, tmp_path: Path) -> None:
    run, file = run_of("ahead")
    page = tmp_path / "seen.html"
    ended = unspool("look", run, file, "--html", page)
    assert ended.code == 0, ended.err
    text = page.read_text(encoding="utf-8")
    assert "load.csv, 240 steps to 2026-03-10 23:00:00" in text
    run, file = run_of("gru")
    ended = unspool("look", run, file, "--view", "neighbours", "--html", page)
    assert ended.code == 2
    assert "this run has no neighbours view. Choose from unrolled, saliency" in ended.err


def test_a_file_of_other_channels(unspool, run_of, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("id,time,x\n" + "".join(f"r,{t},{t % 3}\n" for t in range(20)))
    for how in ([], ["--html", tmp_path / "seen.html"], ["--pictures", tmp_path / "seen"]):
        ended = unspool("look", run_of("gru")[0], other, *how)
        assert ended.code == 2
        assert (
            ended.err.count("the model was trained on 2 channels (x, y), and this series has 1")
            == 1
        )
    assert not (tmp_path / "seen").exists()
    assert not (tmp_path / "seen.html").exists()


def test_strokes_are_prepared_once() -> None:
    """What a run keeps of a drawing is read as it was."""
    field = VectorField("strokes", StrokesSource(Preparation(size="height")))
    field.source.channels = ["dx", "dy", "pen up"]
    field.scaler.mean, field.scaler.std = np.zeros(3), np.ones(3)
    raw = from_lines([np.array([[0.0, 0.0], [30, 40], [60, 0]]), np.array([[9.0, 9.0], [9, 20]])])
    kept = json.loads(json.dumps(field.form.to_json(raw)))
    again = field.form.from_json(kept, "x")
    vectors = [field.vectors(field.encode([own]), 0) for own in (raw, again)]
    np.testing.assert_allclose(*vectors, rtol=1e-5)
    fresh = field.form.from_json(raw.values.tolist(), "x")  # as somebody pastes it
    np.testing.assert_allclose(field.vectors(field.encode([fresh]), 0), vectors[0], rtol=1e-5)


def test_what_a_series_has_as_a_whole_is_kept() -> None:
    own = Recording(np.ones((2, 1), np.float32), static=("north", 3.5))
    assert recording_from_json(recording_to_json(own), "x").static == ("north", 3.5)


def test_several_models_draw_as_the_first() -> None:
    field = VectorField("series", SeriesSource())
    field.source.channels = ["x"]
    field.scaler.mean, field.scaler.std = np.zeros(1), np.ones(1)
    joined, raw = JoinedField("series", [field, field]), np.arange(3.0)
    assert joined.form.display.form == "curves"
    assert joined.picture(raw) == field.picture(raw)
    again = joined.form.from_json(joined.form.to_json(raw), "x")
    np.testing.assert_array_equal(again.values[:, 0], raw)


def test_picture_of_a_forecast(unspool, run_of, tmp_path: Path) -> None:
    run, data = run_of("ahead")
    picture = tmp_path / "ahead.svg"
    ended = unspool("predict", run, "--file", data, "--coverage", 0.8, "--picture", picture)
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 4
    assert f"the continuation is in {picture}" in ended.err
    drawn = picture.read_text()
    for words in ("80 % interval", "before", "the model", "steps from the last that was known"):
        assert words in drawn
    assert "what came" not in drawn  # nobody knows that yet
