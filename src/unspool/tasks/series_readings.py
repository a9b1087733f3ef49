"""Readings of series: steps in place of tokens, and vectors in place of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from unspool.data.read.recording import Recording, as_recording
from unspool.tasks.label_readings import (
    ClassifyReading,
    DocumentReading,
    MultilabelReading,
    RegressReading,
    TagReading,
)
from unspool.tasks.reading import Reading, longest, names_before, nothing

if TYPE_CHECKING:
    from unspool.tasks.task import Task


class SeriesInput(Reading):
    """What readings of series share; `vectors` (T, size) are what the input layer reads."""

    before: list[str]

    def __init__(
        self, task: Task, model: Any, item: Any, vectors: np.ndarray | None = None
    ) -> None:
        field = task.input_field
        self.item: Recording = as_recording(item, "the series")
        if not len(self.item):
            raise nothing()
        if vectors is None:
            field.refuse(self.item, "the series")
            vectors = field.vectors(field.encode([self.item]), 0)
        self.task, self.model, self.vectors = task, model, vectors[: longest(model)]
        self.before = names_before(model.encoder)
        steps = field.labels(self.item)[: len(self.vectors)]
        Reading.__init__(
            self, str(self.item), [*self.before, *steps], len(vectors) + len(self.before)
        )

    def batch(self, readings: Sequence[SeriesInput]) -> tuple[Tensor, Tensor]:
        x = torch.from_numpy(np.stack([each.vectors for each in readings]))
        number = next(self.model.parameters()).dtype
        return x.to(number), torch.full((len(readings),), len(self.vectors))

    def without(self, token: int) -> Self:
        """A step of means in its place: time goes on without it."""
        vectors = self.vectors.copy()
        vectors[token - len(self.before)] = self.mean()
        return type(self)(self.task, self.model, self.item, vectors)

    def blank(self) -> Self:
        vectors = np.tile(self.mean(), (len(self.vectors), 1))
        return type(self)(self.task, self.model, self.item, vectors)

    def mean(self) -> np.ndarray:
        """(size,) a step at which every channel has its mean, which is 0 after scaling."""
        mean = np.zeros(self.vectors.shape[1], dtype=np.float32)
        field = self.task.input_field
        first = len(field.channels)
        mean[first : first + len(field.gappy)] = 1  # observed
        return mean

    def moved(self, step: int, token: int) -> int:
        return step

    def removable(self, step: int) -> list[int]:
        own = range(len(self.before), len(self.tokens))
        return list(own) if len(own) > 1 else []


class SeriesReading(SeriesInput, DocumentReading):
    """One answer to the whole series."""

    def together(self, readings: Sequence[Any]) -> Tensor:
        task: Any = self.task
        temperature = task.decision.temperature if hasattr(task, "decision") else 1.0
        return self.model(*self.batch(readings))[:, None] / temperature


class ClassifySeries(SeriesReading, ClassifyReading):
    """A label for the series."""


class MultilabelSeries(SeriesReading, MultilabelReading):
    """Labels for the series."""


class RegressSeries(SeriesReading, RegressReading):
    """A number for the series, or several."""


class StepsReading(SeriesInput, TagReading):
    """A label for each step."""

    def together(self, readings: Sequence[Any]) -> Tensor:
        return self.model(*self.batch(readings))
