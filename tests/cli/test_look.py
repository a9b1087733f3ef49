"""`unspool look`: what it says, and what it draws."""

from __future__ import annotations

import json

import pytest

import unspool as package


def test_why(unspool, classifier) -> None:
    ended = unspool("look", classifier, "a lovely film")
    assert ended.code == 0
    first, header, *rows = ended.out.splitlines()
    assert first.startswith("'pos', probability 0.")
    assert "without the token" in header
    assert [row.split()[0] for row in rows] == ["a", "lovely", "film", "start"]
    values = [float(row.split()[1]) for row in rows[:3]]
    assert values[1] == max(values)


def test_json(unspool, classifier) -> None:
    ended = unspool("look", classifier, "a lovely film", "--json", "--answer", "neg")
    shown = json.loads(ended.out)
    assert shown["trace"]["tokens"] == ["a", "lovely", "film"]
    assert shown["trace"]["choices"][0]["answer"] == "pos"
    assert shown["saliency"]["answer"] == "neg"


def test_pictures_of_an_input(unspool, classifier, tmp_path) -> None:
    ended = unspool("look", classifier, "a lovely film", "--pictures", tmp_path / "seen")
    assert ended.code == 0
    made = sorted(path.name for path in (tmp_path / "seen").iterdir())
    assert made == ["gates-encoder-1-backwards.png", "gates-encoder-1-forwards.png",
                    "saliency.png", "trace.json"]  # fmt: skip
    stored = json.loads((tmp_path / "seen" / "trace.json").read_text())
    assert stored == package.load(classifier).trace("a lovely film").to_json()
    assert str(tmp_path / "seen" / "trace.json") in ended.err
    again = unspool("look", tmp_path / "seen" / "trace.json", "--pictures", tmp_path / "again")
    assert again.code == 0
    assert {path.name for path in (tmp_path / "again").iterdir()} == {*made[:2]}


def test_pictures_of_a_run(unspool, classifier, tmp_path) -> None:
    where = ("--pictures", tmp_path, "--format", "svg", "--compare", classifier)
    assert unspool("look", classifier, *where).code == 0
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == ["classes.svg", "confusion.svg", "graph.svg", "learning.svg", "reliability.svg"]


def test_gradients(unspool, writer, tmp_path) -> None:
    ended = unspool("look", writer, "--gradients", "--distance", 12, "--pictures", tmp_path)
    assert ended.code == 0
    names = [line.split(",")[0] for line in ended.out.splitlines()[2:]]
    assert names == ["gru", "gru", "elman", "irnn", "lstm"]
    assert (tmp_path / "gradients.png").exists()
    shown = json.loads(unspool("look", writer, "the film", "--gradients", "--json").out)
    assert len(shown["flows"][0]["norms"]) == len("the film")


def test_figure(unspool, tmp_path) -> None:
    ended = unspool("look", "--figure", "activations", "--pictures", tmp_path, "--format", "pdf")
    assert ended.code == 0
    assert (tmp_path / "activations.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("run", "text", "step", "first"),
    [
        ("tagger", "Anna met Bert .", 1, "'S-PER' at 'Anna', probability"),
        ("translator", "red house", 1, "'rot' at 'rot', probability"),
        ("writer", "the fil", 7, " at 'l', probability"),
    ],
)
def test_other_tasks(unspool, request, run, text, step, first) -> None:
    ended = unspool("look", request.getfixturevalue(run), text, "--step", step)
    assert ended.code == 0
    assert first in ended.out.splitlines()[0]


def test_python(classifier) -> None:
    run = package.load(classifier)
    assert run.trace("a lovely film").find("forget_gate")
    assert run.explain("a lovely film").answer == "pos"
    assert run.gradients(distance=5).flows[0].norms.shape == (6,)
