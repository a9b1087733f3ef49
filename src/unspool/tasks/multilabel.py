"""Any number of labels a document, out of K: a sigmoid each, binary cross-entropy, F1, average
precision.

A document has the labels whose probability reaches their threshold. Thresholds make F1 on the
validation part largest: one for each label, or one for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from unspool.config import TrainConfig
from unspool.data.fields.labels import LabelSets, LabelsField
from unspool.tasks.answer import Answer, empty, one_line
from unspool.tasks.calibration import CalibrationReport, Quality, quality_of_several
from unspool.tasks.decision import Decision, as_weights, balanced
from unspool.tasks.metrics import (
    PROPORTIONS,
    THRESHOLD,
    Metric,
    average_precision,
    average_precisions,
    best_threshold,
    bootstrap_precision,
    f1_scores,
    label_counts,
    macro_interval,
    mean_average_precision,
    wilson_f1,
    wilson_interval,
)
from unspool.tasks.reading_answers import LabelsView
from unspool.tasks.task import Report

SEPARATORS = (",", ";", "|")
TITLES = {
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "subset_accuracy": "subset accuracy",
    "macro_average_precision": "macro AP",
    "micro_average_precision": "micro AP",
    "loss": "loss",
}
WIDTH = max(map(len, TITLES.values()))


@dataclass(frozen=True)
class LabelsPrediction(Answer):
    """The labels of one document, the most probable first, and the probability of every label."""

    text: str
    labels: list[str]
    probabilities: dict[str, float]
    separator: str = ","

    def __str__(self) -> str:
        figures = ",".join(f"{self.probabilities[name]:.4f}" for name in self.labels)
        return f"{self.separator.join(self.labels) or '(none)'}\t{figures}\t{one_line(self.text)}"

    def header(self) -> list[str]:
        return ["labels", *(f"p({name})" for name in self.probabilities), "text"]

    def rows(self, number: int) -> list[list[Any]]:
        figures = [f"{p:.6f}" for p in self.probabilities.values()]
        return [[self.separator.join(self.labels), *figures, self.text]]

    @property
    def warning(self) -> str | None:
        return empty(self.text)

    def to_json(self) -> dict[str, Any]:
        return {"labels": self.labels, "probabilities": self.probabilities, "text": self.text}


class LabelScore(NamedTuple):
    """Scores of one label; `average_precision` is 0 where it is never true."""

    precision: float
    recall: float
    f1: float
    average_precision: float
    threshold: float
    support: int


class MultilabelReport(Report):
    """Micro and macro F1, exact matches and average precision with intervals, a table of labels."""

    def __init__(
        self,
        truth: np.ndarray,
        p: np.ndarray,
        thresholds: np.ndarray,
        labels: list[str],
        calibration: CalibrationReport,
    ) -> None:
        guess = p >= thresholds
        counts = label_counts(truth, guess)
        self.labels, self.calibration, self.count = labels, calibration, len(truth)
        self.weights = counts.both.sum(1)
        self.scores = 2 * counts.hits.sum(1) / np.maximum(self.weights, 1)
        self.interval = self.interval_over([self])
        present = counts.present
        ranking = bootstrap_precision(p, truth)
        exact = (truth == guess).all(1).astype(float)
        self.intervals = {
            "micro_f1": self.interval,
            "macro_f1": macro_interval(counts.hits[:, present], counts.both[:, present]),
            "subset_accuracy": wilson_interval(float(exact.mean()), len(exact)),
            "macro_average_precision": never_a_point(ranking.macro, truth),
            "micro_average_precision": never_a_point(ranking.micro, truth),
        }
        precisions = average_precisions(p, truth)
        true = counts.true.sum(0)
        self.metrics = {
            **f1_scores(counts),
            "macro_average_precision": mean_average_precision(precisions, truth),
            "micro_average_precision": average_precision(p.ravel(), truth.ravel()),
            "loss": calibration.after.nll,
        }
        hits, guessed = counts.hits.sum(0), counts.guessed.sum(0)
        self.table = [
            LabelScore(h / max(1, g), h / max(1, t), 2 * h / max(1, g + t), float(ap), float(at), t)
            for h, g, t, ap, at in zip(
                hits.tolist(), guessed.tolist(), true.tolist(), precisions, thresholds
            )
        ]

    def independent_interval(self, mean: float, weight: float) -> tuple[float, float]:
        return wilson_f1(mean, weight)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "classify",
            "examples": self.count,
            **self.metrics,
            **{f"{name}_interval": list(interval) for name, interval in self.intervals.items()},
            "labels": {name: score._asdict() for name, score in zip(self.labels, self.table)},
            "calibration": self.calibration.to_json(),
        }

    def lines(self) -> list[str]:
        width = max(len("label"), *(len(name) for name in self.labels))
        figures = self.metrics
        lines = [f"{self.count} examples, {len(self.labels)} labels"]
        for key, (low, high) in self.intervals.items():
            way = "Wilson" if key in PROPORTIONS else "bootstrap"
            interval = f"95 % interval {low:.4f} to {high:.4f} ({way})"
            lines.append(f"{TITLES[key]:<{WIDTH}}  {figures[key]:.4f}   {interval}")
        lines += [
            f"{TITLES['loss']:<{WIDTH}}  {figures['loss']:.4f}",
            *self.calibration.lines(WIDTH),
            "",
            f"{'label':<{width}}  precision  recall      F1      AP  threshold   count",
        ]
        for name, bounds in zip(self.labels, self.table):
            lines.append(
                f"{name:<{width}}  {bounds.precision:9.4f}  {bounds.recall:6.4f}  {bounds.f1:6.4f}"
                f"  {bounds.average_precision:6.4f}  {bounds.threshold:9.4f}  {bounds.support:6d}"
            )
        return lines


class SeveralLabels(Decision):
    """p = σ(z / T) of each label by itself; the answer is those that reach their thresholds.

    thresholds   (K,)
    separator    between the labels of an answer in a table
    """

    # With the best thresholds, answering with every label has a high F1 before anything is learnt.
    metric = Metric("micro_f1", ranked_by="macro_average_precision")
    answer = LabelsPrediction
    answer_view = LabelsView

    def __init__(
        self, field: LabelsField, train: TrainConfig, separator: str | None = None
    ) -> None:
        super().__init__(field, train)
        self.thresholds = np.full(len(field.names), THRESHOLD)
        self.separator = separator or free_separator(field.names)
        self.weights: Tensor | None = None  # (2, K) of labels that a row lacks, and has
        if train.class_weights == "balanced" and len(field.counts):
            both = [field.rows - field.counts, field.counts]
            self.weights = as_weights(
                np.stack([balanced(np.array(counts), field.rows) for counts in zip(*both)], 1)
            )

    def loss(self, scores: Tensor, targets: Tensor, rows: Tensor | None = None) -> Tensor:
        """Binary cross-entropy, the mean over rows and labels."""
        smoothing = self.train.label_smoothing
        weight = None
        if self.weights is not None:
            lacks, has = self.weights.to(scores.device)
            weight = torch.where(targets > 0, has, lacks)
        if rows is not None:
            weight = rows[:, None] if weight is None else weight * rows[:, None]
        targets = targets * (1 - smoothing) + smoothing / 2 if smoothing else targets
        return F.binary_cross_entropy_with_logits(scores, targets, weight=weight)

    def truth(self, values: LabelSets) -> np.ndarray:
        """(N, K) bool"""
        return values.multi_hot(np.arange(len(values)), len(self.labels))

    def multi_hot(self, truth: np.ndarray) -> np.ndarray:
        return truth

    def sampled_by(self, truth: np.ndarray) -> np.ndarray:
        """The rarest label of each row, by the counts of all rows; -1 of a row that has none."""
        counts = np.where(truth, truth.sum(0), len(truth) + 1)  # (N, K)
        return np.where(truth.any(1), counts.argmin(1), -1)

    def normalised(self, scores: np.ndarray) -> np.ndarray:
        return torch.from_numpy(scores).sigmoid().numpy()

    def export_outputs(self, scores: Tensor) -> dict[str, Tensor]:
        return {"probabilities": (scores / self.temperature).sigmoid().float()}

    def export_answer(self) -> dict[str, Any]:
        thresholds = self.thresholds.tolist()
        return {"kind": "labels", "labels": list(self.labels), "thresholds": thresholds}

    def quality(self, p: np.ndarray, truth: np.ndarray) -> Quality:
        return quality_of_several(p, truth)

    def choose_thresholds(self, p: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """(K,) for these probabilities (N, K)"""
        if self.train.thresholds == "label":
            return np.array([best_threshold(x, y) for x, y in zip(p.T, truth.T)])
        if self.train.thresholds == "one":
            return np.full(p.shape[1], best_threshold(p.ravel(), truth.ravel()))
        return np.full(p.shape[1], THRESHOLD)

    def metrics(self, scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        """With thresholds that are chosen on the same rows, as they are when training ends."""
        p = self.probabilities(scores)
        guess = p >= self.choose_thresholds(p, truth)
        return {
            **f1_scores(label_counts(truth, guess)),
            "macro_average_precision": mean_average_precision(average_precisions(p, truth), truth),
            "loss": self.quality(p, truth).nll,
        }

    def report(self, scores: np.ndarray, truth: np.ndarray) -> MultilabelReport:
        p = self.probabilities(scores)
        calibration = self.calibration(scores, truth)
        return MultilabelReport(truth, p, self.thresholds, self.labels, calibration)

    def answered(self, item: Any, p: np.ndarray) -> LabelsPrediction:
        named = {name: float(x) for name, x in zip(self.labels, p)}
        chosen = [self.labels[i] for i in self.chosen(p)]
        return LabelsPrediction(item, chosen, named, self.separator)

    def chosen(self, p: np.ndarray) -> list[int]:
        """The labels that reach their thresholds, the most probable first, of p (K,)"""
        order = np.argsort(-p, kind="stable").tolist()
        return [i for i in order if p[i] >= self.thresholds[i]]

    def fit(self, scores: np.ndarray, truth: np.ndarray, *, rows: str = "validation") -> list[str]:
        notes = super().fit(scores, truth, rows=rows)
        if self.train.thresholds == "none":
            return notes
        self.thresholds = self.choose_thresholds(self.probabilities(scores), truth)
        self.fitted = True
        low, high = self.thresholds.min(), self.thresholds.max()
        scope = "one for each label" if self.train.thresholds == "label" else "one for all"
        range_shown = f"{low:.3f}" if low == high else f"{low:.3f} to {high:.3f}"
        notes.append(f"thresholds, {scope}, by F1 on the {rows} rows: {range_shown}")
        if absent := [name for name, column in zip(self.labels, truth.T) if not column.any()]:
            shown = ", ".join(absent[:10]) + (", ..." if len(absent) > 10 else "")
            notes.append(f"labels that no {rows} row has keep the threshold 0.5: {shown}")
        return notes

    def unfitted(self) -> list[str]:
        notes = super().unfitted()
        if self.train.thresholds == "none":
            return notes
        return [*notes, "no validation part: the threshold of every label is 0.5"]

    def to_json(self) -> dict[str, Any]:
        thresholds = dict(zip(self.labels, self.thresholds.tolist()))
        return {**super().to_json(), "thresholds": thresholds}

    def restore(self, stored: dict[str, Any]) -> None:
        super().restore(stored)
        self.thresholds = np.array([float(stored["thresholds"][name]) for name in self.labels])
        if not ((self.thresholds >= 0) & (self.thresholds <= 1)).all():
            raise ValueError(self.thresholds)


def free_separator(labels: Sequence[str]) -> str:
    """One that no label contains, if there is one."""
    free = [sign for sign in SEPARATORS if not any(sign in name for name in labels)]
    return free[0] if free else SEPARATORS[0]


def never_a_point(interval: tuple[float, float], truth: np.ndarray) -> tuple[float, float]:
    """An interval; where a bootstrap shrinks to a point, Wilson's for as many true answers."""
    low, high = interval
    return interval if low < high else wilson_interval(low, float(truth.sum()))
