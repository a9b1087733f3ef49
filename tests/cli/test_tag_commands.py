"""The commands for taggers: check, train, evaluate, predict, compare, summary."""

from __future__ import annotations

import json

FAST = [
    *("--set", "hidden=8"), *("--set", "embedding=8"), *("--set", "character_hidden=6"),
    *("--set", "epochs=1"), *("--set", "threads=1"),
]  # fmt: skip


def test_check(unspool, sentences) -> None:
    ended = unspool("check", sentences)
    assert ended.code == 0
    assert "CoNLL columns, words in column 1, tags in 3 -> tag" in ended.out
    assert "labels: PER" in ended.out
    assert "sentences repeat the words and the tags of an earlier one" in ended.out
    found = json.loads(unspool("check", sentences, "--label", 2, "--json").out)
    assert found["task"] == "tag"
    assert "VERB" in found["parts"][0]["labels"]


def test_train_says_what_it_understood(unspool, sentences, tmp_path) -> None:
    ended = unspool("train", sentences, "--out", tmp_path / "run", *FAST, "--json")
    assert ended.code == 0
    assert "IOB2, spans of 2 types (PER 200, LOC 200)" in ended.err
    assert {"f1", "types", "f1_interval"} <= json.loads(ended.out).keys()


def test_evaluate(unspool, tagger, sentences) -> None:
    ended = unspool("evaluate", tagger, sentences)
    assert ended.code == 0
    assert "F1 " in ended.out
    assert "bootstrap over sentences" in ended.out


def test_compare(unspool, sentences, tmp_path) -> None:
    out = tmp_path / "compare"
    ended = unspool("compare", sentences, "--models", "lstm,cnn", "--out", out, *FAST)
    assert ended.code == 0
    assert "test f1" in ended.out


def test_summary(unspool, tagger) -> None:
    ended = unspool("summary", tagger)
    assert "linear-chain CRF" in ended.out
    drawn = unspool("summary", "--task", "tag", "--classes", 5, "--set", "vocab=50")
    assert "scores of 5 tags" in drawn.out
    assert "softmax at each step" in drawn.out
