"""Models that start from word vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import unspool
from unspool import vectors
from unspool.data.fields.tokens import Tokens
from unspool.data.store.ragged import Ragged
from unspool.errors import ConfigError
from unspool.tasks.embedding import occurrences, token_embedding
from unspool.vectors import WordVectors

WORDS = ["the", "film", "plot", "good", "bad", "was", "great"]
QUICK = {"threads": 1, "epochs": 1, "max_steps": 2}


@pytest.fixture
def file(tmp_path) -> Path:
    matrix = np.random.default_rng(1).normal(size=(len(WORDS), 12)).astype(np.float32)
    path = tmp_path / "v.txt"
    vectors.save(WordVectors(WORDS, matrix), path)
    return path


def train(data: Path, file: Path, **settings: object) -> unspool.Run:
    out = file.with_name("run")
    small = {} if settings.get("model") == "cnn" else {"hidden": 8}
    settings = {**QUICK, **small, "embedding.from": str(file), **settings}
    return unspool.train(data, out=out, **settings)


def weights_of(run: unspool.Run, word: str) -> np.ndarray:
    embedding = token_embedding(run.model)
    row = run.task.tokenizer.vocab.id(word)
    return (embedding.weight[row] * embedding.scale).detach().numpy()


@pytest.mark.parametrize(
    ("task", "model", "more"),
    [
        ("classify", "bilstm", {}),
        ("classify", "cnn", {}),
        ("classify", "transformer", {"hidden": 12, "heads": 2}),
        ("generate", "lstm", {}),
        ("generate", "transformer", {"hidden": 12, "heads": 2}),
        ("pretrain", "transformer", {"hidden": 12, "heads": 2}),
    ],
)
def test_a_model_starts_from_vectors_and_keeps_them(
    file, reviews, book, task: str, model: str, more: dict
) -> None:
    data = book if task == "generate" else reviews
    notes: list[str] = []
    settings = {
        "embedding.frozen": True,
        "task": task,
        "model": model,
        "note": notes.append,
        **more,
    }
    run = train(data, file, **settings)
    own = vectors.load(file)
    for word in WORDS:
        np.testing.assert_allclose(weights_of(run, word), own[word], rtol=1e-5)
    assert run.task.tokenizer.kind == "word"
    (line,) = [line for line in notes if line.startswith("vectors of")]
    assert f"vectors of {file}, 12 elements: 7 of " in line
    assert "(0 in lower case)" in line


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("model", ["luong", "transformer"])
def test_translate_reads_with_vectors(file, tmp_path, model: str, tied: bool) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the film was good\tle film\nthe plot was bad\tla fin\n" * 20)
    more = {"hidden": 12, "joint": True, "tied": tied, "embedding.frozen": True}
    if model == "transformer":
        more["heads"] = 2
    run = train(pairs, file, task="translate", model=model, **more)
    np.testing.assert_allclose(weights_of(run, "film"), vectors.load(file)["film"], rtol=1e-5)


def test_a_tagger_reads_with_vectors(file, tmp_path) -> None:
    data = tmp_path / "a.conll"
    data.write_text("the O\nfilm B-X\nwas O\ngood O\n\nthe O\nplot B-X\n\n" * 20)
    run = train(data, file, task="tag", **{"embedding.frozen": True})
    np.testing.assert_allclose(weights_of(run, "film"), vectors.load(file)["film"], rtol=1e-5)


def test_vectors_learn_unless_frozen(file, reviews) -> None:
    run = train(reviews, file)
    change = np.abs(weights_of(run, "film") - vectors.load(file)["film"]).max()
    assert 0 < change < 0.1
    assert run.config.model.embedding == 12


def test_the_run_does_not_need_the_file(file, reviews) -> None:
    sha = vectors.files.hash_of(file)
    run = train(reviews, file, max_steps=4, checkpoint_seconds=0.0)
    file.unlink()
    again = unspool.load(run.path)
    assert torch.equal(token_embedding(again.model).weight, token_embedding(run.model).weight)
    assert again.predict("a good film")
    record = json.loads((run.path / "config.json").read_text())
    assert record["vectors"] == {"path": str(file), "sha256": sha}
    assert record["config"]["embedding"]["from"] == str(file)
    assert sha in (run.path / "README.md").read_text()
    unspool.train(out=run.path, resume=True)


def test_case_is_folded_where_the_word_itself_has_no_vector(file, tmp_path) -> None:
    data = tmp_path / "a.csv"
    data.write_text("text,label\n" + "The film,x\nFILM was bad,y\n" * 10)
    notes: list[str] = []
    run = train(data, file, note=notes.append, **{"embedding.frozen": True})
    own = vectors.load(file)
    np.testing.assert_allclose(weights_of(run, "FILM"), own["film"], rtol=1e-5)
    line = next(line for line in notes if line.startswith("vectors of"))
    assert "5 of 7 tokens in the vocabulary (2 in lower case), 100.0 % of the training text" in line


def test_words_without_a_vector_have_the_spread_of_the_others(file, reviews) -> None:
    run = train(reviews, file, **{"embedding.frozen": True})
    unknown = weights_of(run, "seemed")
    assert 0.3 < unknown.std() < 2  # it would be 0.1


def test_words_of_the_vectors_can_extend_the_vocabulary(file, tmp_path) -> None:
    data = tmp_path / "a.csv"
    data.write_text("text,label\n" + "the film was great,x\nbad,y\n" * 10)
    run = train(data, file, max_steps=4, checkpoint_seconds=0.0, **{"embedding.extend": True})
    assert [w for w in WORDS if w in run.task.tokenizer.vocab] == WORDS
    change = np.abs(weights_of(run, "plot") - vectors.load(file)["plot"]).max()
    assert change < 1e-3  # it occurs nowhere, so it only decays
    file.unlink()
    again = unspool.train(out=run.path, resume=True)
    assert len(again.task.tokenizer) == len(run.task.tokenizer)
    assert "Then words of the vectors" in (run.path / "README.md").read_text()


def test_the_vocabulary_is_extended_up_to_its_limit(file, tmp_path) -> None:
    data = tmp_path / "a.csv"
    data.write_text("text,label\n" + "the film was great,x\nbad,y\n" * 10)
    run = train(data, file, vocab=8, **{"embedding.extend": True})
    assert run.task.tokenizer.vocab.tokens[-1] == "plot"
    assert len(run.task.tokenizer) == 8


def test_occurrences_are_counted_in_stretches(monkeypatch) -> None:
    monkeypatch.setattr("unspool.tasks.embedding.STRETCH", 3)
    ids = np.array([1, 2, 2, 3, 1], np.uint8)
    raw = Ragged(ids, np.array([1]), np.array([4]))
    tokens = Tokens(raw, remap=np.array([0, 5, 6, 7]))
    assert occurrences(tokens, 8).tolist() == [
        0,
        0,
        0,
        0,
        0,
        1,
        2,
        1,
    ]


def test_what_does_not_go_together(file, reviews, classifier, tmp_path) -> None:
    for settings, says in [
        ({"embedding": 64}, "the vectors have 12 elements; got 'model.embedding=64'"),
        ({"kind": "char"}, "no token of the vocabulary has a vector"),
        ({"start": classifier}, "the model to start from has vectors of its own"),
        ({"model": "transformer"}, "the vectors have 12 elements; got 'model.hidden=8'"),
        ({"embedding.from": "none", "embedding": 0, "embedding.frozen": True}, "one-hot vectors"),
        ({"embedding.from": "none", "embedding.extend": True}, "needs the vectors of a file"),
        ({"kind": "char", "embedding.extend": True}, "its tokens are no words"),
        ({"joint": True, "embedding.extend": True}, "both sides share one vocabulary"),
    ]:
        with pytest.raises(ConfigError, match=says):
            train(reviews, file, **settings)
    with pytest.raises(ConfigError, match=r"train.freeze decides when"):
        unspool.train(
            reviews,
            out=tmp_path / "other",
            start=classifier,
            freeze="gradual",
            **{"embedding.frozen": True},
        )
    assert not (tmp_path / "run").exists()
