"""Agreement of predicted and true classes beyond accuracy: a confusion matrix or scores in, a
figure out. scikit-learn has the same figures; its import alone costs more than all of them."""

from __future__ import annotations

import numpy as np

from unspool.tasks.metrics import class_scores

MOST_SCORES = 1 << 24  # rows times classes, beyond which ranking them takes many seconds


def weighted_f1(confusion: np.ndarray) -> float:
    """Mean F1 of the classes, weighted by their true counts."""
    scores = class_scores(confusion)
    return float(np.average([s.f1 for s in scores], weights=[s.support for s in scores]))


def cohen_kappa(confusion: np.ndarray) -> float:
    """κ = (p_o - p_e) / (1 - p_e): agreement beyond that of independent answers (Cohen 1960).

    0 where both always give the same class, which shows nothing.
    """
    n = confusion.sum()
    observed, expected = np.trace(confusion) / n, confusion.sum(0) @ confusion.sum(1) / n**2
    return float((observed - expected) / (1 - expected)) if expected < 1 else 0.0


def matthews(confusion: np.ndarray) -> float:
    """Correlation of predicted and true classes (Matthews 1975; Gorodkin 2004 for C classes).

    0 where either is constant.
    """
    counts = confusion.astype(float)
    n, hits, predicted, true = counts.sum(), np.trace(counts), counts.sum(0), counts.sum(1)
    scale = np.sqrt((n**2 - predicted @ predicted) * (n**2 - true @ true))
    return float((n * hits - predicted @ true) / scale) if scale else 0.0


def roc_auc(p: np.ndarray, truth: np.ndarray) -> float | None:
    """Area under the ROC curve: of two classes that of the second, of more the mean of each class
    against the rest. p (N, C), truth (N,); None where all rows have one class, or N C is above
    MOST_SCORES."""
    if p.size > MOST_SCORES:
        return None
    positive = [truth == c for c in ([1] if p.shape[1] == 2 else range(p.shape[1]))]
    columns = p[:, 1:] if p.shape[1] == 2 else p
    areas = [area_under_curve(x, y) for x, y in zip(columns.T, positive) if y.any() and not y.all()]
    return float(np.mean(areas)) if areas else None


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float:
    """P(score of a positive > score of a negative), ties counted half (Mann-Whitney U)."""
    _, index, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[index]  # mean rank of ties, from 1
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))
