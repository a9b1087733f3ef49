"""The ratings of film reviews, 1 to 10, from their texts: a recurrent network beside ridge
regression on TF-IDF.

    python bench/regress.py                    list the two sides
    python bench/regress.py bigru --seeds 5    measure one with seeds 1 to 5
    python bench/regress.py --table            print the stored figures

25,000 IMDB reviews, of which 5,000 are the test; the split is seeded and the test is read once a
run. The epoch of the network is chosen on a tenth of the training part, the alpha of the ridge by
cross-validation on all of it. Without ../shared/data (or $UNSPOOL_DATA) it says so and ends.
"""

from __future__ import annotations

import csv
import gzip
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from rows import DATA, Row, main, measured, size, train
from unspool.tasks.regress import number_report

REVIEWS = DATA / "sentiment/imdb/train.tsv.gz"
TEST, SEED = 5000, 1
NETWORK: dict[str, Any] = {
    "model": "bigru", "hidden": 64, "embedding": 100, "lowercase": True, "vocab": 20_000,
    "max_length": 300, "epochs": 4, "precision": "auto",
}  # fmt: skip
ALPHAS = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]


class Split:
    """Texts and ratings to learn from and to test on."""

    def __init__(self) -> None:
        with gzip.open(REVIEWS, "rt", encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        texts, ratings = [row[3] for row in rows], np.array([float(row[1]) for row in rows])
        order = np.random.default_rng(SEED).permutation(len(rows))
        test, known = order[:TEST], order[TEST:]
        self.texts = {"train": [texts[i] for i in known], "test": [texts[i] for i in test]}
        self.ratings = {"train": ratings[known], "test": ratings[test]}

    def write(self, part: str, folder: Path) -> Path:
        path = folder / f"{part}.csv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["text", "rating"])
            table.writerows(zip(self.texts[part], self.ratings[part]))
        return path


def network() -> dict[str, Any]:
    started, split = time.perf_counter(), Split()
    with tempfile.TemporaryDirectory() as scratch:
        data = split.write("train", Path(scratch))
        run = train(data, scratch, "run", task="regress", **NETWORK)
        guess = [answer.numbers["rating"] for answer in run.predict(split.texts["test"])]
        return measured("bigru", figures(split, np.array(guess)), size(run), started)


def ridge() -> dict[str, Any]:
    """Ridge regression on TF-IDF of words and pairs of words; there is no chance in it."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV

    started, split = time.perf_counter(), Split()
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True)
    features = words.fit_transform(split.texts["train"])
    judged = "neg_mean_squared_error"
    search = GridSearchCV(Ridge(solver="lsqr"), {"alpha": ALPHAS}, cv=3, scoring=judged)
    search.fit(features, split.ratings["train"])
    alpha = search.best_params_["alpha"]
    print(f"{features.shape[1]:,} features, alpha {alpha}", file=sys.stderr)
    guess = search.predict(words.transform(split.texts["test"]))
    return measured("ridge", figures(split, guess), features.shape[1], started)


def figures(split: Split, guess: np.ndarray) -> dict[str, float]:
    truth, known = split.ratings["test"], split.ratings["train"]
    report = number_report("rating", truth, guess, mean=known.mean(), median=np.median(known))
    print("\n".join(report.lines()), file=sys.stderr)
    return {name: report.figures[name].value for name in ("mae", "rmse", "r2", "spearman")}


ROWS = {
    "bigru": Row("a recurrent network in both directions", network),
    "ridge": Row("ridge regression on TF-IDF; parameters: features", ridge),
}


if __name__ == "__main__":
    sys.exit(main(ROWS, "regress.py", __doc__, prefix="regress-"))
