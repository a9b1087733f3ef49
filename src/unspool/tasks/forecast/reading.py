"""How `look` reads a series that is continued: steps of the past, values of the steps ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.read.recording import Recording
from unspool.nn.models.forecaster import RecursiveForecaster, Window, window_scale
from unspool.tasks.forecast.answer import next_steps
from unspool.tasks.reading import AnswerText, Reading, nothing


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

    def answer_text(self, scores: Tensor) -> AnswerText:
        values = self.values(scores)[:, 0].tolist()
        first = f"{self.name(0)} {values[0]:.6g} at {self.ahead[0]}"
        return AnswerText(first, f"the first of {len(values)} steps ahead" * (len(values) > 1))

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
