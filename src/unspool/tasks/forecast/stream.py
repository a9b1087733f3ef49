"""Forecasts of a series that grows: after each step or chunk the next H steps.

A forecast is made from a window of the last L steps, which is centred and scaled by itself. The
next step moves the window, and with it centre and scale of all that is in it, so no state of a
network can be carried: the window is kept, and read again. That takes as long however much came
before, and every network can do it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unspool.data.fields.history import HistoryField
from unspool.data.fields.source import as_steps, refuse_times
from unspool.data.read.recording import Recording
from unspool.errors import ConfigError, DataError, Option
from unspool.tasks.forecast.answer import SeriesForecast
from unspool.tasks.streaming import Stream


class HistoryState(NamedTuple):
    """`steps` that were read, and the last of them; None before the first."""

    steps: int = 0
    past: Recording | None = None


class HistoryStream(Stream):
    """answer   of a past, before which so many steps came"""

    def __init__(
        self, field: HistoryField, answer: Callable[[Recording, int], SeriesForecast]
    ) -> None:
        if field.ahead:
            raise ConfigError(
                f"forecasts cannot be made step by step: {', '.join(field.ahead)} must be known for"
                " steps that have not come",
                remedy=("continue files, or train without ", Option("known")),
            )
        if field.static:
            listed = ", ".join(column.name for column in field.static)
            raise ConfigError(
                f"forecasts cannot be made step by step: {listed} belong to a series as a whole",
                remedy=("continue files, or train without ", Option("static")),
            )
        self.field, self.answer = field, answer
        self.restart()

    @property
    def steps(self) -> int:
        return self.state.steps

    def restart(self) -> None:
        self.state = HistoryState()

    def push(self, new: object) -> SeriesForecast:
        state: HistoryState = self.state
        new_steps = as_steps(new, len(self.field.channels))
        where = f"step {state.steps + 1}"
        before = state.past
        if len(new_steps):
            self.field.source.refuse_channels(new_steps, where)
            if before is not None and (new_steps.times is None) != (before.times is None):
                raise DataError("times are given for all steps, or for none", where=where)
            last = None if before is None or before.times is None else float(before.times[-1])
            refuse_times(new_steps.times, last, where)
            past = new_steps if before is None else joined(before, new_steps)
        elif before is not None:
            past = before
        else:
            raise DataError(
                "no steps have been given yet", got=new, remedy="give at least one step"
            )
        self.field.refuse(past, where)
        past = from_step(past, max(0, self.field.last(past) - self.field.length))
        steps = state.steps + len(new_steps)
        answer = self.answer(past, steps - len(past))
        self.state = HistoryState(steps, past)
        return answer


def joined(one: Recording, other: Recording) -> Recording:
    times = None
    if one.times is not None and other.times is not None:
        times = np.concatenate([one.times, other.times])
    return Recording(
        np.concatenate([one.values, other.values]),
        one.channels,
        times,
        one.dated,
        one.name,
        zone=one.zone,
    )


def from_step(series: Recording, first: int) -> Recording:
    return series[first:]
