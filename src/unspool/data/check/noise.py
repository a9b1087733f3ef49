"""Labels that are probably wrong: features and labels in, the most doubtful rows out.

Every row is judged by a linear model that has not seen it (TF-IDF of hashed features, five folds):
the mean of a logistic regression and naive Bayes, which err in different rows. Confident learning
(Northcutt, Jiang & Chuang 2021): a row with the label i is a suspect if the model gives another
label j at least the probability t_j that it gives j on average where j is the label,

    p_j(x) >= t_j = mean of p_j over the rows with the label j,     p_j(x) > p_i(x)

and the suspects are sorted by the margin p_i(x) - p_j(x).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unspool.data.store.ragged import Ragged

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FOLDS = 5
FEWEST_ROWS = 100  # below which nothing is said
FEWEST_OF_A_CLASS = 2 * FOLDS
LEAST_GAIN = 0.35  # share of the errors of the most frequent label that the model avoids
MOST_LEARNT = 20_000  # rows that a fold learns from
MOST_FEATURES = 30_000_000  # of all rows that are judged
COLUMNS = 22  # bits: features are hashed to so many columns, of which the useful ones are kept
WEIGHTS = 21  # bits: weights of all classes at most, for memory
INVERSE_PENALTY = 3.0  # C of the logistic regression
SMALLEST = -30.0  # log-probability; also of a class that a fold has not learnt
SMOOTHING = 0.3  # of naive Bayes: so much of every feature in each class
CHUNK = 1 << 13
SEED = 20261117


class Suspects(NamedTuple):
    """S doubtful rows of N that were judged, the most doubtful first.

    accuracy   how often the model gives the label that a row has
    usual      the same of always answering the most frequent label
    """

    rows: np.ndarray  # (S,)
    predicted: np.ndarray  # (S,) the other label
    given: np.ndarray  # (S,) probability of the label that the row has
    other: np.ndarray  # (S,) probability of the other label
    judged: int
    accuracy: float
    usual: float

    @property
    def useful(self) -> bool:
        """Whether the model knows enough to doubt a label.

        It is better than `usual` beyond chance (3 σ) and avoids LEAST_GAIN of its errors: below,
        most disagreements are errors of the model.
        """
        gain = self.accuracy - self.usual
        return gain > max(1.5 / np.sqrt(max(1, self.judged)), LEAST_GAIN * (1 - self.usual))


def find_suspects(features: Callable[[np.ndarray], Ragged], labels: np.ndarray) -> Suspects:
    """labels (N,), -1 where there is none; features(sorted rows) of these rows."""
    rows = eligible(labels)
    if len(rows) < FEWEST_ROWS or len(np.unique(labels[rows])) < 2:
        nothing = np.empty(0, dtype=np.int64)
        return Suspects(nothing, nothing, np.empty(0), np.empty(0), 0, 0.0, 0.0)
    rows = rows[: room_for(features, rows)]
    rows = np.sort(rows)
    names, classes = np.unique(labels[rows], return_inverse=True)
    table = weigh(count_features(features, rows), len(names))
    p = held_out_probabilities(table, classes)  # (n, C)
    confidence = p[np.arange(len(classes)), classes]
    rivals = np.where(p >= self_confidence(p, classes), p, -1.0)
    rivals[np.arange(len(classes)), classes] = -1.0
    other, best = rivals.argmax(1), rivals.max(1)
    suspects = np.flatnonzero(best > confidence)
    suspects = suspects[np.argsort(confidence[suspects] - best[suspects], kind="stable")]
    return Suspects(
        rows[suspects],
        names[other[suspects]],
        confidence[suspects],
        best[suspects],
        len(rows),
        float((p.argmax(1) == classes).mean()),
        float(np.bincount(classes).max() / len(classes)),
    )


def eligible(labels: np.ndarray) -> np.ndarray:
    """Rows of classes that are large enough for all folds, in a random order."""
    counts = np.bincount(labels[labels >= 0], minlength=1)
    large = np.append(counts >= FEWEST_OF_A_CLASS, False)[labels]
    return np.random.default_rng(SEED).permutation(np.flatnonzero(large))


def room_for(features: Callable[[np.ndarray], Ragged], rows: np.ndarray) -> int:
    """How many of the rows have no more features than fit into memory, by a sample."""
    sample = features(np.sort(rows[:CHUNK]))
    mean_size = float(sample.lengths.mean())
    return int(min(len(rows), MOST_FEATURES / max(mean_size, 1.0)))


def count_features(features: Callable[[np.ndarray], Ragged], rows: np.ndarray) -> csr_matrix:
    from scipy.sparse import csr_matrix, vstack

    blocks = []
    for first in range(0, len(rows), CHUNK):
        hashes = features(rows[first : first + CHUNK])
        columns = (hashes.values >> np.uint64(64 - COLUMNS)).astype(np.int32)
        starts = np.append(hashes.starts, len(columns)).astype(np.int32)
        ones = np.ones(len(columns), dtype=np.float32)
        block = csr_matrix((ones, columns, starts), shape=(len(hashes), 1 << COLUMNS))
        block.sum_duplicates()
        blocks.append(block)
    return vstack(blocks, format="csr")


def weigh(counts: csr_matrix, classes: int) -> csr_matrix:
    """TF-IDF of the features that several rows have; of the most frequent of these where there are
    many classes: (1 + ln tf) (1 + ln((1 + n) / (1 + df))), rows of length 1."""
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfTransformer

    rows = np.bincount(counts.indices, minlength=counts.shape[1])
    kept = np.flatnonzero(rows > 1)
    kept = kept[np.argsort(-rows[kept], kind="stable")[: (1 << WEIGHTS) // classes]]
    number = np.full(len(rows), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept))
    columns = number[counts.indices]
    inside = columns >= 0
    starts = np.concatenate([[0], np.cumsum(inside)])[counts.indptr]
    shape = (counts.shape[0], len(kept))
    table = csr_matrix((counts.data[inside], columns[inside], starts), shape=shape)
    return TfidfTransformer(sublinear_tf=True).fit_transform(table)


def held_out_probabilities(table: csr_matrix, labels: np.ndarray) -> np.ndarray:
    """(n, C) of each row by models that were fitted to the other folds.

    Their log-probabilities, less the mean of a row, are averaged; naive Bayes, which is far too
    sure of itself, is first brought to the spread of the logistic regression.
    """
    import warnings

    from scipy.special import softmax
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(SEED)
    fold = folds(labels, rng)
    scores = np.full((2, len(labels), int(labels.max()) + 1), SMALLEST)
    for number in range(FOLDS):
        learnt = rng.permutation(np.flatnonzero(fold != number))[:MOST_LEARNT]
        model = LogisticRegression(C=INVERSE_PENALTY, max_iter=100, tol=1e-4)
        # Its vectors are too short for several threads, which would wait for each other.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", ConvergenceWarning)  # near enough to rank rows
            model.fit(table[learnt], labels[learnt])
        held = np.flatnonzero(fold == number)
        bayes = MultinomialNB(alpha=SMOOTHING).fit(table[learnt], labels[learnt])
        for score, fitted in zip(scores, (model, bayes)):
            scored = np.maximum(fitted.predict_log_proba(table[held]), SMALLEST)
            score[np.ix_(held, fitted.classes_)] = scored
    scores -= scores.mean(2, keepdims=True)
    regression, bayes = scores
    return softmax((regression + bayes * (regression.std() / bayes.std())) / 2, 1)


def folds(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n,) a fold for each row; every class is spread evenly."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % FOLDS
    return fold


def self_confidence(p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(C,) the mean probability of a class over the rows that have it."""
    confidence = p[np.arange(len(labels)), labels]
    return np.bincount(labels, weights=confidence) / np.bincount(labels)
