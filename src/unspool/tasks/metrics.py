"""Figures of merit from plain arrays: accuracy, F1, confusion, average precision, perplexity,
correlations, intervals.

Counts, F1 and average precision are those of scikit-learn, which takes 1.7 to 67 times as long for
them, and a second to import at each `evaluate`; scipy's bootstrap takes 27 times as long
(bench/metrics.py).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

NATS_PER_BIT = math.log(2.0)
THRESHOLD = 0.5  # of a probability, where none was chosen
SAMPLED = 1 << 23  # numbers that a bootstrap samples at once
Z = 1.959963984540054  # of a 95 % interval
PROPORTIONS = ("accuracy", "subset_accuracy")  # metrics that are a share of right answers
RANKED = 1 << 26  # answers that a bootstrap of rankings weighs in all
RESAMPLES = 16  # of a ranking at once


class Metric(NamedTuple):
    """The figure that a task is judged by, and what chooses between two validations.

    name              in the metrics of a report
    higher_is_better  or lower
    ranked_by         another figure that decides which weights are best; None: this one
    ties              figures that decide where that is equal; the loss comes last
    """

    name: str
    higher_is_better: bool = True
    ranked_by: str | None = None
    ties: tuple[str, ...] = ()

    def rank(self, metrics: dict[str, float]) -> tuple[float, ...]:
        """The order of validations: larger is better."""
        value = metrics[self.ranked_by or self.name]
        ties = (metrics[name] for name in self.ties)
        return value if self.higher_is_better else -value, *ties, -metrics["loss"]


class ClassScore(NamedTuple):
    """Scores of one class: precision, recall, their harmonic mean, and its true count."""

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
    return float(np.mean([s.f1 for s, occurs in zip(class_scores(confusion), present) if occurs]))


class LabelCounts(NamedTuple):
    """True positives, predicted and true labels of each row and label, (N, K)."""

    hits: np.ndarray
    guessed: np.ndarray
    true: np.ndarray

    @property
    def both(self) -> np.ndarray:
        """The denominator of F1, 2 hits / (guessed + true)."""
        return self.guessed + self.true

    @property
    def present(self) -> np.ndarray:
        """(K,) labels that occur, in truth or in answers: macro F1 is the mean over these. Where
        none does, all."""
        occurring = self.both.sum(0) > 0
        return occurring | ~occurring.any()


def label_counts(truth: np.ndarray, guess: np.ndarray) -> LabelCounts:
    """truth and guess (N, K) bool"""
    return LabelCounts(*(counted.astype(np.int64) for counted in (truth & guess, guess, truth)))


def f1_scores(counts: LabelCounts) -> dict[str, float]:
    hits, both = 2 * counts.hits.sum(0), counts.both.sum(0)
    return {
        "micro_f1": float(hits.sum() / max(1, both.sum())),
        "macro_f1": float((hits / np.maximum(both, 1))[counts.present].mean()),
        "subset_accuracy": float((2 * counts.hits == counts.both).all(1).mean()),
    }


class Ranked(NamedTuple):
    """Hits where the answers are cut after each distinct probability, the largest first.

    p        (D,) distinct probabilities
    hits     (D,) of the answers with at least that probability, how many are true
    answers  (D,) how many they are
    """

    p: np.ndarray
    hits: np.ndarray
    answers: np.ndarray


def cuts(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(M,) the order of p (M,), the largest first, and (D,) the last of each distinct p in it."""
    order = np.argsort(-p, kind="stable")
    return order, np.flatnonzero(np.append(np.diff(p[order]) < 0, True))


def ranked(p: np.ndarray, truth: np.ndarray) -> Ranked:
    """p (M,), truth (M,) bool"""
    order, last = cuts(p)
    return Ranked(p[order[last]], np.cumsum(truth[order])[last], last + 1)


