"""Readings of series: steps in place of tokens, and vectors in place of ids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import DataConfig
from unspool.data.fields.series_values import Series
from unspool.data.read.recording import Recording
from unspool.data.store.ragged import Windows, cut_windows
from unspool.nn.ctc import BLANK, align
from unspool.nn.models.forecaster import RecursiveForecaster, Window, window_scale
from unspool.nn.models.handwriting import Drawn
from unspool.search.ctc import greedy_ctc
from unspool.tasks.forecast_answer import next_steps
from unspool.tasks.handwrite_answer import END
from unspool.tasks.label_readings import (
    ClassifyReading,
    DocumentReading,
    MultilabelReading,
    RegressReading,
    TagReading,
)
from unspool.tasks.reading import Lattice, Reading, Said, longest, names_before, nothing
from unspool.tasks.tagged_series import TaggedSeries

if TYPE_CHECKING:
    from unspool.tasks.task import Task


STRETCHES = 12  # of an answer that are named
SILENCE, SPACE = "∅", "␣"  # how a blank and a space are shown


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
        names = field.labels(self.item)
        if vectors is None:
            vectors = field.vectors(in_first_window(field.encode([self.item]), task.config.data), 0)
        self.task, self.model, self.vectors = task, model, vectors[: longest(model)]
        self.before, self.elements = names_before(model.encoder), field.inputs
        self.first_step = -len(self.before)
        steps = names[: len(self.vectors)]
        Reading.__init__(
            self, str(self.item), [*self.before, *steps], len(names) + len(self.before)
        )

    @property
    def input_module(self) -> nn.Module:
        """The input layer: it reads channels."""
        return self.model.encoder.input

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


def in_first_window(series: Series, data: DataConfig) -> Series:
    """Of a model that reads windows the first one, else the whole."""
    if not data.window:
        return series
    windows = cut_windows(series.lengths, data.window, data.window)
    return series.windows(Windows(*(own[:1] for own in windows)))


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

    def said(self, scores: Tensor) -> Said:
        labels = [self.name(tag) for tag in self.chosen(scores)]
        p = np.ones(len(labels))
        found = TaggedSeries("", self.tokens, labels, p.tolist()).stretches
        shown = ", ".join(f"{own.label} {own.first} to {own.last}" for own in found[:STRETCHES])
        return Said(shown + ", ..." * (len(found) > STRETCHES))

    def together(self, readings: Sequence[Any]) -> Tensor:
        return self.model(*self.batch(readings))


class TranscribeReading(SeriesInput):
    """At each of the steps that the network reads, `patch` of the recording, a token or a blank."""

    def __init__(
        self, task: Task, model: Any, item: Any, vectors: np.ndarray | None = None
    ) -> None:
        super().__init__(task, model, item, vectors)
        self.patch = int(model.patch)
        self.tokens = self.tokens[:: self.patch]
        self.whole = -(-self.whole // self.patch)

    def together(self, readings: Sequence[Any]) -> Tensor:
        found: Tensor = self.model(*self.batch(readings))
        return found

    def chosen(self, scores: Tensor) -> list[int]:
        return [int(best) for best in scores.argmax(-1)]

    def name(self, answer: int) -> str:
        if answer == BLANK:
            return SILENCE
        tokenizer: Any = self.task.target_tokenizer
        (found,) = tokenizer.shown([answer])
        return {" ": SPACE}.get(found, found)

    def default_step(self) -> int:
        """The first at which a token is written."""
        with torch.inference_mode():
            best = self.chosen(self.run()[0])
        return next((step for step, own in enumerate(best) if own != BLANK), len(best) - 1)

    def said(self, scores: Tensor) -> Said:
        lattice = self.lattice(scores)
        return Said(lattice.text, f"{len(lattice.places)} tokens")

    def lattice(self, scores: Tensor | None = None) -> Lattice:
        """The probabilities of tokens over time, and the text of the best path."""
        if scores is None:
            with torch.inference_mode():
                scores = self.run()[0]
        (ids,) = greedy_ctc(scores[None], torch.tensor([len(scores)]))
        tokenizer: Any = self.task.target_tokenizer
        return Lattice(
            [self.name(i) for i in range(scores.shape[1])],
            scores.exp().double().cpu().numpy(),
            tokenizer.decode(ids),
            [(self.name(i), *place) for i, place in zip(ids, align(scores, ids))],
            self.task.input_field.duration * self.patch,
        )

    def without(self, token: int) -> Self:
        vectors = self.vectors.copy()
        vectors[token * self.patch : (token + 1) * self.patch] = self.mean()
        return type(self)(self.task, self.model, self.item, vectors)


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
    "text": TranscribeReading,
}


class ForecastReading(Reading):
    """A value for each step ahead of one target; reasons are given for the value at one of them."""

    measure = "number"
    least = -math.inf

    def __init__(
        self, task: Any, model: Any, item: Any, window: Window | None = None, *, target: int = 0
    ) -> None:
        field = task.input_field
        self.item: Recording = field.recording(item, "the series")
        if not len(self.item):
            raise nothing()
        if window is None:
            stretches = field.encode([self.item])
            window = Window(*field.collate(stretches, np.array([target]))[:5])
        self.task, self.model, self.window, self.target = task, model, window, target
        length, last = int(window.lengths[0]), field.last(self.item)
        self.first_step = last - length
        steps = self.item.steps()[self.first_step : last]
        self.ahead = next_steps(self.item, field)
        self.elements = field.inputs(target)
        super().__init__(str(self.item), steps, last)

    def of_target(self, target: int) -> Self:
        """The same of another channel that is forecast."""
        return type(self)(self.task, self.model, self.item, target=target)

    @property
    def asked(self) -> Sequence[str]:
        return self.ahead

    @property
    def input_module(self) -> nn.Module:
        """All that is read of the past passes here."""
        return self.model.window

    @property
    def spans(self) -> list[tuple[int, int]]:
        """A patch is one step; a recursive model also reads its own values, each a step."""
        first, size = self.first_step, getattr(self.model, "patch", 1)
        last = first + len(self.tokens)
        begin = first - (first - last) % size  # of the first patch, which may lack some steps
        past = [(max(first, at), at + size) for at in range(begin, last, size)]
        if not isinstance(self.model, RecursiveForecaster):
            return past
        return past + [(last + h, last + h + 1) for h in range(len(self.ahead) - 1)]

    @property
    def network_tokens(self) -> Sequence[str]:
        names = [*self.tokens, *self.ahead]
        return [names[stop - 1 - self.first_step] for _, stop in self.spans]

    def said(self, scores: Tensor) -> Said:
        values = self.values(scores)[:, 0].tolist()
        first = f"{self.name(0)} {values[0]:.6g} at {self.ahead[0]}"
        return Said(first, f"the first of {len(values)} steps ahead" * (len(values) > 1))

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
        return self.task.input_field.targets[self.target]

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
        return self._of(self.window._replace(y=y, observed=observed))

    def _of(self, window: Window) -> Self:
        return type(self)(self.task, self.model, self.item, window, target=self.target)

    def blank(self) -> Self:
        """Every step at the level of the window, and other channels at their means; what is known
        ahead stays."""
        center, _ = window_scale(self.window, self.model.normalize)
        y = torch.where(self.window.observed, center, 0.0)
        return self._of(self.window._replace(y=y, extra=torch.zeros_like(self.window.extra)))

    def moved(self, step: int, token: int) -> int:
        return step

    def removable(self, step: int) -> list[int]:
        return list(range(len(self.tokens))) if len(self.tokens) > 1 else []
