"""One label a document, out of C: softmax, cross-entropy, accuracy, confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from unspool.config import TrainConfig
from unspool.data.fields.label import LabelField, Labels
from unspool.errors import DataError
from unspool.tasks.answer import Answer, empty, one_line
from unspool.tasks.calibration import CalibrationReport, Quality, quality_of_one
from unspool.tasks.class_metrics import cohen_kappa, matthews, roc_auc, weighted_f1
from unspool.tasks.decision import Decision, as_weights, balanced
from unspool.tasks.metrics import Metric, class_scores, confusion_matrix, macro_f1, wilson_interval
from unspool.tasks.reading_answers import LabelView
from unspool.tasks.task import Report

MOST_CLASSES = 20  # of which a confusion matrix is printed
UNSEEN = "(unseen)"  # labels that do not occur in the training data, all together
LINE = 100  # characters of a line of a terminal


@dataclass(frozen=True)
class Prediction(Answer):
    """The most probable label of one document, and the probability of every label, each of the type
    that the labels had in training."""

    text: str
    label: Any
    probabilities: dict[Any, float]

    @property
    def probability(self) -> float:
        return self.probabilities[self.label]

    def __str__(self) -> str:
        return f"{self.label}\t{self.probability:.4f}\t{one_line(self.text)}"

    def header(self) -> list[str]:
        return ["label", "probability", *(f"p({name})" for name in self.probabilities), "text"]

    def rows(self, number: int) -> list[list[Any]]:
        figures = [f"{p:.6f}" for p in (self.probability, *self.probabilities.values())]
        return [[self.label, *figures, self.text]]

    @property
    def warning(self) -> str | None:
        return empty(self.text)

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "probabilities": self.probabilities, "text": self.text}


class ClassifyReport(Report):
    """Accuracy with its interval, macro F1, a table a class, the confusion matrix, calibration."""

    def __init__(
        self,
        truth: np.ndarray,
        guess: np.ndarray,
        labels: list[str],
        calibration: CalibrationReport,
        auc: float | None = None,
    ) -> None:
        """`auc`: area under the ROC curve, where the rows have more than one class."""
        self.labels, self.calibration = labels, calibration
        self.scores = (guess == truth).astype(float)
        self.confusion = confusion_matrix(truth, guess, len(labels))
        self.classes = class_scores(self.confusion)
        self.interval = self.interval_over([self])
        self.metrics = {
            "accuracy": float(self.scores.mean()),
            "macro_f1": macro_f1(self.confusion),
            "weighted_f1": weighted_f1(self.confusion),
            "kappa": cohen_kappa(self.confusion),
            "mcc": matthews(self.confusion),
            **({} if auc is None else {"auc": auc}),
            "loss": calibration.after.nll,
        }
        self.count = len(truth)

    def interval_over(self, reports: Sequence[Report]) -> tuple[float, float]:
        """Wilson's: further seeds are no further examples."""
        return wilson_interval(float(np.mean([r.scores.mean() for r in reports])), len(self.scores))

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "classify",
            "examples": self.count,
            **self.metrics,
            "accuracy_interval": list(self.interval),
            "classes": {name: score._asdict() for name, score in zip(self.labels, self.classes)},
            "confusion": {"labels": self.labels, "rows_true": self.confusion.tolist()},
            "calibration": self.calibration.to_json(),
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        width = max(len("class"), *(len(name) for name in self.labels))
        lines = [
            f"{self.count} examples",
            f"accuracy  {figures['accuracy']:.4f}   95 % interval {low:.4f} to {high:.4f} (Wilson)",
            f"macro F1  {figures['macro_f1']:.4f}   weighted F1 {figures['weighted_f1']:.4f}",
            f"kappa     {figures['kappa']:.4f}   MCC {figures['mcc']:.4f}"
            + (f", ROC AUC {figures['auc']:.4f}" if "auc" in figures else ""),
            f"loss      {figures['loss']:.4f}",
            *self.calibration.lines(),
            "",
            f"{'class':<{width}}  precision  recall      F1   count",
        ]
        for name, score in zip(self.labels, self.classes):
            lines.append(
                f"{name:<{width}}  {score.precision:9.4f}  {score.recall:6.4f}  {score.f1:6.4f}"
                f"  {score.support:6d}"
            )
        return [*lines, "", *confusion_lines(self.confusion, self.labels)]


