"""Decisions from scores to labels, for one label a row or several.

In: scores (N, C) and what the field of the labels has. Out: a loss, probabilities, a report and
answers. What is fitted to rows that were held out (a temperature, thresholds) is kept here and
saved with the run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from unspool.config import TrainConfig
from unspool.errors import RunError
from unspool.io.files import AGAIN, in_run, read_json, write_json
from unspool.tasks.answer import Answer
from unspool.tasks.calibration import (
    COLDEST,
    HOTTEST,
    CalibrationReport,
    FoldCalibration,
    Quality,
    Unseen,
    fit_temperature,
    pooled,
)
from unspool.tasks.metrics import Metric
from unspool.tasks.reading import AnswerView
from unspool.tasks.task import Report

FILE = "calibration.json"
FEWEST = 50  # rows that a temperature is fitted to


class Decision(ABC):
    """Scores to labels.

    field        of the labels, fitted: its names, and how often each occurs in training
    temperature  by which scores are divided before they become probabilities
    fitted       whether there is something to save
    """

    metric: ClassVar[Metric]
    answer: ClassVar[type[Answer]]
    answer_view: ClassVar[type[AnswerView]]  # how `look` shows the answer

    def __init__(self, field: Any, train: TrainConfig) -> None:
        self.field, self.train = field, train
        self.temperature, self.fitted = 1.0, False

    @property
    def labels(self) -> list[str]:
        return self.field.names

    @abstractmethod
    def loss(self, scores: Tensor, targets: Tensor, rows: Tensor | None = None) -> Tensor:
        """() the mean over the rows of a batch, with weights (B,) of `rows`; of scores (B, C)"""

    @abstractmethod
    def truth(self, values: Any) -> np.ndarray:
        """The values of the field, as the other methods take them."""

    @abstractmethod
    def multi_hot(self, truth: np.ndarray) -> np.ndarray:
        """(N, C) 0 or 1"""

    @abstractmethod
    def sampled_by(self, truth: np.ndarray) -> np.ndarray:
        """(N,) the label by which rows are oversampled; -1: once, as they are"""

    @abstractmethod
    def normalised(self, scores: np.ndarray) -> np.ndarray:
        """The probabilities of scores that no temperature divides: (N, C) -> (N, C)"""

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        return self.normalised(scores / self.temperature)

    @abstractmethod
    def export_outputs(self, scores: Tensor) -> dict[str, Tensor]:
        """`probabilities` by functions of torch, for a graph: (N, C) float64 -> float32"""

    @abstractmethod
    def export_answer(self) -> dict[str, Any]: ...

    @abstractmethod
    def quality(self, p: np.ndarray, truth: np.ndarray) -> Quality: ...

    def calibration(self, scores: np.ndarray, truth: np.ndarray) -> CalibrationReport:
        before = self.quality(self.normalised(scores), truth)
        after = self.quality(self.probabilities(scores), truth)
        return CalibrationReport(self.temperature, before, after)

    @abstractmethod
    def metrics(self, scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        """The metrics of a validation during training; they include `metric` and `loss`."""

    @abstractmethod
    def report(self, scores: np.ndarray, truth: np.ndarray) -> Report: ...

    @abstractmethod
    def answered(self, item: Any, p: np.ndarray) -> Answer:
        """The answer to an item whose labels have the probabilities p (C,)."""

    def fit(self, scores: np.ndarray, truth: np.ndarray, *, rows: str = "validation") -> list[str]:
        """To rows that were not trained on, when the weights have been chosen; returns notes."""
        if not self.train.calibrate:
            return []
        if len(scores) < FEWEST:
            return [f"not calibrated: {len(scores)} {rows} rows are fewer than {FEWEST}"]
        self.temperature = self.best_temperature(scores, truth)
        self.fitted = True
        quality = self.calibration(scores, truth)
        return [
            f"calibrated on {len(scores):,} {rows} rows: temperature {self.temperature:.3f},"
            f" loss {quality.before.nll:.4f} -> {quality.after.nll:.4f},"
            f" ECE {quality.before.ece:.4f} -> {quality.after.ece:.4f}"
        ]

    def best_temperature(self, scores: np.ndarray, truth: np.ndarray) -> float:
        """1 where the one that is fitted would raise the loss of these rows: it is fitted to a row
        more, which weighs more than all others where these are right and sure."""
        temperature = fit_temperature(scores, self.multi_hot(truth), self.normalised)
        before, after = (
            self.quality(self.normalised(scores / t), truth).nll for t in (1.0, temperature)
        )
        return temperature if after < before else 1.0

    def fit_folds(self, folds: Sequence[Unseen]) -> FoldCalibration:
        """To the rows of all folds, by the scores of the models that have not seen them.

        Their temperature suits the model of all rows as well as it is trained in the same way. What
        it reaches is judged as on new rows: in each fold by the temperature of the others.
        """
        fitting = [fold for fold in folds if fold.labels == self.labels]
        if len(fitting) < 2:
            return FoldCalibration(None, self.unfitted())
        scores, truth = pooled(fitting)
        notes = self.fit(scores, truth, rows="out-of-fold")
        if len(fitting) < len(folds):
            few = len(folds) - len(fitting)
            notes.append(f"{few} of {len(folds)} folds lacked some labels and did not calibrate")
        if not self.train.calibrate:
            return FoldCalibration(None, notes)
        p = []
        for fitted in fitting:
            z, y = pooled([other for other in fitting if other is not fitted])
            p.append(self.normalised(fitted.scores / self.best_temperature(z, y)))
        before = self.quality(self.normalised(scores), truth)
        after = self.quality(np.concatenate(p), truth)
        return FoldCalibration(CalibrationReport(self.temperature, before, after), notes)

    def unfitted(self) -> list[str]:
        """Notes where there is no validation part."""
        if not self.train.calibrate:
            return []
        return ["no validation part: the probabilities are not calibrated"]

    def to_json(self) -> dict[str, Any]:
        return {"temperature": self.temperature}

    def restore(self, stored: dict[str, Any]) -> None:
        """From what `to_json` gave; raises where it does not fit."""
        self.temperature = float(stored["temperature"])
        if not COLDEST / 2 < self.temperature < 2 * HOTTEST:
            raise ValueError(self.temperature)

    def save(self, folder: Path) -> None:
        if self.fitted:
            write_json(folder / FILE, self.to_json())

    def load(self, folder: Path) -> None:
        """Load what was saved; a run that was not trained to its end has nothing."""
        path = folder / FILE
        if not in_run(path):
            return
        try:
            self.restore(read_json(path))
            self.fitted = True
        except (KeyError, TypeError, ValueError, OverflowError):
            raise RunError(
                "not the temperature and thresholds of this model", where=path, remedy=AGAIN
            ) from None


def balanced(count: np.ndarray, rows: int) -> np.ndarray:
    """Weights by which classes of these counts weigh alike: rows / (classes · count), 1 in the mean
    over the rows (class_weight="balanced" of scikit-learn)."""
    return rows / (len(count) * np.maximum(count, 1))


def as_weights(weights: np.ndarray) -> Tensor:
    return torch.from_numpy(weights.astype(np.float32))
