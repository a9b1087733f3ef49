"""Masked-token pretraining from file to filled-in text."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

import unspool
from unspool.errors import ConfigError, DataError
from unspool.tasks.pretrain import Filling, encode_masked
from unspool.text.vocab import MASK_ID, MASK_SPECIALS

SMALL = {"hidden": 16, "heads": 2, "layers": 1, "threads": 1, "batch": 16, "dropout": 0}


NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.fixture(scope="module")
def counting(tmp_path_factory) -> Path:
    """Lines that count from somewhere, round and round."""
    rng = random.Random(1)
    starts = [(rng.randrange(10), rng.randint(6, 12)) for _ in range(240)]
    path = tmp_path_factory.mktemp("counting") / "counting.txt"
    path.write_text("\n".join(" ".join(NUMBERS[(a + i) % 10] for i in range(n)) for a, n in starts))
    return path


@pytest.fixture(scope="module")
def pretrained(counting, tmp_path_factory) -> unspool.api.run.Run:
    out = tmp_path_factory.mktemp("pretrained") / "run"
    settings = {**SMALL, "hidden": 32, "lr": 1e-2, "epochs": 10, "patience": 0}
    return unspool.train(counting, task="pretrain", out=out, **settings)


def test_it_learns_what_stands_between(pretrained) -> None:
    assert pretrained.report.metrics["accuracy"] > 0.7  # by chance: 0.1
    assert 0 < pretrained.report.interval[0] < pretrained.report.metrics["loss"]
    assert pretrained.task.tokenizer.vocab.specials == MASK_SPECIALS
    stored = json.loads((pretrained.path / "evaluation.json").read_text())
    assert stored["task"] == "pretrain"
    assert stored["masked"] == pretrained.report.count


def test_what_is_hidden_in_validation_does_not_depend_on_the_batch(pretrained, counting) -> None:
    before = pretrained.evaluate(counting).metrics["loss"]
    again = unspool.load(pretrained.path)
    train = again.config.train.model_copy(update={"batch": 3, "batch_tokens": 40, "seed": 7})
    again.task.config = again.config.model_copy(update={"train": train})
    assert again.evaluate(counting).metrics["loss"] == pytest.approx(before, abs=1e-5)


def test_filling_in(pretrained) -> None:
    (filled,) = pretrained.predict("two three <mask> five <mask> seven")
    assert [len(mask) for mask in filled.masks] == [5, 5]
    for mask in filled.masks:
        chances = [p for _, p in mask]
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) <= 1
        assert not {token for token, _ in mask} & set(MASK_SPECIALS)
    assert [mask[0].token for mask in filled.masks] == ["four", "six"]
    assert filled.to_json()["masks"][0][0]["token"] == filled.masks[0][0].token
    assert len(pretrained.predict("<mask>", Filling(top=2))[0].masks[0]) == 2


@pytest.mark.parametrize("kind", ["word", "char", "bpe"])
def test_a_mask_among_tokens(kind, book, tmp_path) -> None:
    run = unspool.train(
        book, task="pretrain", out=tmp_path / "r", kind=kind, vocab=300, max_steps=2, **SMALL
    )
    tokenizer = run.task.tokenizer
    ids = encode_masked(tokenizer, "the film <mask> good")
    before = tokenizer.encode("the film")
    assert ids.tolist()[: len(before) + 1] == [*before.tolist(), MASK_ID]
    assert (ids == MASK_ID).sum() == 1
    assert encode_masked(tokenizer, "<mask>").tolist() == [MASK_ID]
    assert MASK_ID not in tokenizer.encode("a <mask> b")
    assert len(run.predict("the <mask>")[0].masks) == 1


def test_tables_need_no_labels(reviews, tmp_path) -> None:
    notes: list[str] = []
    unspool.train(
        reviews, task="pretrain", out=tmp_path / "r", max_steps=1, note=notes.append, **SMALL
    )
    assert re.search(r"text in column 'text' -> pretrain", notes[0])
    assert "rows: train 216, valid 24 (seeded hold-out)" in notes


def test_long_lines_are_read_in_pieces(tmp_path) -> None:
    (tmp_path / "long.txt").write_text("\n".join("a b c d e f g h i j" for _ in range(20)))
    run = unspool.train(
        tmp_path / "long.txt", task="pretrain", out=tmp_path / "r", max_steps=2, max_length=4,
        positions="learned", **SMALL,
    )  # fmt: skip
    assert run.report.documents == 3 * 2
    with pytest.raises(DataError, match=r"reads at most 4 tokens; got .*Give a shorter text"):
        run.predict("a b c d <mask>")


def test_a_run_is_the_same_twice(book, tmp_path) -> None:
    for name in "ab":
        unspool.train(book, task="pretrain", out=tmp_path / name, max_steps=5, **SMALL)
    a, b = (unspool.load(tmp_path / name).model.state_dict() for name in "ab")
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_wrong_uses(pretrained, classifier, book, tmp_path) -> None:
    with pytest.raises(DataError, match=r"nothing to fill in; got 'plain'.*Write <mask> where"):
        pretrained.predict("plain")
    with pytest.raises(ConfigError, match=r"a classify model takes no options; got 'Filling'"):
        unspool.load(classifier).predict("<mask>", Filling())
    with pytest.raises(ConfigError, match=r"top must be 1 or more; got 0"):
        Filling(top=0)
    with pytest.raises(ConfigError, match=r"unknown model; got 'lstm'.*hoose from transformer"):
        unspool.train(book, task="pretrain", model="lstm", out=tmp_path / "r")
    with pytest.raises(ConfigError, match=r"learned needs a longest text; got .*max_length=0"):
        unspool.train(book, task="pretrain", out=tmp_path / "r", positions="learned", max_length=0)
