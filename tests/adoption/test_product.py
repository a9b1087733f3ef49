"""What people call first: labels, probabilities, vectors, tables; and types that hold."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import product
import pytest

import unspool
from reviews import review


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[int]]:
    rng = random.Random(1)
    labels = [i % 2 for i in range(80)]
    return [review(rng, ("neg", "pos")[label]) for label in labels], labels


@pytest.fixture(scope="module")
def run(texts, tmp_path_factory) -> unspool.Run:
    return product.train(*texts, tmp_path_factory.mktemp("adoption") / "run")


def test_labels_and_probabilities(run, texts) -> None:
    p = run.predict_proba(texts[0])
    assert p.shape == (80, 2)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-6)
    answers = run.predict(texts[0])
    assert [str(a.label) for a in answers] == [str(name) for name in product.best(run, texts[0])]
    assert {str(name) for name in run.labels} == {"0", "1"}


def test_vectors_do_not_depend_on_the_batch(run, texts) -> None:
    together = product.use(run, texts[0][:9], run.path.with_name("answers.csv"))
    assert together.shape == (9, 16) or together.shape == (9, 8)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(run.encode(texts[0][4]), together[4:5], atol=1e-5)


def test_answers_as_tables(run, texts, tmp_path) -> None:
    pandas = pytest.importorskip("pandas")
    answers = run.predict(texts[0][:5])
    frame = answers.to_frame()
    answers.to_csv(tmp_path / "answers.csv")
    with (tmp_path / "answers.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == list(frame.columns) == answers[0].header()
    assert [row[-1] for row in rows[1:]] == list(frame["text"]) == texts[0][:5]
    assert isinstance(frame, pandas.DataFrame)


def test_what_has_no_probabilities_says_so(tmp_path) -> None:
    (tmp_path / "book.txt").write_text("a film. " * 100)
    run = unspool.train(tmp_path / "book.txt", model="lstm", out=tmp_path / "run", quiet=True,
                        hidden=4, max_steps=1)  # fmt: skip
    with pytest.raises(unspool.ConfigError, match="gives no probabilities of labels"):
        run.predict_proba(["a film"])


def test_the_types_hold() -> None:
    """As of an installed package: `py.typed` is there, and every public name has a type."""
    package = Path(unspool.__file__).parent
    assert (package / "py.typed").exists()
    program = str(Path(__file__).with_name("product.py"))
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", program]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=package.parents[1], timeout=300
    )
    assert done.returncode == 0, done.stdout
