"""Contributions of features to the answers of linear models."""

from __future__ import annotations

import json

import numpy as np
import pytest

import unspool
from unspool import cli
from unspool.errors import UserError
from unspool.tasks.task import as_array

SMALL = {"quiet": True, "threads": 1}


@pytest.fixture(scope="module", params=["two labels", "three labels", "number", "series"])
def linear(request, tmp_path_factory):
    """A linear model, and an item."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("linear") / "run"
    if request.param == "series":
        items = [rng.normal(size=(12, 2)) + i % 2 for i in range(40)]
        rows = [f"{i},{a},{b},{'xy'[i % 2]}" for i, item in enumerate(items) for a, b in item]
        file = folder.parent / "series.csv"
        file.write_text("id,a,b,label\n" + "\n".join(rows) + "\n")
        return unspool.train(file, model="linear", out=folder, **SMALL), items[3]
    words, count = ["good", "bad", "odd"], 3 if request.param == "three labels" else 2
    texts = [f"a {words[i % count]} film about {rng.choice(['war', 'love'])}" for i in range(90)]
    labels = [i % 2 + i / 900 if request.param == "number" else words[i % count] for i in range(90)]
    task = "regress" if request.param == "number" else "classify"
    run = unspool.train(texts, labels, task=task, model="linear", out=folder, **SMALL)
    return run, "a good film about nothing"


def test_contributions_add_up_to_the_score(linear) -> None:
    run, item = linear
    scores = run.task.scores(run.model, part_of(run, item), len(run.task.outputs))[0]
    if run.task.name == "classify" and len(scores) == 2:
        scores = np.array([scores[0] - scores[1], scores[1] - scores[0]])
    elif run.task.name == "classify":
        scores = scores - scores.mean()
    outputs = run.task.outputs if run.task.name == "classify" else [None]
    for k, answer in enumerate(outputs):
        explained = run.explain(item, answer=answer)
        assert explained.score == pytest.approx(scores[k], abs=1e-9)
        assert (np.diff(np.abs(explained.values)) <= 0).all()
    best = run.explain(item)
    assert best.answer == run.task.outputs[int(scores.argmax())]
    assert best.answered == str(run.predict([item])[0])
    assert np.isfinite(as_array(run.model.b)).all()


def part_of(run, item):
    from unspool.data.part import Part

    return Part.of(run.task.fields, **{run.task.input: [item]})


def test_look_prints_the_features(linear, capsys, tmp_path) -> None:
    run, item = linear
    if run.task.reads_tokens:
        argument = item
    else:
        rows = "\n".join(f"3,{a},{b}" for a, b in item)
        (tmp_path / "one.csv").write_text(f"id,a,b\n{rows}\n")
        argument = str(tmp_path / "one.csv")
    assert cli.run(["look", str(run.path), argument]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["feature", "for", "it"]
    assert lines[-2].startswith("bias")
    assert lines[-1].startswith("sum, for ")
    assert cli.run(["look", str(run.path), argument, "--json"]) == 0
    stored = json.loads(capsys.readouterr().out)
    total = stored["bias"] + sum(stored["features"].values())
    assert total == pytest.approx(stored["score"], abs=1e-9)


def test_the_page_refuses_what_has_no_steps(linear) -> None:
    run, item = linear
    with pytest.raises(UserError, match=r"no steps to look at.*shows what each feature"):
        run.trace(item)
    if run.task.name == "classify":
        with pytest.raises(UserError, match="unknown answer"):
            run.explain(item, answer="nothing of the kind")
