"""classify: a document in, one label out (many-to-one).

tokens (B, T) -> encoder (B, T, D·H) -> pooling (B, D·H) [-> dense] -> logits (B, C).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from unspool.config import Config, DataConfig
from unspool.data.fields.field import Field
from unspool.data.fields.label import LabelField
from unspool.data.part import Batch, Part
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.errors import DataError
from unspool.nn.models.classifier import Classifier
from unspool.tasks.answer import Answer, one_line
from unspool.tasks.document import CHUNK, DocumentTask, text_field
from unspool.tasks.label_readings import ClassifyReading
from unspool.tasks.metrics import bootstrap_mean, class_scores, confusion_matrix, macro_f1
from unspool.tasks.plan import (
    TEXT_AND_LABEL,
    describe,
    documents,
    input_plan,
    may_be_documents,
    text_and_label,
)
from unspool.tasks.task import Report, Step, chunks


@dataclass(frozen=True)
class Prediction(Answer):
    """The most probable label of one document, and the probability of every label."""

    text: str
    label: str
    probabilities: dict[str, float]

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

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "probabilities": self.probabilities, "text": self.text}


class ClassifyReport(Report):
    """Accuracy with its interval, macro F1, a table a class, the confusion matrix."""

    def __init__(self, truth: np.ndarray, probabilities: np.ndarray, labels: list[str]) -> None:
        guess = probabilities.argmax(1)
        right = np.maximum(probabilities[np.arange(len(truth)), truth], 1e-12)
        self.labels = labels
        self.scores = (guess == truth).astype(float)
        self.confusion = confusion_matrix(truth, guess, len(labels))
        self.classes = class_scores(self.confusion)
        self.interval = bootstrap_mean(self.scores)
        self.metrics = {
            "accuracy": float(self.scores.mean()),
            "macro_f1": macro_f1(self.confusion),
            "loss": float(-np.log(right).mean()),
        }
        self.count = len(truth)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "classify",
            "examples": self.count,
            **self.metrics,
            "accuracy_interval": list(self.interval),
            "classes": {name: score._asdict() for name, score in zip(self.labels, self.classes)},
            "confusion": {"labels": self.labels, "rows_true": self.confusion.tolist()},
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        width = max(len("class"), *(len(name) for name in self.labels))
        lines = [
            f"{self.count} examples",
            f"accuracy  {figures['accuracy']:.4f}   "
            f"95 % interval {low:.4f} to {high:.4f} (bootstrap)",
            f"macro F1  {figures['macro_f1']:.4f}",
            f"loss      {figures['loss']:.4f}",
            "",
            f"{'class':<{width}}  precision  recall      F1   count",
        ]
        for name, score in zip(self.labels, self.classes):
            lines.append(
                f"{name:<{width}}  {score.precision:9.4f}  {score.recall:6.4f}  {score.f1:6.4f}"
                f"  {score.support:6d}"
            )
        return [*lines, "", *self._confusion_lines(width)]

    def _confusion_lines(self, width: int) -> list[str]:
        if len(self.labels) > 20:
            return [f"confusion matrix: {len(self.labels)} classes, see --json"]
        cell = max(6, len(str(self.confusion.max())) + 1)
        short = [name[: cell - 1] for name in self.labels]
        lines = [
            "confusion (rows true, columns predicted)",
            " " * width + "".join(f"{name:>{cell}}" for name in short),
        ]
        for name, row in zip(self.labels, self.confusion):
            lines.append(f"{name:<{width}}" + "".join(f"{n:>{cell}d}" for n in row))
        return lines


class Classify(DocumentTask):
    name = "classify"
    metric = "accuracy"
    higher_is_better = True
    looked_at = ClassifyReading
    answer = Prediction

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        return {"text": text_field(config), "label": LabelField("label", config.data.missing)}

    @classmethod
    def plan(
        cls, table: Table, data: DataConfig, *, named: bool = False, outputs: bool = True
    ) -> Plan | None:
        """A text and a label."""
        if not named and not may_be_documents(table, data):
            return None
        if not outputs:
            return input_plan(cls.name, table, data)
        table = documents(table, cls.name)
        text, label = text_and_label(table, data)
        if label is None:
            if not named:
                return None
            raise DataError(
                "holds no labels, which classify needs",
                where=table.name,
                remedy="name their column with --label, or use --task generate",
            )
        convert = TEXT_AND_LABEL if table.typed else None
        summary = f"{describe(table, text, label)} -> {cls.name}"
        return Plan(cls.name, table, {"text": text, "label": label}, 1, summary, convert)

    def build(self) -> Classifier:
        return Classifier(**self.network(), classes=len(self.labels))

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        x = batch[self.input]
        loss = F.cross_entropy(
            model(*x.inputs).float(),
            batch["label"],
            label_smoothing=self.config.train.label_smoothing,
        )
        return Step(loss, targets=len(batch.rows), tokens=int(x.lengths.sum()), carry=None)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(self, model: nn.Module, part: Part, options: None = None) -> ClassifyReport:
        return ClassifyReport(part["label"].ids, self.probabilities(model, part), self.labels)

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: None = None
    ) -> Iterator[Prediction]:
        for some in chunks(items, CHUNK):
            part = self.part(**{self.input: some})
            for item, row in zip(some, self.probabilities(model, part)):
                named = {name: float(p) for name, p in zip(self.labels, row)}
                yield Prediction(item, self.labels[int(row.argmax())], named)

    def probabilities(self, model: nn.Module, part: Part) -> np.ndarray:
        """(N, C) in the order of the part's rows."""
        logits = torch.from_numpy(self.scores(model, part, len(self.labels)))
        return logits.softmax(1).numpy()
