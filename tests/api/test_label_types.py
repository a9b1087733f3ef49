"""Answers have the type of the labels that a model was trained on."""

from __future__ import annotations

import pytest

import unspool

TEXTS = [f"good film {i}" if i % 2 else f"bad film {i}" for i in range(40)]


def trained(labels: list, tmp_path) -> list[unspool.Run]:
    data = {"text": TEXTS, "stars": labels}
    out = tmp_path / "run"
    run = unspool.train(data, label="stars", model="linear", out=out, quiet=True)
    return [run, unspool.load(out)]


@pytest.mark.parametrize(
    "values", [(1, 5), (0, 1), (False, True), (0.5, 1.5), ("a", "b"), ("1", "5"), (-1, 10)]
)
def test_labels_come_back_as_they_were_given(values, tmp_path) -> None:
    labels = [values[i % 2] for i in range(40)]
    for run in trained(labels, tmp_path):
        answers = run.predict(TEXTS)
        assert [answer.label for answer in answers] == labels
        assert {type(answer.label) for answer in answers} == {type(values[0])}
        assert sorted(answers[0].probabilities) == sorted(values)
        assert answers[0].to_json()["label"] == labels[0]
        assert run.evaluate({"text": TEXTS, "stars": labels}).metrics["accuracy"] == 1.0


def test_integers_with_gaps_are_integers(tmp_path) -> None:
    labels = [float(i % 2) for i in range(40)]
    labels[3] = float("nan")
    for run in trained(labels, tmp_path):
        assert [answer.label for answer in run.predict(TEXTS[:2])] == [0, 1]
        assert type(run.predict(TEXTS[:1])[0].label) is int
        report = run.evaluate({"text": TEXTS, "stars": labels})
        assert set(report.to_json()["classes"]) == {"0", "1"}


def test_integers_with_gaps_in_a_data_frame(tmp_path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "stars": [1, 5] * 20})
    run = unspool.train(frame, label="stars", model="linear", out=tmp_path / "run", quiet=True)
    predictions = pandas.Series([answer.label for answer in run.predict(frame, text="text")])
    assert (predictions == frame.stars).all()
