"""word2vec from a file to a folder: what it learns, what it writes, what it refuses."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

import unspool
from unspool import native, vectors
from unspool.embed import embed
from unspool.embed.word2vec import chunks, first_vectors
from unspool.errors import ConfigError, DataError, RunError, TrainingError

FRUIT, TOOLS = ["apple", "pear", "plum", "fig"], ["hammer", "saw", "drill", "nail"]
SMALL = {"size": 16, "threads": 1, "min_count": 2, "subsample": 0}


def corpus(path: Path, lines: int = 400) -> Path:
    """Fruit grows, tools lie; which fruit and which tool is chance."""
    rng = random.Random(1)
    rows = [
        rng.choice(
            [
                f"the {rng.choice(FRUIT)} grows sweet and ripe",
                f"a {rng.choice(TOOLS)} is of hard steel",
            ]
        )
        for _ in range(lines)
    ]
    path.write_text("\n".join(rows))
    return path


def alike(found: vectors.WordVectors) -> float:
    """How much more like each other words of one kind are."""
    kinds = [found.units[[found.id(word) for word in kind]] for kind in (FRUIT, TOOLS)]
    within = np.mean([(k @ k.T)[np.triu_indices(4, 1)].mean() for k in kinds])
    return float(within - (kinds[0] @ kinds[1].T).mean())


@pytest.mark.parametrize("mode", ["skipgram", "cbow"])
def test_words_in_like_places_get_like_vectors(tmp_path, mode: str) -> None:
    run = embed(
        corpus(tmp_path / "a.txt"), out=tmp_path / "run", mode=mode, epochs=20, lr=0.1, **SMALL
    )
    assert alike(run.vectors) > 0.4
    assert {n.word for n in run.vectors.neighbours("apple", top=3)} == {"pear", "plum", "fig"}
    assert (vectors.load(tmp_path / "run").matrix == run.vectors.matrix).all()


def test_the_folder(tmp_path) -> None:
    path = corpus(tmp_path / "a.txt", 50)
    notes: list[str] = []
    run = embed(path, out=tmp_path / "run", epochs=2, note=notes.append, **SMALL)
    hint = '(format="labelled" where each begins with a label)'
    assert notes[0] == f"{path}: one document a line {hint} -> word2vec"
    assert notes[1].startswith("vocabulary: ")
    assert notes[-1].startswith("epoch 2 of 2: ")
    record = json.loads((tmp_path / "run/config.json").read_text())
    assert record["config"]["word2vec"]["size"] == 16
    assert record["config"]["tokenizer"]["lowercase"] is True
    assert set(record["data"]["train"]) == {"path", "sha256"}
    card = (tmp_path / "run/README.md").read_text()
    assert "`word2vec.negatives` | `5`" in card
    assert "unspool vectors neighbours" in card
    assert run.to_json()["words"] == len(run.vectors)
    with pytest.raises(RunError, match="holds word vectors and no model"):
        unspool.load(tmp_path / "run")
    with pytest.raises(RunError, match="already holds a run"):
        embed(path, out=tmp_path / "run", **SMALL)


def test_one_thread_gives_the_same_vectors_again(tmp_path) -> None:
    path = corpus(tmp_path / "a.txt", 100)
    a, b, c = (
        embed(path, out=tmp_path / name, epochs=2, **{**SMALL, "seed": seed}).vectors.matrix
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert (a == b).all()
    assert (a != c).any()


def test_the_reference_learns_the_same(tmp_path, monkeypatch) -> None:
    path = corpus(tmp_path / "a.txt", 100)
    a = embed(path, out=tmp_path / "a", epochs=2, **SMALL)
    monkeypatch.setattr(native, "INSTRUCTIONS", None)
    notes: list[str] = []
    b = embed(path, out=tmp_path / "b", epochs=2, note=notes.append, **SMALL)
    np.testing.assert_allclose(a.vectors.matrix, b.vectors.matrix, atol=1e-5)
    assert any("no native kernel" in line for line in notes)


def test_formats_of_a_corpus(tmp_path) -> None:
    text = corpus(tmp_path / "a.txt", 60).read_text()
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.csv").write_text("label,text\n" + "\n".join(f"1,{t}" for t in text.split("\n")))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/part.txt").write_text(text)
    found = [
        embed(tmp_path / name, out=tmp_path / f"run{i}", epochs=1, **SMALL).vectors
        for i, name in enumerate(["a.txt", "a.txt.gz", "a.csv", "folder"])
    ]
    for other in found[1:]:
        assert other.words == found[0].words
        assert (other.matrix == found[0].matrix).all()


def test_one_long_line_is_running_text(tmp_path) -> None:
    path = tmp_path / "text8"
    path.write_text("one two three four five " * 5000)
    notes: list[str] = []
    embed(path, out=tmp_path / "run", epochs=1, note=notes.append, **SMALL)
    assert "one long text" in notes[0]


def test_phrases_get_vectors(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("we met in new york today\nthe old york has new walls\n" * 20)
    run = embed(path, out=tmp_path / "run", phrases=1, phrase_score=1.0, epochs=1, **SMALL)
    assert any("_" in word for word in run.vectors.words)


def test_chunks_cover_the_corpus_once(monkeypatch) -> None:
    class Store:
        offsets = np.array([0, 0, 3, 9, 9, 10, 30, 31])
        tokens = 31

        def __len__(self) -> int:
            return 7

    for size in (1, 4, 10, 100):
        monkeypatch.setattr("unspool.embed.word2vec.CHUNK", size)
        pieces = [piece for a, b in chunks(Store()) for piece in range(a, b)]  # type: ignore[arg-type]
        assert pieces == list(range(7))


def test_first_vectors_are_small_and_filled_up_with_zeros() -> None:
    inputs, outputs = first_vectors(10, 20, 1)
    assert inputs.shape == outputs.shape == (10, 32)
    assert 0 < np.abs(inputs).max() <= 0.5 / 20
    assert not inputs[:, 20:].any()
    assert not outputs.any()


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"method": "glove"}, ConfigError, "unknown method; got 'glove'"),
        ({"mode": "skip"}, ConfigError, "word2vec.mode: input should be 'skipgram' or 'cbow'"),
        ({"hidden": 3}, ConfigError, "unknown setting; got 'hidden'"),
        ({"kind": "char"}, ConfigError, "tokenizer.kind: word2vec learns vectors of words"),
        ({"last_lr": 1}, ConfigError, "word2vec.last_lr must be at most word2vec.lr=0.025; got 1"),
        ({"min_count": 1000}, DataError, "fewer than two words occur 1000 times; got '300 words"),
        ({"min_count": 1, "lr": 1e30}, TrainingError, "grown beyond all bounds"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_refused(tmp_path, settings: dict, error: type, says: str) -> None:
    path = corpus(tmp_path / "a.txt", 50)
    with pytest.raises(error, match=says):
        embed(path, out=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_labels_before_texts_are_left_out(tmp_path) -> None:
    path = tmp_path / "topics.txt"
    labels = ("SPORT", "POLITICS")
    path.write_text("".join(f"{labels[i % 2]} the game of word{i % 7}\n" for i in range(60)))
    notes: list[str] = []
    embed(path, out=tmp_path / "a", note=notes.append, min_count=1, size=8, epochs=1)
    assert "lines of `label text`, labels such as POLITICS, SPORT left out" in notes[0]
    words = vectors.load(tmp_path / "a").words
    assert "game" in words
    assert not {"SPORT", "sport", "POLITICS"} & set(words)
    embed(path, out=tmp_path / "b", format="lines", min_count=1, size=8, epochs=1)
    assert {"SPORT", "sport"} & set(vectors.load(tmp_path / "b").words)
    # Simple texts, whose first words are few, are no labels.
    path.write_text("the cat sees a dog\na dog sees the cat\n" * 30)
    embed(path, out=tmp_path / "c", note=notes.append, min_count=1, size=8, epochs=1)
    assert "left out" not in notes[-1]
    assert "a" in vectors.load(tmp_path / "c").words