def confusion_lines(confusion: np.ndarray, labels: list[str]) -> list[str]:
    """The matrix (C, C) with whole names over its columns; where they need more than a line of a
    terminal, with the numbers of the classes, which then stand before their names too."""
    if len(labels) > MOST_CLASSES:
        return [f"confusion matrix of {len(labels)} classes: in the JSON only"]
    counts = [[str(n) for n in row] for row in confusion]

    def table(rows: list[str], columns: list[str]) -> list[str]:
        first = max(map(len, rows))
        widths = [2 + max(map(len, cells)) for cells in zip(columns, *counts)]
        return [
            f"{name:<{first}}" + "".join(f"{cell:>{w}}" for cell, w in zip(cells, widths))
            for name, cells in zip(["", *rows], [columns, *counts])
        ]

    lines = table(labels, labels)
    if len(lines[0]) > LINE:
        numbers = [str(i) for i in range(1, len(labels) + 1)]
        wide = len(numbers[-1])
        lines = table([f"{i:>{wide}} {name}" for i, name in zip(numbers, labels)], numbers)
    return ["confusion (rows true, columns predicted)", *lines]


class OneLabel(Decision):
    """p = softmax(z / T); the answer is the most probable label."""

    metric = Metric("accuracy")
    answer = Prediction
    answer_view = LabelView

    def __init__(self, field: LabelField, train: TrainConfig) -> None:
        super().__init__(field, train)
        self.weights: Tensor | None = None  # (C,)
        if train.class_weights == "balanced" and len(field.counts):
            self.weights = as_weights(balanced(field.counts, int(field.counts.sum())))

    def loss(self, scores: Tensor, targets: Tensor, rows: Tensor | None = None) -> Tensor:
        """Cross-entropy; with weights of classes, w_y times that of each row."""
        smoothing = self.train.label_smoothing
        if self.weights is None and rows is None:
            return F.cross_entropy(scores, targets, label_smoothing=smoothing)
        losses = F.cross_entropy(scores, targets, label_smoothing=smoothing, reduction="none")
        if self.weights is not None:
            losses = losses * self.weights.to(scores.device)[targets]
        return (losses if rows is None else losses * rows).mean()

    def truth(self, values: Labels) -> np.ndarray:
        """(N,) indices"""
        return values.ids

    def multi_hot(self, truth: np.ndarray) -> np.ndarray:
        return np.eye(len(self.labels))[truth]

    def sampled_by(self, truth: np.ndarray) -> np.ndarray:
        return truth

    def normalised(self, scores: np.ndarray) -> np.ndarray:
        return torch.from_numpy(scores).softmax(1).numpy()

    def export_outputs(self, scores: Tensor) -> dict[str, Tensor]:
        return {"probabilities": (scores / self.temperature).softmax(-1).float()}

    def export_answer(self) -> dict[str, Any]:
        return {"kind": "label", "labels": list(self.field.typed)}

    def quality(self, p: np.ndarray, truth: np.ndarray) -> Quality:
        return quality_of_one(p, truth)

    def metrics(self, scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        p = self.probabilities(scores)
        guess = p.argmax(1)
        return {
            "accuracy": float((guess == truth).mean()),
            "macro_f1": macro_f1(confusion_matrix(truth, guess, len(self.labels))),
            "loss": self.quality(p, truth).nll,
        }

    def report(self, scores: np.ndarray, truth: np.ndarray) -> ClassifyReport:
        p, seen, labels = self.probabilities(scores), truth >= 0, list(self.labels)
        if not seen.any():
            raise DataError("no label of these data occurs in the training data")
        quality = self.calibration(scores[seen], truth[seen])
        if not seen.all():
            labels, truth = [*labels, UNSEEN], np.where(seen, truth, len(labels))
        auc = roc_auc(p[seen], truth[seen])
        return ClassifyReport(truth, p.argmax(1), labels, quality, auc)

    def answered(self, item: Any, p: np.ndarray) -> Prediction:
        labels = self.field.typed
        return Prediction(item, labels[int(p.argmax())], dict(zip(labels, p.tolist())))
