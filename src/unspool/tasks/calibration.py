"""Calibration: whether labels that get probability p are right in a share p of cases, and one
temperature that brings probabilities nearer to that (Guo et al. 2017).

p = softmax(z / T), or σ(z / T) where a row may have several labels; T > 1 makes answers less sure,
T < 1 surer, and no T changes their order. z: scores (N, C); y: truth (N, C), 0 or 1.

Bins, Brier score and likelihood are those of scikit-learn, which takes 2 to 5 times as long for
them, and a second to import at each `evaluate` (bench/metrics.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

BINS = 15
COLDEST, HOTTEST = 0.01, 100.0  # bounds of T

Probabilities = Callable[[np.ndarray], np.ndarray]  # scores (N, C) -> (N, C)


def fit_temperature(z: np.ndarray, y: np.ndarray, probabilities: Probabilities) -> float:
    """The T that makes the negative log likelihood of `y` least.

    With β = 1 / T it is convex, and its slope is Σ (p - y) z of softmax and σ alike, so β is where
    that is 0. One row more, spread over all answers, keeps a small part without any error from
    making every answer certain: y becomes (N y + u) / (N + 1), u uniform (1/C; 1/2 for σ).
    """
    from scipy.optimize import brentq

    n = len(z)
    uniform = probabilities(np.zeros_like(z[:1]))
    target = (n * y + uniform) / (n + 1)

    def slope(log_beta: float) -> float:
        return float(((probabilities(np.exp(log_beta) * z) - target) * z).sum())

    low, high = -np.log(HOTTEST), -np.log(COLDEST)  # of log β
    if slope(low) >= 0:
        return HOTTEST
    return COLDEST if slope(high) <= 0 else float(np.exp(-brentq(slope, low, high)))


class Unseen(NamedTuple):
    """Scores of rows that the model was not trained on.

    scores   (N, C)
    truth    (N,) indices of labels, or (N, C) bool
    labels   C names
    """

    scores: np.ndarray
    truth: np.ndarray
    labels: list[str]


def pooled(parts: Sequence[Unseen]) -> tuple[np.ndarray, np.ndarray]:
    """Scores and truth of all rows."""
    return np.concatenate([part.scores for part in parts]), np.concatenate(
        [part.truth for part in parts]
    )


class Reliability(NamedTuple):
    """Answers in bins of equal width by their confidence; bins without answers are left out.

    confidence   (B,) mean of each bin
    accuracy     (B,) share of its answers that are right
    rows         (B,) how many answers it has
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    rows: np.ndarray

    @property
    def error(self) -> float:
        """Expected calibration error: Σ_b rows_b / N · |accuracy_b - confidence_b|"""
        gap = np.abs(self.accuracy - self.confidence)
        return float((self.rows * gap).sum() / max(1, self.rows.sum()))

    def to_json(self) -> dict[str, list[float]]:
        return {
            name: [round(x, 6) for x in value.tolist()] for name, value in self._asdict().items()
        }


def reliability(confidence: np.ndarray, right: np.ndarray, bins: int = BINS) -> Reliability:
    """(M,) and (M,) 0 or 1; bin b is (b / bins, (b + 1) / bins], and the first has 0 too."""
    inner = np.linspace(0, 1, bins + 1)[1:-1]
    at = np.searchsorted(inner, confidence)
    rows = np.bincount(at, minlength=bins)
    filled = rows > 0
    mean, share = (
        np.bincount(at, x, minlength=bins)[filled] / rows[filled]
        for x in (confidence, right.astype(float))
    )
    return Reliability(mean, share, rows[filled])


class Quality(NamedTuple):
    """Quality of probabilities: mean negative log likelihood, Brier score, reliability."""

    nll: float
    brier: float
    reliability: Reliability

    @property
    def ece(self) -> float:
        return self.reliability.error

    def to_json(self) -> dict[str, Any]:
        return {"nll": self.nll, "ece": self.ece, "brier": self.brier,
                "reliability": self.reliability.to_json()}  # fmt: skip


def quality_of_one(p: np.ndarray, truth: np.ndarray) -> Quality:
    """p (N, C), of one label truth (N,) a row. Confidence is that of the answer, max p. The Brier
    score is the mean of Σ_c (p_c - y_c)², of two labels (p - y)² of one of them."""
    rows = np.arange(len(truth))
    right = np.maximum(p[rows, truth], 1e-12)
    y = np.zeros_like(p)
    y[rows, truth] = 1
    brier = ((p - y) ** 2).sum(1).mean() / (2 if p.shape[1] == 2 else 1)
    bins = reliability(p.max(1), p.argmax(1) == truth)
    return Quality(float(-np.log(right).mean()), float(brier), bins)


def quality_of_several(p: np.ndarray, truth: np.ndarray) -> Quality:
    """p and truth (N, K): all N K answers are judged by the probability that the row has the label,
    each with the same weight."""
    nll = -np.log(np.maximum(np.where(truth, p, 1 - p), 1e-12)).mean()
    brier = ((p - truth) ** 2).mean()
    return Quality(float(nll), float(brier), reliability(p.ravel(), truth.ravel()))


class CalibrationReport(NamedTuple):
    """The quality of probabilities without and with the temperature of a run."""

    temperature: float
    before: Quality
    after: Quality

    def to_json(self) -> dict[str, Any]:
        return {
            "temperature": self.temperature,
            "before": self.before.to_json(),
            "after": self.after.to_json(),
        }

    def lines(self, width: int = 8) -> list[str]:
        """`width`: of the names of figures."""
        figures = f"{'ECE':<{width}}  {self.after.ece:.4f}   Brier score {self.after.brier:.4f}"
        if self.temperature == 1:
            return [figures]
        nll, brier, _ = self.before
        return [
            f"{figures}; temperature {self.temperature:.3f}",
            f"{'before':<{width}}  {self.before.ece:.4f}   Brier score {brier:.4f}, loss {nll:.4f}",
        ]


class FoldCalibration(NamedTuple):
    """Calibration of a model of all rows by the folds of a cross-validation."""

    report: CalibrationReport | None
    notes: list[str]
