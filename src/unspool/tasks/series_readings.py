"""Readings of series: steps in place of tokens, and vectors in place of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.read.recording import Recording
from unspool.data.store.ragged import Windows, cut_windows
from unspool.nn.efficientnet import EncoderInput
from unspool.nn.images import ConvolutionalInput
from unspool.tasks.label_readings import (
    ClassifyReading,
    DocumentReading,
    MultilabelReading,
    RegressReading,
    TagReading,
)
from unspool.tasks.reading import AnswerText, Reading, longest, names_before, nothing
from unspool.tasks.tag.series import TaggedSeries

if TYPE_CHECKING:
    from unspool.tasks.task import Task


STRETCHES = 12  # of an answer that are named


class SeriesInput(Reading):
    """What readings of series share; `vectors` (T, size) are what the input layer reads, of a model
    that reads `windows` those of the first one."""

    before: list[str]
    windows: int = 1

    def __init__(
        self, task: Task, model: Any, item: Any, vectors: np.ndarray | None = None
    ) -> None:
        field = task.input_field
        self.item: Recording = field.recording(item, "the series")
        if not len(self.item):
            if field.display.audible:
                field.refuse(self.item, "the sound")  # reports that it is silent
            raise nothing()
        if vectors is None:
            field.refuse(self.item, "the series")
        names = field.labels(self.item)
        if vectors is None:
            whole, data = field.encode([self.item]), task.config.data
            if data.window:
                windows = cut_windows(whole.lengths, data.window, data.window_stride)
                self.windows = len(windows.origin)
                whole = whole.windows(Windows(*(own[:1] for own in windows)))
            vectors = field.vectors(whole, 0)
        self.task, self.model, self.vectors = task, model, vectors[: longest(model)]
        # Where a convolution makes other steps, those are looked at: the vectors of its grid.
        self.convolved = isinstance(model.encoder.input, ConvolutionalInput | EncoderInput)
        self.before = names_before(model.encoder)
        self.cost = field.source.cost
        self.elements = [] if self.convolved else field.inputs
        self.first_step = -len(self.before)
        steps = names if self.convolved else names[: len(self.vectors)]
        Reading.__init__(
            self, str(self.item), [*self.before, *steps], len(names) + len(self.before)
        )

    @property
    def input_module(self) -> nn.Module:
        """The input layer: it reads channels; but for a convolution, which makes other steps."""
        return self.network if self.convolved else self.model.encoder.input

    @property
    def token_spans(self) -> list[tuple[int, int]]:
        """The columns of the image that each column of a convolution stands for."""
        layer, found = self.model.encoder.input, super().token_spans
        if not self.convolved or not layer.by_columns:
            return found
        before, end, own = found[: len(self.before)], len(self.vectors), layer.stride
        return before + [(at, min(end, at + own)) for at in range(0, end, own)]

    def batch(self, readings: Sequence[SeriesInput]) -> tuple[Tensor, Tensor]:
        x = torch.from_numpy(np.stack([each.vectors for each in readings]))
        number = next(self.model.parameters()).dtype
        return x.to(number), torch.full((len(readings),), len(self.vectors))

    def without(self, token: int) -> Self:
        """A step of means in its place: time goes on without it."""
        vectors = self.vectors.copy()
        self.task.input_field.source.hide(vectors, token - len(self.before), self.mean())
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

    def of_windows(self, found: AnswerText) -> AnswerText:
        """Says which of several windows it is the answer to."""
        if self.windows == 1:
            return found
        own = f"window 1 of {self.windows:,}, of which a prediction is the mean"
        return found._replace(note=f"{found.note}; {own}" if found.note else own)

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

    def answer_text(self, scores: Tensor) -> AnswerText:
        return self.of_windows(super().answer_text(scores))


class ClassifySeries(SeriesReading, ClassifyReading):
    """A label for the series."""


class MultilabelSeries(SeriesReading, MultilabelReading):
    """Labels for the series."""


class RegressSeries(SeriesReading, RegressReading):
    """A number for the series, or several."""


class StepsReading(SeriesInput, TagReading):
    """A label for each step."""

    def answer_text(self, scores: Tensor) -> AnswerText:
        labels = [self.name(tag) for tag in self.chosen(scores)]
        p = np.ones(len(labels))
        found = TaggedSeries("", self.tokens, labels, p.tolist()).stretches
        shown = ", ".join(f"{own.label} {own.first} to {own.last}" for own in found[:STRETCHES])
        return self.of_windows(AnswerText(shown + ", ..." * (len(found) > STRETCHES)))

    def together(self, readings: Sequence[Any]) -> Tensor:
        return self.model(*self.batch(readings))


READINGS: dict[str, type[Reading]] = {
    "label": ClassifySeries,
    "labels": MultilabelSeries,
    "number": RegressSeries,
    "tags": StepsReading,
}