def best_threshold(p: np.ndarray, truth: np.ndarray) -> float:
    """The threshold with the largest F1 of p >= threshold, for p (M,) and truth (M,) bool.

    Only the order of p counts, so the candidates lie in the middle between neighbours; of equally
    good ones the nearest to 1/2. Where nothing is true, every F1 is 0: 1/2.
    """
    if not truth.any():
        return THRESHOLD
    p, hits, answers = ranked(p, truth)
    f1 = 2 * hits / (answers + hits[-1])
    below = np.append(p[1:], 0.0)
    middle = (p + below) / 2
    best = np.where(middle > below, middle, p)[f1 >= f1.max() * (1 - 1e-12)]
    return float(best[np.argmin(np.abs(best - THRESHOLD))])


def average_precision(p: np.ndarray, truth: np.ndarray) -> float:
    """Σ_n (recall_n - recall_{n-1}) precision_n over the cuts of `ranked`; 0 where nothing is
    true."""
    if not truth.any():
        return 0.0
    _, hits, answers = ranked(p, truth)
    return float((np.diff(hits, prepend=0) * hits / answers).sum() / hits[-1])


def average_precisions(p: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(K,) of each label, of p and truth (N, K)"""
    return np.array([average_precision(x, y) for x, y in zip(p.T, truth.T)])


def mean_average_precision(precisions: np.ndarray, truth: np.ndarray) -> float:
    """The mean over the labels that some row has."""
    occurring = truth.any(0)
    return float(precisions[occurring].mean()) if occurring.any() else 0.0


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """95 % interval of a share p̂ of n independent answers (Wilson 1927): all p with

    |p̂ - p| <= z √(p (1 - p) / n)

    It lies within 0 and 1 and never shrinks to a point, as a bootstrap of 300 right out of 300
    does. (0, 1) where n is 0.
    """
    if not n:
        return 0.0, 1.0
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def wilson_f1(f1: float, both: float) -> tuple[float, float]:
    """95 % interval of F1 = 2 hits / both. The share J of hits among all that is true or guessed,
    both - hits, is a proportion, and F1 = 2 J / (1 + J) grows with it: Wilson's bounds of J."""
    n = both * (1 - f1 / 2)
    low, high = wilson_interval(f1 / (2 - f1), n)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def macro_interval(hits: np.ndarray, both: np.ndarray) -> tuple[float, float]:
    """95 % interval of macro F1, for counts (N, K) of N examples and K labels: by the bootstrap, or
    where that shrinks to a point the mean of Wilson's bounds for each label."""
    interval = bootstrap_ratio(2 * hits, both)
    if interval[0] < interval[1]:
        return interval
    sums = both.sum(0)
    f1 = 2 * hits.sum(0) / np.maximum(sums, 1)
    low, high = np.mean([wilson_f1(x, n) for x, n in zip(f1.tolist(), sums.tolist())], 0)
    return float(low), float(high)


def widest(*intervals: tuple[float, float]) -> tuple[float, float]:
    """The interval that contains all of them."""
    lows, highs = zip(*intervals)
    return min(lows), max(highs)


class PrecisionIntervals(NamedTuple):
    macro: tuple[float, float]
    micro: tuple[float, float]


def bootstrap_precision(
    p: np.ndarray, truth: np.ndarray, *, level: float = 0.95, seed: int = 0
) -> PrecisionIntervals:
    """Percentile bootstrap intervals of the mean average precision of K labels, and of that of all
    answers together, for p and truth (N, K); rows are resampled.

    A row that is sampled w times weighs w, so each ranking is sorted once. From 2,000 resamples, of
    many rows fewer, down to 200.
    """
    n, k = p.shape
    resamples = int(np.clip(RANKED // (n * k), 200, 2000))
    rng, means = np.random.default_rng(seed), []
    rankings = [Ranking.of(column, y, np.arange(n)) for column, y in zip(p.T, truth.T)]
    together = Ranking.of(p.ravel(), truth.ravel(), np.repeat(np.arange(n), k))
    for start in range(0, resamples, RESAMPLES):
        sampled = rng.integers(0, n, (min(RESAMPLES, resamples - start), n))
        w = np.stack([np.bincount(row, minlength=n) for row in sampled]).astype(np.int32)  # (R, N)
        precisions = [ranking.average_precision(w) for ranking in rankings]
        occurring = sum(precision.any for precision in precisions)
        macro = sum(precision.value for precision in precisions) / np.maximum(occurring, 1)
        means.append((macro, together.average_precision(w).value))
    return PrecisionIntervals(
        *(percentile_interval(np.concatenate(values), level) for values in zip(*means))
    )


class Weighted(NamedTuple):
    """(R,) average precision of weighted answers, and whether any that weighs is true, 1 or 0."""

    value: np.ndarray
    any: np.ndarray


class Ranking(NamedTuple):
    """Answers, the largest probability first, and after which of them recall grows: after the last
    of those that are as probable as a true one.

    rows      (M,) the row of each answer, down to the last true one
    true      (P,) the same of the true ones
    answers   (S,) how many answers there are where recall has grown
    hits      (S,) how many of them are true
    """

    rows: np.ndarray
    true: np.ndarray
    answers: np.ndarray
    hits: np.ndarray

    @classmethod
    def of(cls, p: np.ndarray, truth: np.ndarray, rows: np.ndarray) -> Ranking:
        """p, truth and rows (M,) of answers in any order."""
        order, last = cuts(p)
        rows, truth = rows[order], truth[order]
        hits = np.cumsum(truth)[last]
        grown = np.flatnonzero(np.diff(hits, prepend=0))
        answers = last[grown] + 1
        return cls(rows[: answers.max(initial=0)], rows[truth], answers, hits[grown])

    def average_precision(self, w: np.ndarray) -> Weighted:
        """Average precision of rows with weights w (R, N)."""
        if not len(self.true):
            return Weighted(np.zeros(len(w)), np.zeros(len(w)))
        hits, answers = (
            # `take` is ten times as fast as w[:, rows]
            np.take(np.cumsum(np.take(w, rows, 1), 1, dtype=np.int32), counts - 1, 1)
            for rows, counts in ((self.true, self.hits), (self.rows, self.answers))
        )  # (R, S)
        total = (np.diff(hits, axis=1, prepend=0) * (hits / np.maximum(answers, 1))).sum(1)
        return Weighted(total / np.maximum(hits[:, -1], 1), np.minimum(hits[:, -1], 1))


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


@np.errstate(invalid="ignore")  # infinite losses have sums that are no numbers
def resampled_sums(values: np.ndarray, resamples: int = 2000, seed: int = 0) -> np.ndarray:
    """Sums over N examples that are sampled with replacement: (N, K) -> (resamples, K)

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


@np.errstate(invalid="ignore")
def percentile_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Between which the middle share `level` of resampled figures lies."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def spearman(truth: np.ndarray, guess: np.ndarray) -> float:
    """Spearman's ρ: the correlation of the ranks; 0 where one of the two does not vary."""
    from scipy.stats import spearmanr

    if np.ptp(truth) == 0 or np.ptp(guess) == 0:
        return 0.0
    return float(spearmanr(truth, guess).statistic)


def spearman_interval(rho: float, n: int) -> tuple[float, float]:
    """95 % interval of Spearman's ρ by Fisher's z with the variance of Bonett & Wright (2000)."""
    if n < 4 or abs(rho) >= 1:
        return (-1.0, 1.0) if n < 4 else (rho, rho)
    half = Z * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half)


def perplexity(loss: float) -> float:
    """exp of the mean negative log likelihood a token; infinite rather than an overflow."""
    return math.exp(loss) if loss < 700 else math.inf


def bits_per_character(summed_loss: float, characters: int) -> float:
    """Total negative log likelihood of a text, in bits, over its length in characters."""
    return summed_loss / NATS_PER_BIT / max(characters, 1)
