"""Pretraining and what starts from it, by the command line."""

from __future__ import annotations

import csv
import json

import pytest

SMALL = ["-s", "hidden=8", "-s", "heads=2", "-s", "layers=1", "-s", "threads=1"]


@pytest.fixture(scope="module")
def pretrained(book, tmp_path_factory):
    import unspool

    out = tmp_path_factory.mktemp("pretrained") / "run"
    unspool.train(
        book, task="pretrain", out=out, max_steps=3, hidden=8, heads=2, layers=1, threads=1
    )
    return out


def test_pretrain_then_classify(unspool, book, reviews, tmp_path) -> None:
    first = unspool("train", book, "-t", "pretrain", "-o", tmp_path / "p", "-s", "epochs=1", *SMALL)
    assert first.code == 0
    hint = "(--format labelled where each begins with a label)"
    assert f"one document a line {hint} -> pretrain" in first.err
    assert "tokens predicted in" in first.out
    assert first.err.splitlines()[-1].startswith(f"next: unspool predict {tmp_path / 'p'}")
    second = unspool(
        "train", reviews, "--from", tmp_path / "p", "-o", tmp_path / "c", "-s", "epochs=2",
        "-s", "freeze=gradual", "-s", "threads=1",
    )  # fmt: skip
    assert second.code == 0
    assert f"from {tmp_path / 'p'}: " in second.err
    assert "new: output" in second.err
    assert second.out.startswith("24 examples")


def test_predict_fills_in(unspool, pretrained, tmp_path) -> None:
    texts = ["the <mask> was good", "a <mask> <mask>"]
    ended = unspool("predict", pretrained, *texts)
    lines = ended.out.splitlines()
    assert [line.split("\t")[1] for line in lines] == [texts[0], texts[1], texts[1]]
    assert len(lines[0].split("\t")[0].split("  ")) == 5
    objects = [
        json.loads(line)
        for line in unspool("predict", pretrained, *texts, "--json").out.splitlines()
    ]
    assert [len(entry["masks"]) for entry in objects] == [1, 2]
    assert unspool("predict", pretrained, *texts, "-o", tmp_path / "f.csv").code == 0
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text().splitlines()))
    assert len(rows) == 15
    assert rows[0]["token"] == objects[0]["masks"][0][0]["token"]
    assert (rows[-1]["number"], rows[-1]["mask"]) == ("2", "2")


def test_wrong_uses(unspool, pretrained) -> None:
    ended = unspool("predict", pretrained, "no hole")
    assert ended.code == 2
    assert "there is nothing to fill in; got 'no hole'. Write <mask>" in ended.err
    ended = unspool("generate", pretrained)
    assert ended.code == 2
    assert "generate needs a language model" in ended.err


def test_check_and_evaluate(unspool, pretrained, book) -> None:
    assert "train: 180 lines" in unspool("check", book, "-t", "pretrain").out
    assert "perplexity" in unspool("evaluate", pretrained, book).out
    assert "4 heads" in unspool("summary", "-t", "pretrain").out
