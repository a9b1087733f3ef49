"""The report of a cross-validation: the figures of each fold in, their means with intervals out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unspool.tasks import Report
from unspool.tasks.calibration import CalibrationReport
from unspool.tasks.metrics import PROPORTIONS, widest, wilson_interval

FORMULA = "mean ± t · s · √(1/K + 1/(K - 1)), t of K - 1 degrees of freedom (Nadeau & Bengio 2003)"
SHARES = "; within 0 and 1, and no narrower than Wilson's of all rows"


class Fold(NamedTuple):
    """Result of one fold.

    rows       of its test part
    epochs     after which its weights were best on its own validation part; 0: not by steps
    metrics    on the test part
    baselines  the same of simple models, by name
    """

    rows: int
    epochs: int
    metrics: dict[str, float]
    baselines: dict[str, dict[str, float]]
    parameters: int = 0
    seconds: float = 0.0
    tokens: int = 0


def corrected_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean over K folds; s is the standard deviation between them.

    The folds share most of their training rows, so their figures are not independent, and s² / K
    is too small a variance of the mean. Nadeau & Bengio (2003) add the share of test to training
    rows, 1 / (K - 1).
    """
    from scipy.stats import t

    k = len(values)
    half = float(t.ppf(0.975, k - 1)) * float(np.std(values, ddof=1))
    half *= math.sqrt(1 / k + 1 / (k - 1))
    mean = float(np.mean(values))
    return mean - half, mean + half


class FoldsReport(Report):
    """Means over the folds of all metrics, and a table of the folds.

    calibration   of the rows of all folds by a temperature that the others fitted
    """

    def __init__(self, metric: str, folds: Sequence[Fold]) -> None:
        self.metric, self.folds = metric, list(folds)
        self.calibration: CalibrationReport | None = None
        names = [n for n in folds[0].metrics if all(n in fold.metrics for fold in folds)]
        self.values = {name: [fold.metrics[name] for fold in folds] for name in names}
        self.metrics = {name: float(np.mean(values)) for name, values in self.values.items()}
        self.formula = FORMULA + (SHARES if metric in PROPORTIONS else "")
        self.scores = np.array(self.values[metric])
        self.count = sum(fold.rows for fold in folds)
        self.interval = self.interval_over([self])

    @property
    def std(self) -> float:
        return float(np.std(self.values[self.metric], ddof=1))

    def interval_over(self, reports: Sequence[Report]) -> tuple[float, float]:
        means = np.mean([report.scores for report in reports], 0)
        low, high = corrected_interval(means.tolist())
        if self.metric not in PROPORTIONS:
            return low, high
        independent = wilson_interval(float(means.mean()), self.count)
        return widest((max(0.0, low), min(1.0, high)), independent)

    def baselines(self) -> dict[str, Report]:
        """The same of simple models on the same folds."""
        names = [n for n in self.folds[0].baselines if all(n in f.baselines for f in self.folds)]
        return {
            name: FoldsReport(
                self.metric,
                [fold._replace(metrics=fold.baselines[name], baselines={}) for fold in self.folds],
            )
            for name in names
        }

    def to_json(self) -> dict[str, Any]:
        calibration = {"calibration": self.calibration.to_json()} if self.calibration else {}
        return {
            "examples": self.count,
            **self.metrics,
            **calibration,
            f"{self.metric}_interval": list(self.interval),
            f"{self.metric}_std": self.std,
            "interval_formula": self.formula,
            "folds": [fold._asdict() for fold in self.folds],
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        width = max(map(len, self.metrics))
        lines = [
            f"{len(self.folds)} folds, {self.count:,} rows, each judged by a model that has not"
            " seen it"
        ]
        for name, value in self.metrics.items():
            more = f"   95 % interval {low:.4f} to {high:.4f}, standard deviation {self.std:.4f}"
            lines.append(f"{name:<{width}}  {value:.4f}" + (more if name == self.metric else ""))
        if self.calibration is not None:
            lines += self.calibration.lines(width)
        names = list(self.metrics)
        lines += [f"interval: {self.formula}", "", "fold    rows  epochs  " + "  ".join(names)]
        for number, fold in enumerate(self.folds, 1):
            figures = "  ".join(f"{fold.metrics[name]:{len(name)}.4f}" for name in names)
            lines.append(f"{number:4d}  {fold.rows:6,}  {fold.epochs or '':>6}  {figures}")
        return lines


def fold_of(stored: Mapping[str, Any]) -> Fold:
    """From JSON; a KeyError or TypeError where that is something else."""
    return Fold(**{name: stored[name] for name in Fold._fields})
