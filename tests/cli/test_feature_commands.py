"""ngrams, embed --method elmo and vectors context, as typed."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_convolution_and_its_ngrams(unspool, reviews, here) -> None:
    small = ["filters=8", "embedding=12", "epochs=6", "batch=16", "lr=0.01", "threads=1"]
    words = [word for setting in small for word in ("--set", setting)]
    trained = unspool("train", reviews, "--model", "cnn", *words, "--out", "run")
    assert trained.code == 0, trained.err
    table = unspool("ngrams", "run", reviews, "--filters", 1, "--top", 2)
    assert table.code == 0, table.err
    assert "for neg: " in table.out
    assert "for pos: " in table.out
    found = json.loads(unspool("ngrams", "run", reviews, "--json").out)["filters"]
    assert len(found) == 24
    drawn = unspool("ngrams", "run", reviews, "--filters", 2, "--picture", "filters.svg")
    assert "saved: filters.svg" in drawn.err
    picture = (here / "filters.svg").read_text()
    assert "for neg: filter" in picture
    assert "for pos: filter" in picture
    # What speaks most for a label holds a word that only stands in texts of that label.
    best = {label: next(f for f in found if f["label"] == label) for label in ("pos", "neg")}
    telling = {"pos": {"good", "great", "fine", "lovely"}, "neg": {"bad", "poor", "dull", "awful"}}
    for label, feature in best.items():
        assert set(feature["ngrams"][0]["text"].split()) & telling[label]


def test_words_in_their_context(unspool, book, reviews, here) -> None:
    small = ["hidden=16", "projection=8", "filters=4", "epochs=1", "threads=1", "batch=16"]
    words = [word for setting in small for word in ("--set", setting)]
    made = unspool("embed", book, "--method", "elmo", *words, "--out", "elmo", "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["task"] == "elmo"
    assert "next: unspool train DATA --from elmo" in made.err
    assert unspool("evaluate", "elmo", book).out.count("perplexity") == 1
    asked = ["the film was good", "--word", "film", "--corpus", book, "--top", 2, "--json"]
    (near,) = json.loads(unspool("vectors", "context", "elmo", *asked).out)
    assert near["word"] == "film"
    assert len(near["neighbours"]) == 2
    words = ["--set", "hidden=8", "--set", "epochs=1", "--set", "threads=1", "--out", "run"]
    trained = unspool("train", reviews, "--from", "elmo", *words)
    assert trained.code == 0, trained.err
    assert "weights for contextual vectors, which are frozen" in trained.err
    assert "mix: " in trained.err
    shown = unspool("predict", "run", "a lovely film")
    assert shown.out.startswith(("pos\t", "neg\t"))
    again = unspool("train", "--resume", "--out", "run")
    assert again.code == 0, again.err
