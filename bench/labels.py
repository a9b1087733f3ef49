"""Several labels a text: which kinds of entities a sentence names (CoNLL-2003: PER, LOC, ORG,
MISC), by a convolution and by one logistic regression a label on TF-IDF.

    python bench/labels.py                   list the two sides
    python bench/labels.py cnn --seeds 5     measure one with seeds 1 to 5
    python bench/labels.py --table           print the stored figures

Both learn from nine tenths of eng.train, choose their thresholds (and the network its epoch and
temperature) on the rest, and are tested on eng.testa. Without ../shared/data (or $UNSPOOL_DATA) it
says so and ends.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from rows import DATA, SEED, Row, calibrated, main, measured, size, train

FOLDER = DATA / "ner/conll2003"
NETWORK: dict[str, Any] = {
    "model": "cnn", "filters": 64, "embedding": 100, "epochs": 6, "precision": "auto",
}  # fmt: skip


def sentences(path: Path) -> list[tuple[str, list[str]]]:
    """Each sentence, and the kinds of its entities."""
    found = []
    for block in path.read_text(encoding="latin-1").split("\n\n"):
        rows = [line.split() for line in block.splitlines() if line.strip()]
        if rows and rows[0][0] != "-DOCSTART-":
            kinds = {row[-1][2:] for row in rows if row[-1] != "O"}
            found.append((" ".join(row[0] for row in rows), sorted(kinds)))
    return found


def parts() -> list[list[tuple[str, list[str]]]]:
    """What is learnt from, and the test."""
    return [sentences(FOLDER / name) for name in ("eng.train", "eng.testa")]


def write(rows: list[tuple[str, list[str]]], path: Path) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "labels"])
        table.writerows((text, "|".join(kinds)) for text, kinds in rows)
    return path


def network() -> dict[str, Any]:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        data, test = (write(rows, Path(scratch) / f"{i}.csv") for i, rows in enumerate(parts()))
        run = train(data, scratch, "run", test=test, label_separator="|", **NETWORK)
        return measured("cnn", figures(run.report), size(run), started)


def logistic() -> dict[str, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer

    from unspool.config import TrainConfig
    from unspool.data.fields.labels import LabelsField
    from unspool.tasks.multilabel import SeveralLabels

    started = time.perf_counter()
    train, test = parts()
    held = np.random.default_rng(int(os.environ.get(SEED, "1"))).permutation(len(train))
    held = held < len(train) // 10
    words = TfidfVectorizer(lowercase=False, ngram_range=(1, 2), token_pattern=r"\S+")
    names = MultiLabelBinarizer()
    x = words.fit_transform([text for (text, _), out in zip(train, held) if not out])
    y = names.fit_transform([kinds for (_, kinds), out in zip(train, held) if not out])
    model = OneVsRestClassifier(LogisticRegression(C=10, max_iter=300)).fit(x, y)
    field = LabelsField("labels")
    field.names = list(names.classes_)
    decision = SeveralLabels(field, TrainConfig())

    def judged(rows: list[tuple[str, list[str]]]) -> tuple[np.ndarray, np.ndarray]:
        scores = model.decision_function(words.transform([text for text, _ in rows]))
        return scores, names.transform([kinds for _, kinds in rows]).astype(bool)

    decision.fit(*judged([row for row, out in zip(train, held) if out]))
    return measured("logistic", figures(decision.report(*judged(test))), x.shape[1], started)


def figures(report: Any) -> dict[str, float]:
    names = ("micro_f1", "macro_f1", "subset_accuracy", "macro_average_precision")
    return {name: report.metrics[name] for name in names} | calibrated(report)


ROWS = {
    "cnn": Row("a convolution over words", network),
    "logistic": Row("a logistic regression a label; parameters: features", logistic),
}


if __name__ == "__main__":
    sys.exit(main(ROWS, "labels.py", __doc__, prefix="labels-"))
