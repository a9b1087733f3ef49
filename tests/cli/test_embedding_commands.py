"""`unspool embed` and `unspool vectors ...`, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from unspool import vectors
from unspool.vectors import WordVectors

WORDS = ["man", "woman", "king", "queen", "apple"]
ROWS = [[1, 0, 0, 1], [0, 1, 0, 1], [1, 0, 1, 0.9], [0, 1, 1, 0.9], [-1, -1, 0.2, 0]]


@pytest.fixture
def royal(tmp_path) -> Path:
    path = tmp_path / "royal.txt"
    vectors.save(WordVectors(WORDS, np.array(ROWS, np.float32)), path)
    return path


def test_embed_then_look(unspool, tmp_path, monkeypatch, reviews) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ("--set", "size=8", "--set", "epochs=2", "--set", "threads=1")
    made = unspool("embed", reviews, *settings, "--json")
    assert made.code == 0, made.err
    result = json.loads(made.out)
    assert result["run"] == "runs/reviews-word2vec"
    assert result["size"] == 8
    assert "next: unspool vectors neighbours runs/reviews-word2vec WORD" in made.err
    near = unspool("vectors", "neighbours", "runs/reviews-word2vec", "good", "film", "--top", "3")
    assert near.code == 0
    assert [line.strip() for line in near.out.splitlines() if line[0] != " "] == ["good", "film"]
    again = unspool("embed", reviews, *settings, "--method", "word2vec", "--set", "mode=cbow")
    assert again.out.splitlines()[0].endswith("runs/reviews-word2vec-2/vectors.safetensors")


def test_neighbours_and_analogy(unspool, royal) -> None:
    near = unspool("vectors", "neighbours", royal, "king", "--top", "1", "--json")
    assert json.loads(near.out)["king"][0]["word"] == "man"
    found = unspool("vectors", "analogy", royal, "man", "king", "woman")
    assert found.out.splitlines()[0] == "man : king = woman : ?"
    assert found.out.splitlines()[1].split()[0] == "queen"


def test_similarity(unspool, royal, tmp_path) -> None:
    (tmp_path / "pairs.txt").write_text("king man 9\nking queen 7\nking apple 1\nking duke 3\n")
    found = unspool("vectors", "similarity", royal, tmp_path / "pairs.txt")
    assert found.out == "Spearman 1.0000   3 of 4 pairs covered\n"
    (tmp_path / "questions.txt").write_text(": family\nman king woman queen\n")
    found = unspool("vectors", "similarity", royal, tmp_path / "questions.txt", "--json")
    assert json.loads(found.out)["accuracy"] == 1.0


def test_convert_and_map(unspool, royal, tmp_path) -> None:
    for name in ("v.bin", "v.safetensors", "v.glove", "v.vec"):
        assert unspool("vectors", "convert", royal, tmp_path / name).code == 0
        assert (vectors.load(tmp_path / name).matrix == np.array(ROWS, np.float32)).all()
    drawn = unspool("vectors", "map", royal, "--out", tmp_path / "map.svg")
    assert drawn.code == 0
    assert "king" in (tmp_path / "map.svg").read_text()


def test_train_says_the_coverage(unspool, tmp_path, reviews) -> None:
    words = WordVectors(["film", "good", "bad"], np.eye(3, dtype=np.float32))
    vectors.save(words, tmp_path / "v.txt")
    made = unspool(
        *("train", reviews, "--out", tmp_path / "run", "--set", "max_steps=1"),
        *("--set", f"embedding.from={tmp_path / 'v.txt'}", "--set", "hidden=4"),
        *("--set", "threads=1", "--set", "embedding.frozen=true"),
    )
    assert made.code == 0, made.err
    assert "v.txt, 3 elements: 3 of " in made.err


def test_the_settings_are_listed(unspool) -> None:
    listed = unspool("settings").out
    assert "word2vec.negatives" in listed
    assert "embedding.from" in listed
    as_json = json.loads(unspool("settings", "--json").out)
    assert as_json["word2vec"]["word2vec.mode"]["choices"] == ["skipgram", "cbow"]


def test_embed_begins_again_where_it_was_stopped_at_its_end(unspool, tmp_path, reviews) -> None:
    """Vectors that a full disk has left without a config.json are replaced; those of others not."""
    out = tmp_path / "out"
    words = ["embed", reviews, "-o", out, "-s", "size=4", "-s", "epochs=1", "-s", "threads=1"]
    assert unspool(*words).code == 0
    for name in ("config.json", "README.md"):
        (out / name).unlink()
    assert unspool(*words).code == 0
    (out / "config.json").unlink()
    (out / "hashes.json").unlink()
    (out / "README.md").unlink()
    refused = unspool(*words)
    assert refused.code == 2
    assert "holds other files, so it cannot become a run folder; got 'vectors.saf" in refused.err
