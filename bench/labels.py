"""Several labels a text: which kinds of entities a sentence names (CoNLL-2003: PER, LOC, ORG,
MISC), by a convolution and by one logistic regression a label on TF-IDF.

    python bench/labels.py
    python bench/labels.py --only logistic

Both learn from nine tenths of eng.train, choose their thresholds (and the network its epoch and
temperature) on the rest, and are tested on eng.testa. Without ../shared/data (or $UNSPOOL_DATA) it
says so and ends.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from rows import DATA, size

FOLDER = DATA / "ner/conll2003"
NETWORK: dict[str, Any] = {"model": "cnn", "filters": 64, "embedding": 100, "epochs": 6}


def sentences(path: Path) -> list[tuple[str, list[str]]]:
    """Each sentence, and the kinds of its entities."""
    found = []
    for block in path.read_text(encoding="latin-1").split("\n\n"):
        rows = [line.split() for line in block.splitlines() if line.strip()]
        if rows and rows[0][0] != "-DOCSTART-":
            kinds = {row[-1][2:] for row in rows if row[-1] != "O"}
            found.append((" ".join(row[0] for row in rows), sorted(kinds)))
    return found


def write(rows: list[tuple[str, list[str]]], path: Path) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "labels"])
        table.writerows((text, "|".join(kinds)) for text, kinds in rows)
    return path


def network(train: list[tuple[str, list[str]]], test: list[tuple[str, list[str]]]) -> list[str]:
    import unspool

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run = unspool.train(
            write(train, folder / "train.csv"),
            test=write(test, folder / "test.csv"),
            out=folder / "run",
            note=lambda line: print(line, file=sys.stderr),
            label_separator="|",
            **NETWORK,
        )
        assert run.report is not None
        return [f"{size(run):,} parameters", *run.report.lines()]


def logistic(train: list[tuple[str, list[str]]], test: list[tuple[str, list[str]]]) -> list[str]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer

    from unspool.config import TrainConfig
    from unspool.data.fields.labels import LabelsField
    from unspool.tasks.multilabel import SeveralLabels

    held = np.random.default_rng(1).permutation(len(train)) < len(train) // 10
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
    return [f"{x.shape[1]:,} features", *decision.report(*judged(test)).lines()]


SIDES = {"cnn": network, "logistic": logistic}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=SIDES, help="one of the two")
    given = parser.parse_args()
    if not FOLDER.exists():
        sys.exit(f"there is no {FOLDER}: set $UNSPOOL_DATA")
    train, test = (sentences(FOLDER / name) for name in ("eng.train", "eng.testa"))
    print(f"{len(train):,} sentences to learn from, {len(test):,} to test")
    for name in [given.only] if given.only else SIDES:
        started = time.perf_counter()
        lines = SIDES[name](train, test)
        print(f"\n{name}, {(time.perf_counter() - started) / 60:.1f} minutes", *lines, sep="\n")


if __name__ == "__main__":
    main()
