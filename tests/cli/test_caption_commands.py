"""caption through the command line: what is refused in one line, checks, pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pictures import CLASSES, shape

SMALL = ["--set", "epochs=1", "--set", "hidden=8", "--set", "precision=fp32"]
QUICK = [*SMALL, "--set", "embedding=8"]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("captions")
    rows = ["file,caption"]
    for i in range(24):
        Image.fromarray(shape(i)).save(home / f"{i}.png")
        rows += [f"{i}.png,a {CLASSES[i % 3]}", f"{i}.png,it shows a {CLASSES[i % 3]}"]
    (home / "captions.csv").write_text("\n".join(rows) + "\n")
    return home


def test_what_is_refused(data: Path, here: Path, refused) -> None:
    refused(
        "train", data, "--text", "captoin", *QUICK, says=["no column 'captoin'", "--text caption"]
    )
    table = here / "captions.csv"
    table.write_text("file,caption\nnone.png,a ghost\n")
    refused("train", table, *QUICK, says=["captions.csv:2: ", "none.png"])
    Image.fromarray(shape(1)).save(here / "1.png")
    table.write_text("file,caption\n1.png,\n")
    refused("train", table, *QUICK, says=["have an empty caption"])
    table.unlink()
    refused("train", here, "--task", "caption", *QUICK, says=["holds images without captions"])
    says = ["context_gate is for additive attention"]
    refused(
        "train", data, "--set", "context_gate=true", "--set", "attention=dot", *QUICK, says=says
    )
    says = ["positions for texts of any length"]
    refused(
        "train", data, "--model", "transformer", "--set", "positions=learned", *SMALL, says=says
    )


@pytest.mark.parametrize("model", ["xu", "transformer"])
def test_pictures_and_checks(model: str, data: Path, here: Path, unspool) -> None:
    small = [*(QUICK if model == "xu" else [*SMALL, "--set", "heads=2"]), "--set", "layers=2"]
    ended = unspool("train", data, "--model", model, "--out", here / "run", *small)
    assert ended.code == 0, ended.err
    assert "44 captions of 22 in train, 2 each" in ended.err
    options = [
        "--picture",
        here / "words.png",
        "--min-length",
        "2",
    ]  # it has learnt next to nothing
    ended = unspool("predict", here / "run", data / "0.png", *options)
    assert ended.code == 0, ended.err
    assert (here / "words.png").stat().st_size > 1000
    ended = unspool("look", here / "run", data / "0.png", "--pictures", here / "look")
    assert ended.code == 0, ended.err
    assert {"image.png", "words.png"} <= {own.name for own in (here / "look").iterdir()}
    if model == "xu":
        ended = unspool("check", data)
        assert ended.code == 0, ended.err


def test_images_that_are_described(data: Path, here: Path, unspool, refused) -> None:
    """What is no whole image is refused in one line when it is to be described; other kinds of
    images are described."""
    ended = unspool("train", data, "--out", here / "run", *QUICK)
    assert ended.code == 0, ended.err
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 256, (40, 40, 3), dtype=np.uint8))
    noise.save(here / "whole.jpg")
    (here / "half.jpg").write_bytes((here / "whole.jpg").read_bytes()[:900])
    (here / "text.png").write_text("hello, I am a text")
    Image.new("1", (20_000, 20_000)).save(here / "huge.png")
    (here / "captions.csv").write_text("file,caption\nhalf.jpg,a half\n")
    for name, says in {
        "half.jpg": "half.jpg: cannot be decoded",
        "text.png": "text.png: is not an image that can be read",
        "huge.png": "huge.png: would take",
        "none.png": "none.png: no such file",
    }.items():
        refused("predict", here / "run", here / name, says=[says])
    refused("evaluate", here / "run", here / "captions.csv", says=["half.jpg: cannot be decoded"])
    noise.convert("CMYK").save(here / "cmyk.jpg")
    Image.fromarray(shape(1).astype(np.uint16) * 250).save(here / "deep.png")
    Image.new("L", (1, 1), 90).save(here / "point.png")
    names = [here / name for name in ("whole.jpg", "cmyk.jpg", "deep.png", "point.png")]
    ended = unspool("predict", here / "run", *names)
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 4


def test_an_unknown_column_of_images(data: Path, refused) -> None:
    table = data / "captions.csv"
    refused("train", table, "--series", "photo", *QUICK, says=["no column 'photo'"])
