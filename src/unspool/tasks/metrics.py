"""Figures of merit from plain arrays: accuracy, F1, confusion, perplexity, correlations, bootstrap
intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

NATS_PER_BIT = math.log(2.0)
SAMPLED = 1 << 23  # numbers that a bootstrap samples at once


class ClassScore(NamedTuple):
    """How well one class is found: precision, recall, their harmonic mean, and its true count."""

    precision: float
    recall: float
    f1: float
    support: int


def confusion_matrix(truth: np.ndarray, guess: np.ndarray, classes: int) -> np.ndarray:
    """(C, C) counts; row = true class, column = predicted class."""
    return np.bincount(truth * classes + guess, minlength=classes * classes).reshape(
        classes, classes
    )


def class_scores(confusion: np.ndarray) -> list[ClassScore]:
    """Precision, recall and F1 for each class; 0 where a class is never predicted or never true."""
    hits = np.diag(confusion).astype(float)
    predicted, true = confusion.sum(0), confusion.sum(1)
    precision = np.divide(hits, predicted, out=np.zeros_like(hits), where=predicted > 0)
    recall = np.divide(hits, true, out=np.zeros_like(hits), where=true > 0)
    total = precision + recall
    f1 = np.divide(2 * precision * recall, total, out=np.zeros_like(hits), where=total > 0)
    return [
        ClassScore(float(p), float(r), float(f), int(n))
        for p, r, f, n in zip(precision, recall, f1, true)
    ]


def macro_f1(confusion: np.ndarray) -> float:
    """The plain mean of F1 over the classes that occur, in truth or in prediction."""
    present = (confusion.sum(0) + confusion.sum(1)) > 0
    return float(np.mean([s.f1 for s, there in zip(class_scores(confusion), present) if there]))


def bootstrap_mean(
    values: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of the (weighted) mean of `values`, examples resampled."""
    weights = np.ones(len(values)) if weights is None else weights.astype(float)
    return bootstrap_ratio(
        values[:, None] * weights[:, None],
        weights[:, None],
        resamples=resamples,
        level=level,
        seed=seed,
    )


def bootstrap_ratio(
    numerators: np.ndarray,
    denominators: np.ndarray,
    *,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean over K of Σ numerators / Σ denominators, (N, K)
    both, with N examples resampled. F1 is such a ratio: 2 hits / (guessed + true)."""
    k = numerators.shape[1]
    sums = resampled_sums(np.concatenate([numerators, denominators], 1), resamples, seed)
    means = (sums[:, :k] / np.maximum(sums[:, k:], 1e-12)).mean(1)
    return percentile_interval(means, level)


def resampled_sums(values: np.ndarray, resamples: int = 2000, seed: int = 0) -> np.ndarray:
    """Sums over N examples that are drawn with replacement: (N, K) -> (resamples, K)

    Examples with the same numbers are interchangeable, so counts are sampled once for each distinct
    row: a million right-or-wrong answers cost no more than two.
    """
    rows, counts = np.unique(values.astype(float), axis=0, return_counts=True)
    rng, chances = np.random.default_rng(seed), counts / len(values)
    size = max(1, SAMPLED // len(rows))  # resamples at once, so that memory stays bounded
    return np.concatenate(
        [
            # (R, P) (P, K)
            rng.multinomial(len(values), chances, size=min(size, resamples - start)) @ rows
            for start in range(0, resamples, size)
        ]
    )


def percentile_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Between which the middle share `level` of resampled figures lies."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def ranks(values: np.ndarray) -> np.ndarray:
    """(N,) from 1; equal values share the mean of their ranks."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[group]


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's r; 0 where one of the two does not vary."""
    a, b = a - a.mean(), b - b.mean()
    norm = math.sqrt(float((a * a).sum()) * float((b * b).sum()))
    return float((a * b).sum()) / norm if norm else 0.0


def spearman(truth: np.ndarray, guess: np.ndarray) -> float:
    """Spearman's ρ: the correlation of the ranks."""
    return correlation(ranks(truth), ranks(guess))


def spearman_interval(rho: float, n: int) -> tuple[float, float]:
    """95 % interval of Spearman's ρ by Fisher's z with the variance of Bonett & Wright (2000)."""
    if n < 4 or abs(rho) >= 1:
        return (-1.0, 1.0) if n < 4 else (rho, rho)
    half = 1.959964 * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half)


def perplexity(nats: float) -> float:
    """exp of the mean negative log likelihood a token; infinite rather than an overflow."""
    return math.exp(nats) if nats < 700 else math.inf


def bits_per_character(total_nats: float, characters: int) -> float:
    """Total negative log likelihood of a text, in bits, over its length in characters."""
    return total_nats / NATS_PER_BIT / max(characters, 1)
