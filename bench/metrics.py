"""Metrics that are written here beside scikit-learn's and scipy's: the same figure, and its time.

    python bench/metrics.py [--rows 25000]

What a library computes as fast is left to it; this shows the rest, and what importing costs at each
`unspool evaluate`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from timing import take_turns

CLASSES, LABELS, FOLDS = 20, 20, 10
IMPORTS = ("scipy.stats", "sklearn.metrics")
SPENT = "import time, torch; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def pairs(rows: int) -> dict[str, Pair]:
    """By its name, a metric here and in a library; both give the same, up to rounding."""
    from scipy.stats import bootstrap
    from sklearn import metrics as sk
    from sklearn.calibration import calibration_curve
    from sklearn.model_selection import StratifiedKFold

    from unspool.data.split import stratified_folds
    from unspool.tasks import calibration, metrics
    from unspool.tasks.regress import errors

    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, rows)
    guess = np.where(rng.random(rows) < 0.8, y, rng.integers(0, CLASSES, rows))
    names = np.arange(CLASSES)
    z = rng.normal(size=(rows, CLASSES))
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    sets = rng.random((rows, LABELS)) < 0.1
    chances = 1 / (1 + np.exp(2 - 2 * sets - rng.normal(size=sets.shape)))
    found = chances > 0.4
    a = rng.normal(size=rows)
    b = a + rng.normal(size=rows)
    one = rng.random(rows)
    hit = rng.random(rows) < one
    right = (rng.random(rows) < 0.8).astype(float)

    def folds() -> np.ndarray:
        sizes = [StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y)]
        return np.array([len(test) for _, test in sizes[0]])

    def resampled() -> Any:
        made = bootstrap((right,), np.mean, n_resamples=2000, batch=100, method="percentile")
        return np.round(made.confidence_interval, 2)

    return {
        "confusion matrix": (
            lambda: metrics.confusion_matrix(y, guess, CLASSES),
            lambda: sk.confusion_matrix(y, guess, labels=names),
        ),
        "macro F1": (
            lambda: metrics.macro_f1(metrics.confusion_matrix(y, guess, CLASSES)),
            lambda: sk.f1_score(y, guess, average="macro"),
        ),
        "likelihood, Brier, bins": (
            lambda: calibration.quality_of_one(p, y).nll,
            lambda: (
                sk.brier_score_loss(y, p, labels=names),
                calibration_curve(p.argmax(1) == y, p.max(1), n_bins=15),
                sk.log_loss(y, p, labels=names),
            )[-1],
        ),
        "bins": (
            lambda: calibration.reliability(one, hit).accuracy,
            lambda: calibration_curve(hit, one, n_bins=15)[0],
        ),
        "F1 of several labels": (
            lambda: list(metrics.f1_scores(metrics.label_counts(sets, found)).values()),
            lambda: [
                sk.f1_score(sets, found, average="micro"),
                sk.f1_score(sets, found, average="macro"),
                sk.accuracy_score(sets, found),
            ],
        ),
        "average precision": (
            lambda: metrics.average_precisions(chances, sets),
            lambda: sk.average_precision_score(sets, chances, average=None),
        ),
        "MAE, RMSE, R²": (
            lambda: list(errors(a, b).values()),
            lambda: [
                sk.mean_absolute_error(a, b),
                sk.root_mean_squared_error(a, b),
                sk.r2_score(a, b),
            ],
        ),
        "stratified folds": (
            lambda: np.bincount(stratified_folds(y, FOLDS, 0, where="")),
            folds,
        ),
        "bootstrap interval": (lambda: np.round(metrics.bootstrap_mean(right), 2), resampled),
    }


def main() -> None:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    made.add_argument("--rows", type=int, default=25_000)
    options = made.parse_args()
    for name in IMPORTS:
        command = [sys.executable, "-c", SPENT.format(name)]
        spent = float(subprocess.run(command, capture_output=True, check=True).stdout)
        print(f"import of {name} after torch: {spent:.2f} s")
    print(f"{options.rows:,} rows: milliseconds here and in the library")
    for name, (ours, theirs) in pairs(options.rows).items():
        np.testing.assert_allclose(ours(), theirs(), err_msg=name)
        times = take_turns({"ours": ours, "theirs": theirs}, 3)
        here, there = (1000 * median(own) for own in times.values())
        print(f"{name:<24} {here:9.2f} {there:9.2f}   {there / here:.1f} times")


if __name__ == "__main__":
    main()
