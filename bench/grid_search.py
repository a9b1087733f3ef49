"""A grid search of scikit-learn over two settings of a network, on sentences of MR.

    python bench/grid_search.py [--rows 2000] [--jobs 2] [--json FILE]

`GridSearchCV` fits 2 x 2 settings in two folds, in `--jobs` processes; each holds out a tenth of
its rows for validation. Printed: the accuracy of each, seconds of all, and whether the estimator of
the best settings answers the same after a pickle.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

from timing import DATA
from unspool.sklearn import SequenceClassifier

GRID = {"hidden": [16, 64], "lr": [1e-3, 4e-3]}


def sentences(rows: int) -> tuple[list[str], np.ndarray]:
    """Rows `0 text` and `1 text`, in a random order."""
    text = (DATA / "sentiment" / "sent-conv" / "rt-polarity.all").read_text(encoding="latin-1")
    pairs = [line.split(" ", 1) for line in text.split("\n") if line.strip()]
    random.Random(0).shuffle(pairs)
    return [words for _, words in pairs[:rows]], np.array([label for label, _ in pairs[:rows]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    X, y = sentences(options.rows)
    network = SequenceClassifier(
        "bigru", embedding=32, epochs=4, random_state=1, settings={"threads": 1, "baseline": False}
    )
    began = time.perf_counter()
    search = GridSearchCV(network, GRID, cv=2, n_jobs=options.jobs).fit(X, y)
    seconds = time.perf_counter() - began
    results = search.cv_results_
    print(f"{len(X):,} sentences, {len(results['params'])} settings x 2 folds, {options.jobs} jobs")
    for params, mean, deviation in zip(
        results["params"], results["mean_test_score"], results["std_test_score"]
    ):
        print(f"{json.dumps(params):<32}{mean:.4f} ± {deviation:.4f}")
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    same = np.array_equal(again.predict_proba(X[:50]), search.predict_proba(X[:50]))
    print(
        f"best {json.dumps(search.best_params_)}; {seconds:.0f} s; the same after a pickle: {same}"
    )
    if options.json:
        scores = list(map(float, results["mean_test_score"]))
        record = {"params": results["params"], "scores": scores, "seconds": seconds, "same": same}
        options.json.write_text(json.dumps(record))


if __name__ == "__main__":
    main()
