"""What an evaluation of tags gives: F1 of spans, or the accuracy of tags that mark none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unspool.data.schemes import Marks
from unspool.tasks.metrics import ClassScore, bootstrap_mean, class_scores, confusion_matrix
from unspool.tasks.spans import count_spans, span_score
from unspool.tasks.task import Report


class TagReport(Report):
    """The main metric with its interval over sentences, and a table of each type or tag.

    truth, guess   of each sentence, numbers of tags in `names`
    unknown        of each sentence, which words the vocabulary does not know
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
    ) -> None:
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
            "sentences": len(self.lengths),
            "words": int(self.lengths.sum()),
            **self.metrics,
            f"{self.main}_interval": list(self.interval),
            f"{self.unit}s": {name: score._asdict() for name, score in self.table.items()},
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        interval = f"   95 % interval {low:.4f} to {high:.4f} (bootstrap over sentences)"
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
            f"{len(self.lengths)} sentences, {int(self.lengths.sum())} words",
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


class SpanReport(TagReport):
    """Of tags that mark spans."""

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
        self.interval = bootstrap_mean(self.scores, self.weights)
        overall = span_score(int(hits.sum()), int(guessed.sum()), int(true.sum()))
        self.metrics = {
            "f1": overall.f1,
            "precision": overall.precision,
            "recall": overall.recall,
            **self.metrics,
        }
        sums = zip(hits.sum(0).tolist(), guessed.sum(0).tolist(), true.sum(0).tolist())
        scores = {name or "span": span_score(*own) for name, own in zip(marks.names, sums)}
        self.table = dict(sorted(scores.items()))


class PlainReport(TagReport):
    """Of tags that stand for themselves, such as parts of speech."""

    unit, main = "tag", "accuracy"

    def __init__(
        self,
        truth: Sequence[np.ndarray],
        guess: Sequence[np.ndarray],
        unknown: Sequence[np.ndarray],
        loss: float,
        names: list[str],
    ) -> None:
        super().__init__(truth, guess, unknown, loss)
        ends = np.cumsum(self.lengths)
        sums = np.concatenate([[0], np.cumsum(self.right)])
        self.weights = self.lengths
        self.scores = (sums[ends] - sums[ends - self.lengths]) / self.lengths
        self.interval = bootstrap_mean(self.scores, self.weights)
        confusion = confusion_matrix(np.concatenate(truth), np.concatenate(guess), len(names))
        self.table = dict(zip(names, class_scores(confusion)))
