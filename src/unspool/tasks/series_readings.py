"""Readings of series: steps in place of tokens, and vectors in place of ids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from unspool.data.read.recording import Recording
from unspool.nn.models.forecaster import Window, window_scale
from unspool.nn.models.handwriting import Drawn
from unspool.tasks.handwrite_answer import END
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
        self.item: Recording = field.recording(item, "the series")
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


class HandwriteReading(SeriesInput):
    """Whether the pen is lifted after the point that follows each; reasons are given for that."""

    def __init__(self, task: Any, model: Any, item: Any, vectors: np.ndarray | None = None) -> None:
        super().__init__(task, model, item, vectors)
        self.words: Any = None
        text = getattr(self.item, "text", "")
        if task.conditional:
            self.words = task.text_ids(text, "the drawing")
            self.written = [*text, END]

    def default_step(self) -> int:
        return max(0, len(self.asked) - 2)  # after the last point nothing follows

    def together(self, readings: Sequence[Any]) -> Tensor:
        values, lengths = self.batch(readings)
        text = None
        if self.words is not None:
            rows = torch.zeros(len(readings), dtype=torch.int64)
            text = self.words.select(rows)
        up = self.model.mixture(Drawn(values, lengths, text)).up
        return torch.stack([torch.zeros_like(up), up], -1)

    def chosen(self, scores: Tensor) -> list[int]:
        return scores.argmax(-1).tolist()

    def name(self, answer: int) -> str:
        return ("pen down", "pen up")[answer]

    def removable(self, step: int) -> list[int]:
        return [t for t in super().removable(step) if t <= step]


READINGS: dict[str, type[Reading]] = {
    "label": ClassifySeries,
    "labels": MultilabelSeries,
    "number": RegressSeries,
    "tags": StepsReading,
}


class ForecastReading(Reading):
    """A value for each step ahead of one target; reasons are given for the value at one of them."""

    measure = "number"
    least = -math.inf

    def __init__(
        self, task: Any, model: Any, item: Any, window: Window | None = None, whole: int = 0
    ) -> None:
        field = task.input_field
        self.item: Recording = field.recording(item, "the series")
        if not len(self.item):
            raise nothing()
        if window is None:
            stretches = field.encode([self.item])
            window = Window(*field.collate(stretches, np.array([0]))[:5])
        self.task, self.model, self.window = task, model, window
        length, last = int(window.lengths[0]), field.last(self.item)
        steps = self.item.steps()[last - length : last]
        self.ahead = task.next_steps(self.item)
        super().__init__(str(self.item), steps, last)

    @property
    def asked(self) -> Sequence[str]:
        return self.ahead

    @property
    def network(self) -> Any:
        """All that is read of the past passes here."""
        return self.model.window

    def default_step(self) -> int:
        return 0

    def together(self, readings: Sequence[Any]) -> Tensor:
        many = Window(*(torch.cat(each) for each in zip(*(own.window for own in readings))))
        number = next(self.model.parameters()).dtype
        many = Window(*(x.to(number) if x.is_floating_point() else x for x in many))
        forecast = self.model(many)
        return self.model.uncertain.center(forecast.outputs)[..., None]

    def chosen(self, scores: Tensor) -> list[int]:
        return [0] * len(scores)

    def name(self, answer: int) -> str:
        return self.task.input_field.targets[0]

    def values(self, scores: Tensor) -> Tensor:
        """In the units of the file."""
        center, scale = window_scale(self.window, self.model.normalize)
        return center.double() + scale.double() * scores.double().cpu()

    def best(self, values: Tensor, answer: int) -> int:
        return answer

    def explained(self, scores: Tensor, step: int, answer: int) -> Tensor:
        """In units of the window."""
        return scores[:, step, answer].double()

    def unit(self, answer: int) -> float:
        return float(window_scale(self.window, self.model.normalize)[1])

    def without(self, token: int) -> Self:
        """The same as if this step had not been observed."""
        observed = self.window.observed.clone()
        observed[0, token] = False
        y = torch.where(observed, self.window.y, 0.0)
        window = self.window._replace(y=y, observed=observed)
        return type(self)(self.task, self.model, self.item, window)

    def blank(self) -> Self:
        """Every step at the level of the window."""
        center, _ = window_scale(self.window, self.model.normalize)
        window = self.window._replace(y=torch.where(self.window.observed, center, 0.0))
        return type(self)(self.task, self.model, self.item, window)

    def moved(self, step: int, token: int) -> int:
        return step

    def removable(self, step: int) -> list[int]:
        return list(range(len(self.tokens))) if len(self.tokens) > 1 else []
