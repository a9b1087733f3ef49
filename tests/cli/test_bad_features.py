"""Bad input for convolutions, n-grams and contextual vectors: one line, exit code 2."""

from __future__ import annotations

import pytest

import unspool as api

SMALL = {
    "hidden": 16, "projection": 8, "filters": 4, "widths": "1,2", "character_embedding": 4,
    "threads": 1, "max_steps": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-m", "cnn", "-s", "widths=0,2"], ["model.widths", "greater than or equal to 1", "'0'"]),
        (["-m", "cnn", "-s", "widths=a"], ["model.widths", "valid integer", "'a'"]),
        (["-m", "cnn", "-s", "pooling=cls"], ["only a transformer has", "another pooling"]),
        (["-m", "cnn", "-s", "cell=gru"], ["has no cell to choose", "gru"]),
        (["-m", "cnn", "-s", "model.options.a=1"], ["a cnn has no cell", "Leave it out"]),
        (["-s", "tuned=true"], ["come with a run of --task elmo", "--from"]),
        (["-t", "elmo", "-s", "kind=char"], ["elmo predicts words", "tokenizer.kind=char"]),
    ],
)
def test_settings(refused, file, words, says) -> None:
    refused("train", file(), *words, says=says)


@pytest.fixture(scope="module")
def elmo(book, tmp_path_factory):
    return api.train(book, task="elmo", out=tmp_path_factory.mktemp("elmo") / "run", **SMALL).path


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-t", "generate"], ["can be fine-tuned for classify or regress or tag", "task generate"]),
        (["-s", "freeze=encoder"], ["this start has none", "tuned=true"]),
        (["-s", "kind=char"], ["contextual vectors are those of words", "kind=char"]),
    ],
)
def test_starting_from_elmo(refused, file, elmo, words, says) -> None:
    refused("train", file(), "--from", elmo, *words, says=says, kept=elmo)


def test_looking(refused, file, classifier, elmo) -> None:
    data = file()
    says = ["filters of a convolution", "--model bilstm", "--model cnn"]
    refused("ngrams", classifier, data, says=says, kept=classifier)
    says = ["a picture cannot be written in this format", "'.gif'", "End the name in .png"]
    refused("ngrams", classifier, data, "--picture", "a.gif", says=says, kept=classifier)
    says = ["n-grams raise the score of a class", "elmo model"]
    refused("ngrams", elmo, data, says=says, kept=elmo)
    asked = ["vectors", "context", elmo, "a dull film", "--corpus", data, "--word"]
    refused(*asked, "flim", says=["no such word", "flim", "Did you mean 'film'?"], kept=elmo)
    says = ["layers from 0 to 2", "layer 9"]
    refused(*asked, "film", "--layer", "9", says=says, kept=elmo)
    asked[2] = classifier
    says = ["contextual vectors come from an elmo model", "--method elmo"]
    refused(*asked, "film", says=says, kept=classifier)
    refused(
        "predict",
        elmo,
        "a film",
        says=["gives vectors of words, and no predictions", "--from"],
        kept=elmo,
    )


def test_ngrams_need_one_layer_of_words(refused, file, elmo, tmp_path) -> None:
    data = file()
    small = {"model": "cnn", "filters": 2, "embedding": 4, "max_steps": 1, "threads": 1}
    two = api.train(data, out=tmp_path / "two", layers=2, **small).path
    refused("ngrams", two, data, says=["no n-grams but features", "model.layers=2"], kept=two)
    run = api.train(data, out=tmp_path / "context", start=elmo, **small).path
    refused("ngrams", run, data, says=["depends on what is around", "without --from"], kept=run)
