"""Options and answers of forecasts: the next steps of a series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from unspool.data.fields.history import HistoryField
from unspool.data.read.recording import Recording, numbers
from unspool.errors import ConfigError
from unspool.tasks.answer import Answer
from unspool.tasks.examples import KEPT, Example, plain
from unspool.tasks.forecast.conformal import COVERAGES


def spread_examples(field: HistoryField, series: Recording, first: int, end: int) -> list[Example]:
    """At steps spread from `first` to the last one that has a horizon before `end`."""
    origins = np.linspace(first, end - field.horizon, KEPT).round().astype(int)
    return [example_at(field, series, origin) for origin in np.unique(origins).tolist()]


def example_at(field: HistoryField, series: Recording, origin: int) -> Example:
    """Up to two windows before a step, and what came from it on."""
    first, ahead = max(0, origin - 2 * field.length), min(len(series), origin + field.horizon)
    values = series.values[first:ahead].copy()
    future = values[origin - first :, field.target_channels].copy()
    values[origin - first :] = np.nan
    if field.ahead:
        known = field.ahead_channels
        values[origin - first :, known] = series.values[origin:ahead, known]
    else:
        values = values[: origin - first]
    past = replace(series[first : first + len(values)], values=values)
    return Example(plain(field.form.to_json(past)), "", tuple(numbers(step) for step in future))


LEVEL = 0.95  # coverage that intervals promise unless another is asked for


@dataclass(frozen=True)
class ForecastOptions:
    """Options of a forecast.

    coverage   that intervals promise: 0.5, 0.8, 0.9 or 0.95
    paths      samples by which the quantiles of a recursive model are found
    samples    of the future to be given as well, of a model whose output is a distribution
    seed       of all of these
    """

    coverage: float = LEVEL
    paths: int = 200
    samples: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.coverage not in COVERAGES:
            raise ConfigError(
                "coverage must be one that intervals were made for",
                got=self.coverage,
                remedy="choose " + ", ".join(map(str, COVERAGES)),
            )
        if not 20 <= self.paths <= 10_000:
            raise ConfigError("paths must lie between 20 and 10,000", got=self.paths)
        if not 0 <= self.samples <= 10_000:
            raise ConfigError("samples must lie between 0 and 10,000", got=self.samples)
        if not 0 <= self.seed < 2**63:
            raise ConfigError("seed must be 0 or more, and below 2^63", got=self.seed)


@dataclass(frozen=True)
class SeriesForecast(Answer):
    """The next steps of one series.

    steps     what they are called: times, or numbers
    targets   names of what was forecast
    center    (H, K) the best single values, and the interval
    low       (H, K)
    high      (H, K)
    samples   (N, H, K), and whether each is a path, sampled step after step; otherwise the steps
    paths     of one are independent
    """

    plural: ClassVar[str] = "forecasts"
    repeats: ClassVar[str | None] = None

    name: str
    steps: list[str]
    targets: list[str]
    center: np.ndarray
    low: np.ndarray
    high: np.ndarray
    samples: np.ndarray | None = None
    paths: bool = False

    def __str__(self) -> str:
        return "\n".join(self.lines(1))

    def lines(self, number: int) -> list[str]:
        return ["\t".join(map(str, row)) for row in self.rows(number)]

    def header(self) -> list[str]:
        alone = len(self.targets) == 1
        names = [
            name
            for target in self.targets
            for name in (
                ("forecast", "low", "high")
                if alone
                else (target, f"{target} low", f"{target} high")
            )
        ]
        sampled = [
            f"{kind} {i + 1}" if alone else f"{target} {kind} {i + 1}"
            for kind in ("path" if self.paths else "draw",)
            for target in self.targets
            for i in range(0 if self.samples is None else len(self.samples))
        ]
        return ["series", "step", *names, *sampled]

    def rows(self, number: int) -> list[list[Any]]:
        values = np.stack([self.center, self.low, self.high], -1).reshape(len(self.steps), -1)
        if self.samples is not None:
            sampled = self.samples.transpose(1, 2, 0).reshape(len(self.steps), -1)  # (H, K · N)
            values = np.concatenate([values, sampled], 1)
        name = self.name or str(number)
        return [
            [name, step, *(f"{x:.6g}" for x in row.ravel())]
            for step, row in zip(self.steps, values)
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "series": self.name,
            "steps": self.steps,
            **{
                target: {
                    "forecast": self.center[:, k].tolist(),
                    "low": self.low[:, k].tolist(),
                    "high": self.high[:, k].tolist(),
                    **self._sampled(k),
                }
                for k, target in enumerate(self.targets)
            },
        }

    def _sampled(self, target: int) -> dict[str, Any]:
        if self.samples is None:
            return {}
        return {"paths" if self.paths else "draws": self.samples[..., target].tolist()}


def next_steps(series: Recording, field: HistoryField, first: int = 0) -> list[str]:
    """Names of the steps after the last value; `first`: steps before those of `series`."""
    last = field.last(series) - 1
    ahead = np.arange(1, field.horizon + 1)
    if series.times is None:
        return [str(first + last + step) for step in ahead]
    times = field.step.after(series.times[last], ahead)
    return series.time_names(times)
