"""Labels of test data that do not occur in the training data count as missed, unless refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import unspool
from unspool.errors import DataError

ROWS = "good film,pos\nbad film,neg\n"


@pytest.fixture
def train(tmp_path) -> Path:
    path = tmp_path / "train.csv"
    path.write_text("text,label\n" + ROWS * 20)
    return path


@pytest.fixture
def test(tmp_path) -> Path:
    path = tmp_path / "other.csv"
    path.write_text("text,label\n" + ROWS * 4 + "odd film,maybe\ngood,perhaps\n")
    return path


def test_evaluation_counts_them(train, test, tmp_path) -> None:
    run = unspool.train(train, model="linear", out=tmp_path / "run", quiet=True)
    report = run.evaluate(test)
    assert report.metrics["accuracy"] == 0.8
    assert report.count == 10
    (note,) = [note for note in report.notes if "count as missed" in note]
    assert "2 of 10 rows have labels that do not occur in the training data" in note
    assert "('maybe', 'perhaps')" in note
    assert f"{test}:10" in note
    confusion = report.to_json()["confusion"]
    assert confusion["labels"] == ["neg", "pos", "(unseen)"]
    assert sum(confusion["rows_true"][2]) == 2
    with pytest.raises(DataError, match=r"other\.csv:10: label 'maybe' .*'neg', 'pos'"):
        run.evaluate(test, unseen="error")


def test_the_test_part_counts_them(train, test, tmp_path) -> None:
    run = unspool.train(train, test=test, model="linear", out=tmp_path / "run", quiet=True)
    assert run.report is not None
    assert run.report.metrics["accuracy"] == 0.8
    assert any("count as missed" in note for note in run.report.notes)
    with pytest.raises(DataError, match="label 'maybe'"):
        unspool.train(
            train, test=test, unseen="error", model="linear", out=tmp_path / "no", quiet=True
        )


def test_validation_refuses_them(train, test, tmp_path) -> None:
    with pytest.raises(DataError, match="label 'maybe'"):
        unspool.train(train, valid=test, model="linear", out=tmp_path / "run", quiet=True)


def test_nothing_but_unseen_labels_is_refused(train, tmp_path) -> None:
    run = unspool.train(train, model="linear", out=tmp_path / "run", quiet=True)
    with pytest.raises(DataError, match="no label of these data occurs in the training data"):
        run.evaluate({"text": ["a b", "c d"], "label": ["x", "y"]})
