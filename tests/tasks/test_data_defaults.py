"""Settings that follow from the look of the data, where nobody decides."""

from __future__ import annotations

import pytest

import unspool
from unspool.tasks.inputs.text import CHARACTERS

QUICK = {"epochs": 1, "threads": 1, "baseline": False, "quiet": True}
BASES = ["ACGTTGCA", "TTTTGGCA"] * 30
FILMS = ["a good film", "a bad film"] * 30


def settings(tmp_path, texts, model="gru", **given):
    out = tmp_path / "run"
    small = {} if model == "cnn" else {"hidden": 4}
    quick = {**QUICK, **small, **given}
    run = unspool.train(texts, ["yes", "no"] * 30, model=model, out=out, **quick)
    tree = run.config.model_dump()
    return {name: tree[name.split(".")[0]][name.split(".")[1]] for name in CHARACTERS}


def test_words_keep_the_defaults_of_the_schema(tmp_path) -> None:
    found = settings(tmp_path, FILMS)
    assert found == {
        "model.embedding": 128, "model.embedding_std": 0.0, "model.dropout": 0.3,
        "model.word_dropout": 0.0,
        "train.lr": 1e-3, "train.schedule": "cosine", "train.least_steps": 1500,
    }  # fmt: skip


@pytest.mark.parametrize("model", ["gru", "cnn"])
def test_characters_have_their_own(tmp_path, model) -> None:
    assert settings(tmp_path, BASES, model) == CHARACTERS


def test_what_is_given_decides(tmp_path) -> None:
    found = settings(tmp_path, FILMS, kind="char", lr=0.01, **{"model.dropout": 0.0})
    assert found == {**CHARACTERS, "train.lr": 0.01, "model.dropout": 0.0}


def test_a_transformer_keeps_its_preset(tmp_path) -> None:
    found = settings(tmp_path, BASES, "transformer", hidden=8)
    assert found["train.lr"] == 5e-4
