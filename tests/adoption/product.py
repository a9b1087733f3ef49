"""A program as an engineer would write it around unspool; `mypy --strict` accepts it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import unspool


def train(texts: list[str], labels: list[int], out: Path) -> unspool.Run:
    return unspool.train(
        texts, labels, model="lstm", out=out, quiet=True, hidden=8, epochs=1, baseline=False
    )


def use(run: unspool.Run, texts: list[str], table: Path) -> np.ndarray:
    answers: unspool.Answers = run.predict(texts)
    answers.to_csv(table)
    report: unspool.Report | None = run.report
    assert report is None or 0 <= report.metrics["accuracy"] <= 1
    try:
        run.generate("a film")
    except unspool.UserError as error:
        print(error)
    vectors: np.ndarray = run.encode(texts)
    return vectors


def best(run: unspool.Run, texts: list[str]) -> list[object]:
    names = run.labels
    return [names[row.argmax()] for row in run.predict_proba(texts)]
