"""How well spans are found: tags in, precision, recall and F1 out, of all and of each type.

A span counts as found if its first word, its last word and its type are right (exact match, as in
the CoNLL shared tasks).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unspool.data.schemes import Convention, Marks, Scheme, find_spans
from unspool.tasks.metrics import ClassScore


class SpanCounts(NamedTuple):
    """Of each of N sentences and K types (N, K): spans found rightly, given as answers, true."""

    hits: np.ndarray
    guessed: np.ndarray
    true: np.ndarray


def count_spans(
    truth: Sequence[np.ndarray],
    guess: Sequence[np.ndarray],
    marks: Marks,
    *,
    scheme: Scheme = "iobes",
    convention: Convention = "conlleval",
) -> SpanCounts:
    """Compare two lists of sentences, each an array of tags by their numbers in `marks`.

    convention   how a sequence that breaks the rules of the scheme is read: see `find_spans`
    """
    lengths = np.array([len(tags) for tags in truth])
    begins = np.cumsum(lengths) - lengths
    shape = (len(lengths), len(marks.names))
    rows = np.repeat(np.arange(len(lengths)), lengths)  # the sentence of each word
    keys, counts = [], []
    for sentences in (truth, guess):
        places = marks.at(np.concatenate([*sentences, np.empty(0, dtype=np.int64)]))
        starts, stops, types = find_spans(places, begins, scheme=scheme, convention=convention)
        # One number for first, last and type.
        keys.append((starts * (len(rows) + 1) + stops) * len(marks.names) + types)
        counts.append(_count(rows[starts], types, shape))
    hits = np.intersect1d(keys[0], keys[1], assume_unique=True)
    starts, types = hits // len(marks.names) // (len(rows) + 1), hits % len(marks.names)
    return SpanCounts(_count(rows[starts], types, shape), counts[1], counts[0])


def _count(rows: np.ndarray, types: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    return np.bincount(rows * shape[1] + types, minlength=shape[0] * shape[1]).reshape(shape)


def span_score(hits: int, guessed: int, true: int) -> ClassScore:
    """Precision, recall and F1; 0 where there is nothing to divide by."""
    return ClassScore(
        hits / guessed if guessed else 0.0,
        hits / true if true else 0.0,
        2 * hits / (guessed + true) if guessed + true else 0.0,
        true,
    )
