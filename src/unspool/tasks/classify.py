"""classify: a document in, one label out, or any number of labels (many-to-one).

tokens (B, T) -> encoder (B, T, D·H) -> pooling (B, D·H) [-> dense] -> logits (B, C).

What follows from the logits is in `multiclass` for one label a row, in `multilabel` for several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from unspool.config import Config, declare
from unspool.data.batching import BucketBatches
from unspool.data.corpus import Fields
from unspool.data.fields.field import Field
from unspool.data.fields.label import LabelField
from unspool.data.fields.labels import LabelsField
from unspool.data.part import Batch, Part
from unspool.data.split import grouped_folds
from unspool.errors import ConfigError, Option
from unspool.nn.models.classifier import Classifier
from unspool.nn.models.ensemble import Kind
from unspool.tasks.answer import Answer
from unspool.tasks.calibration import FoldCalibration, Unseen
from unspool.tasks.decision import Decision
from unspool.tasks.document import CHUNK, DocumentTask
from unspool.tasks.inputs import read_field, reads_text
from unspool.tasks.label_plan import plan_labels
from unspool.tasks.linear import NB_LINEAR, LeaveOneOutRidge, Logistic, Solver, baseline_config
from unspool.tasks.metrics import Metric
from unspool.tasks.multiclass import OneLabel, Prediction
from unspool.tasks.multilabel import SeveralLabels
from unspool.tasks.reading_answers import LabelView
from unspool.tasks.roles import Lacking, Roles
from unspool.tasks.task import Report, Step, chunks


class Classify(DocumentTask):
    """`decision`: how logits become labels."""

    name = "classify"
    roles = Roles(
        target="label",
        plan=plan_labels,
        lacking=Lacking(
            "holds no labels, which classify needs",
            ("name their column with ", Option("label"), ", or use ", Option(task="generate")),
        ),
        documents=True,
    )
    metric = Metric("accuracy")
    settings = declare(
        data="text_pair label multilabel label_separator missing unseen",
        model="log_count_ratios pooling dense",
        train="label_smoothing class_weights oversample calibrate thresholds baseline",
    )
    answer_view = LabelView
    answer: type[Answer] = Prediction
    constant = "majority"

    def __init__(self, config: Config, fields: Fields) -> None:
        super().__init__(config, fields)
        field = fields["label"]
        self.decision: Decision
        if isinstance(field, LabelsField):
            self.decision = SeveralLabels(field, config.train, config.data.label_separator)
        else:
            assert isinstance(field, LabelField)
            self.decision = OneLabel(field, config.train)
        self.metric, self.answer = self.decision.metric, self.decision.answer
        self.answer_view = self.decision.answer_view

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        kind = LabelsField if config.data.multilabel else LabelField
        read = read_field(config)
        return {read.name: read, "label": kind("label", config.data.missing)}

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**super().models(), "nb_linear": NB_LINEAR}

    @classmethod
    def quick_candidates(cls, config: Config) -> list[Config]:
        quick = super().quick_candidates(config)
        if reads_text(config) and not config.data.multilabel:
            quick.append(baseline_config(config, "nb_linear", NB_LINEAR))
        return quick

    @classmethod
    def check_config(cls, config: Config) -> None:
        super().check_config(config)
        if config.model.log_count_ratios and not reads_text(config):
            raise ConfigError(
                "log-count ratios are of n-grams, which texts alone have",
                got=f"input {config.data.input}",
                remedy=("use ", Option(model="linear")),
            )
        train = config.train
        if train.oversample and train.class_weights != "none":
            raise ConfigError(
                "train.oversample and train.class_weights both balance the labels",
                remedy="use one of them",
            )

    @property
    def outputs(self) -> list[str]:
        return self.labels

    def build(self) -> nn.Module:
        several = isinstance(self.decision, SeveralLabels)
        if self.config.members:
            return self.ensemble()
        if self.at_once:
            return self.baseline(len(self.labels), pair=len(self.labels) == 2 and not several)
        return Classifier(**self.network(), classes=len(self.labels), multilabel=several)

    @property
    def averaging(self) -> Kind:
        return "sigmoid" if isinstance(self.decision, SeveralLabels) else "softmax"

    @property
    def temperature(self) -> float:
        return self.decision.temperature

    def solver(self) -> Solver:
        if self.config.model.rocket:
            return LeaveOneOutRidge(self.signs, self.decision.normalised, self.group_names)
        return Logistic(self.decision, ratios=self.config.model.log_count_ratios)

    def signs(self, part: Part) -> np.ndarray:
        """(N, C) 1 for labels of a row, else -1; of a pair of classes (N, 1)"""
        signs = 2.0 * self.decision.multi_hot(self.truth(part)) - 1
        pair = isinstance(self.decision, OneLabel) and signs.shape[1] == 2
        return signs[:, 1:] if pair else signs

    def batches(self, part: Part, *, training: bool) -> BucketBatches:
        batches = super().batches(part, training=training)
        if training and self.config.train.oversample:
            truth = self.decision.truth(self.windowed(part)["label"])
            batches.classes = self.decision.sampled_by(truth)
        return batches

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        x = batch[self.input]
        loss = self.decision.loss(model(*x.inputs).float(), batch["label"], batch.weights)
        return Step(loss, targets=len(batch.rows), tokens=int(x.lengths.sum()), carry=None)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.decision.metrics(*self.judged(model, part))

    def evaluate(self, model: nn.Module, part: Part, options: None = None) -> Report:
        return self.report(*self.judged(model, part))

    def report(self, scores: np.ndarray, truth: np.ndarray) -> Report:
        return self.decision.report(scores, truth)

    def truth(self, part: Part) -> np.ndarray:
        return self.decision.truth(part["label"])

    def figures(self, scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        return self.decision.metrics(scores, truth)

    def fits_folds(
        self, parts: Mapping[str, Part], folds: int, groups: np.ndarray | None = None
    ) -> bool:
        """Whether every label is in the training part of every fold."""
        if not isinstance(self.decision, OneLabel):
            return False
        labels = np.concatenate([self.truth(part) for part in parts.values()])
        if groups is None:
            return len(labels) >= folds and bool((np.bincount(labels) > 1).all())
        numbers = np.unique(groups, return_inverse=True)[1].reshape(-1)
        fold = grouped_folds(numbers, folds, self.config.data.split_seed, where="")
        every = set(labels.tolist())
        return all(set(labels[fold != k].tolist()) == every for k in range(folds))

    def calibrate(self, model: nn.Module, part: Part | None) -> list[str]:
        if part is None:
            return self.decision.unfitted()
        return self.calibrate_by(*self.judged(model, part))

    def calibrate_by(self, scores: np.ndarray, truth: np.ndarray) -> list[str]:
        return self.decision.fit(scores, truth)

    def unseen(self, model: nn.Module, part: Part) -> Unseen:
        return Unseen(*self.judged(model, part), self.labels)

    def calibrate_folds(self, folds: Sequence[Unseen]) -> FoldCalibration:
        return self.decision.fit_folds(folds)

    def judged(self, model: nn.Module, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """The logits of a part (N, C), and its true labels."""
        return self.scores(model, part, len(self.labels)), self.truth(part)

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: None = None
    ) -> Iterator[Answer]:
        for some in chunks(items, CHUNK):
            part = Part.of(self.fields, **{self.input: some})
            p = self.decision.probabilities(self.scores(model, part, len(self.labels)))
            for i, (item, row) in enumerate(zip(some, p)):
                yield self.with_cut(
                    self.decision.answered(self.input_field.form.shown(item), row), part, i
                )

    def export_outputs(self, model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, Any]:
        return self.decision.export_outputs(self.export_scores(model, inputs))

    def export_answer(self) -> dict[str, Any]:
        return self.decision.export_answer()

    def answered(self, shown: str, scores: np.ndarray) -> Answer:
        return self.decision.answered(shown, self.decision.probabilities(scores)[0])

    def save(self, folder: Path) -> None:
        super().save(folder)
        self.decision.save(folder)

    @classmethod
    def load(cls, config: Config, folder: Path) -> Classify:
        data = config.data
        if data.multilabel is None:  # a run of old: its files were not looked at for several
            data = data.model_copy(update={"multilabel": False})
        task = super().load(config.model_copy(update={"data": data}), folder)
        assert isinstance(task, Classify)
        task.decision.load(folder)
        return task
