"""Tasks that read images: files, tables and arrays; learning; answers; repetition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import unspool
from pictures import CLASSES, line, shape, write_folders, write_lines, write_table
from small_tasks import small_settings
from unspool.config import DataConfig
from unspool.errors import ConfigError
from unspool.tasks.planner import open_plan

FP32 = {"precision": "fp32"}
QUICK = {**FP32, "baseline": False}
SMALL = {**QUICK, "hidden": 16, "epochs": 1, "valid_share": 0.2}


@pytest.mark.parametrize(
    ("model", "reading"),
    [("gru", "rows"), ("transformer", "patches"), ("cnn", "cnn"), ("gru", "columns")],
)
def test_shapes_are_learnt(model: str, reading: str, tmp_path: Path) -> None:
    home = write_folders(tmp_path / "x", 150)
    every = {"hidden": 32, "embedding": 32, "heads": 2, "filters": 16}
    small = small_settings("classify", model, every, input="image", reading=reading)
    run = unspool.train(
        home, model=model, out=tmp_path / "run", reading=reading, epochs=12, dropout=0.0, lr=5e-3,
        test_share=0.2, **small, **QUICK,
    )  # fmt: skip
    assert run.report.metrics["accuracy"] > 0.8
    again = unspool.load(tmp_path / "run")
    (file,) = again.predict(home / "dot" / "2.png")
    (array,) = again.predict(shape(2))
    assert (array.label, array.probabilities) == (file.label, file.probabilities)


def test_a_table_of_paths(tmp_path: Path) -> None:
    plan = open_plan(write_table(tmp_path / "x", 6), DataConfig())
    assert plan.task == "classify"
    assert "images in column 'file', label in 'label' -> classify" in plan.summary
    assert plan.settings == {"data.input": "image"}
    plan = open_plan(write_table(tmp_path / "y", 6, "number"), DataConfig())
    assert plan.task == "regress"
    plan = open_plan(write_lines(tmp_path / "z", ["a b", "b", "a a"]), DataConfig())
    assert plan.task == "transcribe"


def test_numbers_are_learnt(tmp_path: Path) -> None:
    home = write_table(tmp_path / "x", 60, "number")
    run = unspool.train(
        home, model="gru", out=tmp_path / "run", epochs=20, lr=5e-3, dropout=0.0, hidden=32, **QUICK
    )
    assert run.report.metrics["r2"] > 0.5
    notes: list[str] = []
    Image.fromarray(shape(2, 16)).save(home / "2.png")
    run.evaluate(home, note=notes.append)
    assert any("1 images resized (stretch) to 8 x 8: 1 of 16 x 16" in note for note in notes)


@pytest.mark.parametrize("kind", ["grey", "coloured", "list", "floats", "pillow", "npz"])
def test_arrays(kind: str, tmp_path: Path) -> None:
    x = np.stack([shape(i) for i in range(45)])
    y = [CLASSES[i % 3] for i in range(45)]
    given = SMALL | {"out": tmp_path / "run", "model": "gru"}
    if kind == "grey":
        run = unspool.train(x, y, input="image", **given)
    elif kind == "coloured":
        run = unspool.train(np.repeat(x[..., None], 3, 3), y, **given)
    elif kind == "list":
        run = unspool.train([np.repeat(own[..., None], 3, 2) for own in x], y, **given)
    elif kind == "floats":
        run = unspool.train(x[..., None] / 16, y, **given)
        x = x / 16
    elif kind == "pillow":
        run = unspool.train([Image.fromarray(own) for own in x], y, **given)
    else:
        np.savez(tmp_path / "x.npz", x=x, label=np.array(y))
        run = unspool.train(tmp_path / "x.npz", **given)
    assert run.task.input_field.kind == "image"
    assert len(run.predict(x[:5])) == 5
    rows = {"image": list(x[:5]), "label": y[:5]}
    assert run.evaluate(rows, note=lambda line: None).to_json()["examples"] == 5
    if kind == "floats":
        return
    files = write_folders(tmp_path / "x", 3)
    wanted = [answer.label for answer in run.predict(x[:3])]
    paths = [files / CLASSES[i] / f"{i}.png" for i in range(3)]
    assert [answer.label for answer in run.predict(paths)] == wanted


def test_the_same_arrays_give_the_same_model_as_files(tmp_path: Path) -> None:
    home = write_table(tmp_path / "x", 30)
    x, y = [shape(i) for i in range(30)], [CLASSES[i % 3] for i in range(30)]
    one = unspool.train(home, model="gru", out=tmp_path / "a", **SMALL)
    other = unspool.train(np.stack(x), y, input="image", model="gru", out=tmp_path / "b", **SMALL)
    assert one.report.metrics == other.report.metrics


def test_augmentation_follows_seed_and_epoch(tmp_path: Path) -> None:
    home = write_table(tmp_path / "x", 30)
    changes = {"flip": 0.5, "crop": 0.2, "colour_jitter": 0.3}
    found = [
        unspool.train(
            home, model="gru", out=tmp_path / name, **{**SMALL, **changes, "epochs": 2}, **more
        )
        for name, more in {"a": {}, "b": {}, "c": {"seed": 7}}.items()
    ]
    first, again, other = (run.report.metrics for run in found)
    assert first == again
    assert first != other


def test_lines_are_transcribed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    drawn = ["".join(rng.choice(list("abc "), rng.integers(2, 7))) for _ in range(80)]
    texts = [" ".join(text.split()) or "a" for text in drawn]
    home = write_lines(tmp_path / "x", texts)
    run = unspool.train(
        home, out=tmp_path / "run", model="bigru", hidden=32, layers=1, epochs=12, lr=8e-3,
        dropout=0.0, embedding=16, batch=8, **FP32,
    )  # fmt: skip
    assert run.report.metrics["cer"] < 0.3
    answers = run.predict([line("abc", 99), line("c", 98)])
    assert len(answers) == 2
    (alone,) = run.predict(line("c", 98))
    assert alone.text == answers[1].text
    other = write_lines(tmp_path / "y", texts[:10])
    Image.fromarray(np.repeat(np.repeat(line("ab"), 2, 0), 2, 1)).save(other / "0.png")
    tuned = unspool.train(
        other, out=tmp_path / "tuned", start=tmp_path / "run", epochs=1, valid_share=0.0, **FP32
    )
    assert tuned.task.input_field.source.shape == run.task.input_field.source.shape


def test_learned_positions_follow_from_the_size(tmp_path: Path) -> None:
    home = write_folders(tmp_path / "x", 12)
    run = unspool.train(home, model="transformer", out=tmp_path / "run", heads=2, **SMALL)
    assert run.task.config.data.reading == "patches"
    assert run.model.encoder.network.positions.length == 17
    with pytest.raises(ConfigError, match="positions=learned needs a longest text"):
        unspool.train(
            home,
            model="transformer",
            out=tmp_path / "no",
            heads=2,
            reading="columns",
            positions="learned",
            **SMALL,
        )


def test_captions_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    home = write_lines(tmp_path / "x", ["a", "b"])
    table = home / "texts.csv"
    table.write_text(table.read_text().replace("file,text", "file,caption"))
    assert "text in 'caption'" in open_plan(home, DataConfig(), "transcribe").summary
    assert open_plan(home, DataConfig()).task == "caption"


def test_a_file_of_arrays_is_found_again(tmp_path) -> None:
    """When a run goes on, and when a file like it is judged."""
    rng = np.random.default_rng(1)
    labels = np.array(["dark", "bright"] * 10)
    x = rng.integers(0, 60, (20, 5, 4)) + 190 * (labels == "bright")[:, None, None]
    np.savez(tmp_path / "a.npz", x=x.astype(np.uint8), label=labels)
    settings = {"hidden": 4, "epochs": 1, "threads": 1, "valid_share": 0.2}
    run = unspool.train(tmp_path / "a.npz", model="gru", out=tmp_path / "run", **settings)
    assert unspool.load(run.path).evaluate(tmp_path / "a.npz").metrics["accuracy"] >= 0
    assert open_plan(str(tmp_path / "a.npz"), run.config.data, "classify").columns
