"""Report on tags: F1 of spans, or the accuracy of tags that mark none.

A span counts as found if its first word, its last word and its type are right (exact match, as in
the CoNLL shared tasks).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unspool.data.schemes import Convention, Marks, Scheme, find_spans
from unspool.tasks.metrics import (
    ClassScore,
    class_scores,
    confusion_matrix,
    wilson_f1,
    wilson_interval,
)
from unspool.tasks.task import Report


class SpanCounts(NamedTuple):
    """Correct, predicted and true spans of each of N sentences and K types, (N, K) each."""

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


class TagReport(Report):
    """The main metric with its interval over sentences, and a table of each type or tag.

    truth, guess   of each sentence, numbers of tags in `names`
    unknown        of each sentence, which words the vocabulary does not know
    nouns          what sentences and words are called
    loss           nats a word
    """

    unit: str  # what a row of the table is about
    main: str  # the metric that the interval belongs to

    def __init__(
        self,
        truth: Sequence[np.ndarray],
        guess: Sequence[np.ndarray],
        unknown: Sequence[np.ndarray],
        loss: float,
        nouns: tuple[str, str] = ("sentences", "words"),
    ) -> None:
        self.nouns = nouns
        self.lengths = np.array([len(tags) for tags in truth])
        right = np.concatenate(truth) == np.concatenate(guess)
        fresh = np.concatenate(unknown)
        self.right = right
        self.metrics = {"accuracy": float(right.mean()), "loss": loss}
        if fresh.any():
            self.metrics["accuracy_unknown"] = float(right[fresh].mean())
        self.table: dict[str, ClassScore] = {}

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "tag",
            self.nouns[0]: len(self.lengths),
            self.nouns[1]: int(self.lengths.sum()),
            **self.metrics,
            f"{self.main}_interval": list(self.interval),
            f"{self.unit}s": {name: score._asdict() for name, score in self.table.items()},
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        interval = f"   95 % interval {low:.4f} to {high:.4f} (bootstrap over {self.nouns[0]})"
        shown = {
            "f1": "F1",
            "precision": "precision",
            "recall": "recall",
            "accuracy": "accuracy",
            "accuracy_unknown": "of unknown words",
            "loss": "loss",
        }
        width = max(len(self.unit), *(len(name) for name in self.table), 1)
        return [
            f"{len(self.lengths)} {self.nouns[0]}, {int(self.lengths.sum())} {self.nouns[1]}",
            *(
                f"{name:<17}{figures[key]:.4f}{interval if key == self.main else ''}"
                for key, name in shown.items()
                if key in figures
            ),
            "",
            f"{self.unit:<{width}}  precision  recall      F1   count",
            *(
                f"{name:<{width}}  {score.precision:9.4f}  {score.recall:6.4f}  {score.f1:6.4f}"
                f"  {score.support:6d}"
                for name, score in self.table.items()
            ),
        ]


class TaggedSpanReport(TagReport):
    """The report on tags that mark spans."""

    unit, main = "type", "f1"

    def __init__(
        self,
        truth: Sequence[np.ndarray],
        guess: Sequence[np.ndarray],
        unknown: Sequence[np.ndarray],
        loss: float,
        marks: Marks,
    ) -> None:
        super().__init__(truth, guess, unknown, loss)
        hits, guessed, true = count_spans(truth, guess, marks)
        # F1 is the mean of 2 hits / (guessed + true), weighted by what is below the line.
        self.weights = (guessed + true).sum(1)
        self.scores = 2 * hits.sum(1) / np.maximum(self.weights, 1)
        self.interval = self.interval_over([self])
        overall = span_score(int(hits.sum()), int(guessed.sum()), int(true.sum()))
        self.metrics = {
            "f1": overall.f1,
            "precision": overall.precision,
            "recall": overall.recall,
            **self.metrics,
        }
        sums = zip(hits.sum(0).tolist(), guessed.sum(0).tolist(), true.sum(0).tolist())
        scores = {name or "span": span_score(*counts) for name, counts in zip(marks.names, sums)}
        self.table = dict(sorted(scores.items()))

    def independent_interval(self, mean: float, weight: float) -> tuple[float, float]:
        return wilson_f1(mean, weight)


class PlainReport(TagReport):
    """The report on tags that stand for themselves, such as parts of speech."""

    unit, main = "tag", "accuracy"

    def __init__(
        self,
        truth: Sequence[np.ndarray],
        guess: Sequence[np.ndarray],
        unknown: Sequence[np.ndarray],
        loss: float,
        names: list[str],
        nouns: tuple[str, str] = ("sentences", "words"),
    ) -> None:
        super().__init__(truth, guess, unknown, loss, nouns)
        ends = np.cumsum(self.lengths)
        sums = np.concatenate([[0], np.cumsum(self.right)])
        self.weights = self.lengths
        self.scores = (sums[ends] - sums[ends - self.lengths]) / self.lengths
        self.interval = self.interval_over([self])
        confusion = confusion_matrix(np.concatenate(truth), np.concatenate(guess), len(names))
        self.table = dict(zip(names, class_scores(confusion)))

    def independent_interval(self, mean: float, weight: float) -> tuple[float, float]:
        return wilson_interval(mean, weight)
