"""Images through the commands: check, train, evaluate, predict, look."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pictures import shape, write_folders, write_lines

QUICK = ["--set", "epochs=1", "--set", "hidden=8", "--set", "embedding=8", "--set", "layers=1"]


def test_check_counts_images(here: Path, unspool) -> None:
    ended = unspool("check", write_folders(here / "x", 18))
    assert ended.code == 0, ended.err
    assert "x: 18 files, images, label = folder" in ended.err + ended.out
    assert "length in rows of pixels" in ended.out


@pytest.mark.parametrize("reading", ["patches", "cnn"])
def test_train_evaluate_predict_look(here: Path, unspool, reading: str) -> None:
    home, run = write_folders(here / "x", 30), here / "run"
    ended = unspool("train", home, "--model", "gru", "--set", f"reading={reading}", *QUICK,
                    "--out", run)  # fmt: skip
    assert ended.code == 0, ended.err
    assert "linear" in ended.out  # the baseline
    ended = unspool("evaluate", run, home)
    assert ended.code == 0, ended.err
    assert "accuracy" in ended.out
    ended = unspool("predict", run, home / "bar" / "0.png", "--json")
    assert ended.code == 0, ended.err
    (alone,) = map(json.loads, ended.out.splitlines())
    assert set(alone["probabilities"]) == {"bar", "line", "dot"}
    ended = unspool("predict", run, "--file", home, "--json")
    assert ended.code == 0, ended.err
    every = [json.loads(line) for line in ended.out.splitlines()]
    assert len(every) == 30
    ended = unspool("predict", run, home, "--json")  # a folder without --file
    assert [json.loads(line) for line in ended.out.splitlines()] == every
    (here / "x.heic").write_bytes(b"\0\0\0\x18ftypheic\0\xff")
    ended = unspool("predict", run, here / "x.heic")
    assert (ended.code, ended.out) == (2, "")
    assert "x.heic: is an HEIC or AVIF image. Save it as PNG or JPEG" in ended.err
    ended = unspool("predict", run, here / "nothing")
    assert "the model reads image, which is no text; got" in ended.err
    assert "Name a file or a folder of them" in ended.err
    assert alone["label"] == every[0]["label"]
    np.savez(here / "new.npz", x=np.stack([shape(i) for i in range(4)]))
    ended = unspool("predict", run, "--file", here / "new.npz")
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 4
    ended = unspool("look", run, home / "bar" / "0.png", "--pictures", here / "seen")
    assert ended.code == 0, ended.err
    assert "\n4,4 " in ended.out  # the last patch, or place of the grid
    for name in ("image", "saliency"):
        with Image.open(here / "seen" / f"{name}.png") as drawn:
            assert drawn.width > 300
    ended = unspool("look", run, home / "bar" / "0.png", "--html", here / "page.html")
    assert ended.code == 0, ended.err
    assert (here / "page.html").stat().st_size > 100_000


def test_look_at_a_line(here: Path, unspool) -> None:
    home, run = write_lines(here / "x", ["ab", "ba", "a b", "b", "aa", "bb"]), here / "run"
    ended = unspool("train", home, *QUICK, "--set", "valid_share=0", "--out", run)
    assert ended.code == 0, ended.err
    assert "text in 'text' -> transcribe" in ended.err
    ended = unspool("look", run, home / "2.png", "--pictures", here / "seen")
    assert ended.code == 0, ended.err
    assert (here / "seen" / "image.png").exists()
