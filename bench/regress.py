"""The ratings of film reviews, 1 to 10, from their texts: a recurrent network beside ridge
regression on TF-IDF.

    python bench/regress.py                   25,000 IMDB reviews, of which 5,000 are the test
    python bench/regress.py --reviews 10000   train on fewer, both sides
    python bench/regress.py --only ridge      one side

The split is seeded and the test is read once. The epoch of the network is chosen on a tenth of the
training part, the alpha of the ridge by cross-validation on all of it. Without ../shared/data (or
$UNSPOOL_DATA) it says so and ends.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rows import DATA, size
from unspool.tasks.regress import number_report

REVIEWS = DATA / "sentiment/imdb/train.tsv.gz"
TEST, SEED = 5000, 1
NETWORK: dict[str, Any] = {
    "model": "bigru", "hidden": 64, "embedding": 100, "lowercase": True, "vocab": 20_000,
    "max_length": 300, "epochs": 4,
}  # fmt: skip
ALPHAS = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]


class Split:
    """Texts and ratings to learn from and to test on."""

    def __init__(self, reviews: int) -> None:
        with gzip.open(REVIEWS, "rt", encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        texts, ratings = [row[3] for row in rows], np.array([float(row[1]) for row in rows])
        order = np.random.default_rng(SEED).permutation(len(rows))
        test, train = order[:TEST], order[TEST : TEST + (reviews or len(rows))]
        self.texts = {"train": [texts[i] for i in train], "test": [texts[i] for i in test]}
        self.ratings = {"train": ratings[train], "test": ratings[test]}

    def write(self, part: str, folder: Path) -> Path:
        path = folder / f"{part}.csv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["text", "rating"])
            table.writerows(zip(self.texts[part], self.ratings[part]))
        return path


def network(split: Split) -> np.ndarray:
    """What the network predicts for the test, (N,)."""
    from rich.console import Console

    import unspool
    from unspool.training.progress import Printed

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        train, watcher = split.write("train", folder), Printed(Console(stderr=True))
        run = unspool.train(train, task="regress", out=folder / "run", watcher=watcher, **NETWORK)
        print(f"{size(run):,} parameters, {run.config.train.precision}", file=sys.stderr)
        return np.array([answer.numbers["rating"] for answer in run.predict(split.texts["test"])])


def ridge(split: Split) -> np.ndarray:
    """What ridge regression on TF-IDF of words and pairs of words predicts for the test, (N,)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True)
    features = words.fit_transform(split.texts["train"])
    judged = "neg_mean_squared_error"
    search = GridSearchCV(Ridge(solver="lsqr"), {"alpha": ALPHAS}, cv=3, scoring=judged)
    search.fit(features, split.ratings["train"])
    alpha = search.best_params_["alpha"]
    print(f"{features.shape[1]:,} features, alpha {alpha}", file=sys.stderr)
    return search.predict(words.transform(split.texts["test"]))


SIDES = {"bigru": network, "ridge": ridge}


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {torch.get_num_threads()} threads"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reviews", type=int, default=0, help="to train on (0: all but the test)")
    parser.add_argument("--only", choices=SIDES, help="one of the two")
    given = parser.parse_args()
    if not REVIEWS.exists():
        sys.exit(f"there is no {REVIEWS}: set $UNSPOOL_DATA")
    split = Split(given.reviews)
    truth, known = split.ratings["test"], split.ratings["train"]
    print(f"{len(known):,} reviews to learn from, {len(truth):,} to test; {processor()}")
    for name in [given.only] if given.only else SIDES:
        started = time.perf_counter()
        guess = SIDES[name](split)
        minutes = (time.perf_counter() - started) / 60
        print(f"\n{name}, {minutes:.1f} minutes")
        report = number_report("rating", truth, guess, mean=known.mean(), median=np.median(known))
        print("\n".join(report.lines()), flush=True)


if __name__ == "__main__":
    main()
