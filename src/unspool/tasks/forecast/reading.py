"""Views of a series that is continued: steps of the past, values of the steps ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.read.recording import Recording
from unspool.nn.models.forecaster import RecursiveForecaster, Window, window_scale
from unspool.tasks.forecast.answer import next_steps
from unspool.tasks.reading import AnswerText, AnswerView, InputView, nothing


class PastView(InputView):
    """The last steps of a series, up to where its forecast begins; `target`: the channel that is
    forecast."""

    keeps_length = True

    def __init__(self, task: Any, model: Any, item: Any, *, target: int = 0) -> None:
        field = task.input_field
        self.item: Recording = field.recording(item, "the series")
        if not len(self.item):
            raise nothing()
        stretches = field.encode([self.item])
        self.window = Window(*field.collate(stretches, np.array([target]))[:5])
        self.target = target
        last = field.last(self.item)
        self.first_step = last - int(self.window.lengths[0])
        self.ahead = next_steps(self.item, field)
        self.elements = field.inputs(target)
        steps = self.item.steps()[self.first_step : last]
        super().__init__(task, model, str(self.item), steps, last)

    def of_target(self, target: int) -> PastView:
        """The same for another channel that is forecast."""
        return PastView(self.task, self.model, self.item, target=target)

    @property
    def input_module(self) -> nn.Module:
        """All that is read of the past passes here."""
        return self.model.window

    @property
    def network_spans(self) -> list[tuple[int, int]]:
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
        return [names[stop - 1 - self.first_step] for _, stop in self.network_spans]

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        columns = (torch.cat(column) for column in zip(*(view.window for view in inputs)))
        number = next(self.model.parameters()).dtype
        return Window(*(x.to(number) if x.is_floating_point() else x for x in columns))

    def without(self, token: int) -> Self:
        """The same as if this step had not been observed."""
        observed = self.window.observed.clone()
        observed[0, token] = False
        y = torch.where(observed, self.window.y, 0.0)
        return self.changed(window=self.window._replace(y=y, observed=observed))

    def blank(self) -> Self:
        """Every step at the level of the window, and other channels at their means; what is known
        ahead stays."""
        center, _ = window_scale(self.window, self.model.normalize)
        y = torch.where(self.window.observed, center, 0.0)
        extra = torch.zeros_like(self.window.extra)
        return self.changed(window=self.window._replace(y=y, extra=extra))


class ForecastView(AnswerView):
    """A value for each step ahead of one target."""

    measure = "number"

    @property
    def steps(self) -> Sequence[str]:
        return self.input.ahead

    def default_step(self) -> int:
        return 0

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        """In units of the window."""
        return self.model.uncertain.center(self.model(batch).outputs)[..., None]

    def name(self, answer: int) -> str:
        return self.task.input_field.targets[self.input.target]

    def values(self, scores: Tensor) -> Tensor:
        """In the units of the file."""
        center, scale = window_scale(self.input.window, self.model.normalize)
        return center.double() + scale.double() * scores.double().cpu()

    def unit(self, answer: int) -> float:
        return float(window_scale(self.input.window, self.model.normalize)[1])

    def summary(self, scores: Tensor) -> AnswerText:
        values = self.values(scores)[:, 0].tolist()
        first = f"{self.name(0)} {values[0]:.6g} at {self.input.ahead[0]}"
        return AnswerText(first, f"the first of {len(values)} steps ahead" * (len(values) > 1))
