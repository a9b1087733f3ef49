"""Bad corpora, vector files and words, through the command line: one line, exit code 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

VECTORS = "3 2\ngood 1 2\nbad 3 4\nfilm 5 7\n"
SMALL = ("--set", "size=4", "--set", "epochs=1", "--set", "threads=1")


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty working folder; inputs lie beside it."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "v.txt").write_text(VECTORS)
    (tmp_path / "corpus.txt").write_text("a few words\n")
    return tmp_path


@pytest.fixture
def refused(unspool, here) -> Callable[..., None]:
    """Run a command that must fail well."""

    def call(*arguments: object, says: str) -> None:
        ended = unspool(*arguments)
        assert ended.code == 2, ended.err
        assert ended.err.splitlines()[-1].startswith("unspool: ")
        assert says in ended.err.splitlines()[-1]
        assert "Traceback" not in ended.err
        assert ended.out == ""
        assert not list((here / "here").iterdir()), "something was written"

    return call


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.txt"], "missing.txt: no such file"),
        (["../corpus.txt", "--method", "glove"], "unknown method; got 'glove'"),
        (["../corpus.txt", "--set", "sise=3"], "unknown setting; got 'sise'. Did you mean 'size'"),
        (["../corpus.txt", "--set", "size=0"], "word2vec.size: input should be greater than"),
        (["../corpus.txt"], "corpus.txt: fewer than two words occur 5 times"),
    ],
    ids=str,
)
def test_embed(refused, arguments: list[str], says: str) -> None:
    refused("embed", *arguments, says=says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["neighbours", "../v.txt", "goad"],
            "no vector for this word; got 'goad'. Did you mean 'g",
        ),
        (["neighbours", "../none.txt", "good"], "none.txt: no such file"),
        (["neighbours", "..", "good"], "the folder holds no vectors.safetensors"),
        (["analogy", "../v.txt", "good", "bad", "flim"], "Did you mean 'film'?"),
        (["analogy", "../v.txt", "good", "bad"], "Missing argument 'C'"),
        (["similarity", "../v.txt", "../corpus.txt"], "a row of a similarity list is two words"),
        (["map", "../v.txt", "--out", "map.doc"], "cannot be written in this format; got '.doc'"),
        (["map", "../v.txt", "good", "x", "--out", "map.png"], "no vector for this word; got 'x'"),
        (["convert", "../v.txt", "v.xyz"], "no format of word vectors is called so; got '.xyz'"),
        (["convert", "../v.txt", "no/v.bin"], "no: there is no such folder"),
    ],
    ids=str,
)
def test_vectors(refused, arguments: list[str], says: str) -> None:
    refused("vectors", *arguments, says=says)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "3 2\ngood 1 2\nbad 3\nfilm 5 7\n",
            "v.txt:3: has 1 numbers after the word, others have 2",
        ),
        ("good 1 2\nbad 3 nan\n", "v.txt:2: is not a finite number; got 'nan'"),
        ("good 1 2\ngood 3 4\n", "v.txt:2: the word has a vector before, in line 1"),
        ("9 2\ngood 1 2\nbad 3 4\n", "v.txt:1: the first line promises 9 vectors"),
        ("Zug 1 2\nBahn 3 4\n", "no token of the vocabulary has a vector"),
    ],
)
def test_train_from_vectors(refused, here, reviews, content: str, says: str) -> None:
    (here / "v.txt").write_text(content)
    refused("train", reviews, "--set", "embedding.from=../v.txt", says=says)


def test_train_from_vectors_of_another_size(refused, reviews) -> None:
    settings = ("--set", "embedding.from=../v.txt", "--set", "embedding=64")
    refused("train", reviews, *settings, says="the vectors have 2 elements")


def test_a_folder_of_vectors_is_no_model(unspool, refused, here, reviews) -> None:
    run = here / "vectors"
    assert unspool("embed", reviews, "--out", run, *SMALL).code == 0
    refused("predict", run, "a film", says="holds word vectors and no model")
