"""regress: a document in, one number or several out (many-to-one).

tokens (B, T) -> encoder (B, T, D·H) -> pooling (B, D·H) [-> dense] -> numbers (B, K), in standard
deviations of the training part from its mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from unspool.config import Config, declare
from unspool.data.corpus import Fields
from unspool.data.fields.field import Field
from unspool.data.fields.number import NumberField
from unspool.data.part import Batch, Part
from unspool.nn.models.classifier import Regressor
from unspool.nn.models.ensemble import Kind
from unspool.tasks.answer import Answer, empty, one_line
from unspool.tasks.document import CHUNK, DocumentTask
from unspool.tasks.inputs import read_field
from unspool.tasks.label_plan import plan_numbers
from unspool.tasks.linear import LeaveOneOutRidge, Ridge, Solver
from unspool.tasks.metrics import (
    Metric,
    percentile_interval,
    resampled_sums,
    spearman,
    spearman_interval,
)
from unspool.tasks.reading_answers import NumberView
from unspool.tasks.roles import Roles
from unspool.tasks.task import Report, Step, chunks

POINTS = 1000  # of a report that are kept for a picture
TITLES = {"mae": "MAE", "rmse": "RMSE", "r2": "R²", "spearman": "Spearman"}


@dataclass(frozen=True)
class Estimate(Answer):
    """The numbers of one document, by their names."""

    text: str
    numbers: dict[str, float]

    def __str__(self) -> str:
        shown = "\t".join(f"{number:.6g}" for number in self.numbers.values())
        return f"{shown}\t{one_line(self.text)}"

    def header(self) -> list[str]:
        return [*self.numbers, "text"]

    def rows(self, number: int) -> list[list[Any]]:
        return [[*(f"{value:.6g}" for value in self.numbers.values()), self.text]]

    @property
    def warning(self) -> str | None:
        return empty(self.text)

    def to_json(self) -> dict[str, Any]:
        return {"numbers": self.numbers, "text": self.text}


class Figure(NamedTuple):
    value: float
    low: float
    high: float


class NumberReport(NamedTuple):
    """Figures of one predicted number, in its own units.

    figures      mae, rmse, r2, spearman with their 95 % intervals
    baselines    by "mean" and "median": mae, rmse and r2 of always predicting that of the training
                 part
    """

    name: str
    figures: dict[str, Figure]
    baselines: dict[str, dict[str, float]]

    def to_json(self) -> dict[str, Any]:
        figures = {name: f._asdict() for name, f in self.figures.items()}
        return {**figures, "baselines": self.baselines}

    def lines(self) -> list[str]:
        rows = [[self.name, "", "95 % interval", *(f"training {name}" for name in self.baselines)]]
        for key, (value, low, high) in self.figures.items():
            rest = [baseline[key] for baseline in self.baselines.values() if key in baseline]
            interval = f"{shown(low)} to {shown(high)}"
            rows.append([TITLES[key], shown(value), interval, *map(shown, rest)])
        widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
        return [
            "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths)))
            for row in rows
        ]


def shown(x: float) -> str:
    """Four places after the point, or four figures of what is very small or large."""
    return f"{x:.4f}" if x == 0 or 0.01 <= abs(x) < 1e5 else f"{x:.4g}"


def errors(truth: np.ndarray, guess: np.ndarray) -> dict[str, float]:
    """(N,) and (N,) -> mae, rmse, r2; scikit-learn's take 15 times as long (bench/metrics.py)"""
    wrong = guess - truth
    rest, spread = float(wrong @ wrong), float(((truth - truth.mean()) ** 2).sum())
    return {
        "mae": float(np.abs(wrong).mean()),
        "rmse": math.sqrt(rest / len(truth)),
        "r2": 1 - rest / spread if spread else float(rest == 0),
    }


def error_intervals(truth: np.ndarray, guess: np.ndarray) -> dict[str, tuple[float, float]]:
    """95 % intervals of `errors`, by the bootstrap over examples; the variance of the truth is that
    of the examples that were sampled."""
    wrong, y, n = guess - truth, truth - truth.mean(), len(truth)
    sums = resampled_sums(np.stack([np.abs(wrong), wrong**2, y, y**2], 1))  # (R, 4)
    spread = sums[:, 3] - sums[:, 2] ** 2 / n
    r2 = 1 - sums[:, 1] / np.where(spread > 0, spread, np.inf)
    resampled = {"mae": sums[:, 0] / n, "rmse": np.sqrt(sums[:, 1] / n), "r2": r2}
    return {name: percentile_interval(values) for name, values in resampled.items()}


def number_report(name: str, truth: np.ndarray, guess: np.ndarray, **known: float) -> NumberReport:
    """`known`: what the training part alone would predict for every example, by its name."""
    intervals = error_intervals(truth, guess)
    figures = {key: Figure(x, *intervals[key]) for key, x in errors(truth, guess).items()}
    rho = spearman(truth, guess)
    figures["spearman"] = Figure(rho, *spearman_interval(rho, len(truth)))
    constant = {key: errors(truth, np.full_like(truth, x)) for key, x in known.items()}
    return NumberReport(name, figures, constant)


def overall(truth: np.ndarray, guess: np.ndarray, field: NumberField) -> dict[str, float]:
    """The figures of K numbers, (N, K) both: of one number in its own units; of several the means
    of theirs, with errors in standard deviations of the training part."""
    scale = field.std if len(field.names) > 1 else np.ones(1)
    each_target = [errors(y / s, x / s) for y, x, s in zip(truth.T, guess.T, scale)]
    figures = {key: float(np.mean([row[key] for row in each_target])) for key in each_target[0]}
    figures["spearman"] = float(np.mean([spearman(y, x) for y, x in zip(truth.T, guess.T)]))
    return figures


class RegressReport(Report):
    """MAE, RMSE, R² and Spearman's ρ of each number, and what constants would reach."""

    def __init__(
        self, truth: np.ndarray, guess: np.ndarray, field: NumberField, *, metric: str, loss: float
    ) -> None:
        self.truth, self.guess, self.names, self.metric = truth, guess, field.names, metric
        self.metrics = {**overall(truth, guess, field), "loss": loss}
        self.numbers = [
            number_report(name, y, x, mean=mean, median=median)
            for name, y, x, mean, median in zip(
                field.names, truth.T, guess.T, field.mean, field.median
            )
        ]
        scale = field.std if len(field.names) > 1 else np.ones(1)
        wrong = (guess - truth) / scale
        # (N, K), of which the metric is a mean, after a root for the rmse
        self.each = np.abs(wrong) if metric == "mae" else wrong**2
        self.scores = self.each.mean(1)
        self.interval = self.interval_over([self])
        self.count = len(truth)

    def interval_over(self, reports: Sequence[Any]) -> tuple[float, float]:
        return percentile_interval(self.resampled(reports).mean(1))

    def resampled(self, reports: Sequence[Any]) -> np.ndarray:
        means = resampled_sums(np.concatenate([r.each for r in reports], 1)) / len(self.each)
        values = means if self.metric == "mae" else np.sqrt(means)
        return values.reshape(len(values), len(reports), -1).mean(-1)

    def to_json(self) -> dict[str, Any]:
        few = np.unique(np.linspace(0, self.count - 1, POINTS).astype(int))
        return {
            "task": "regress",
            "examples": self.count,
            **self.metrics,
            f"{self.metric}_interval": list(self.interval),
            "numbers": {number.name: number.to_json() for number in self.numbers},
            "points": {
                name: {
                    "true": [float(f"{x:.6g}") for x in self.truth[few, k]],
                    "predicted": [float(f"{x:.6g}") for x in self.guess[few, k]],
                }
                for k, name in enumerate(self.names)
            },
        }

    def lines(self) -> list[str]:
        lines = [f"{self.count} examples"]
        for number in self.numbers:
            lines += ["", *number.lines()]
        if len(self.numbers) > 1:
            low, high = self.interval
            means = ", ".join(f"{TITLES[key]} {shown(self.metrics[key])}" for key in TITLES)
            lines += [
                "",
                "means of all, errors in standard deviations of the training part:",
                f"{means}; 95 % interval of {TITLES[self.metric]} {shown(low)} to {shown(high)}",
            ]
        return lines


class Regress(DocumentTask):
    name = "regress"
    roles = Roles(target="number", plan=plan_numbers, documents=True)
    metric = Metric("rmse", higher_is_better=False)
    settings = declare(data="text_pair label missing", model="pooling dense", train="loss baseline")
    answer_view = NumberView
    answer = Estimate
    constant = "mean"

    def __init__(self, config: Config, fields: Fields) -> None:
        super().__init__(config, fields)
        if config.train.loss == "absolute":
            self.metric = Metric("mae", higher_is_better=False)

    @property
    def number(self) -> NumberField:
        field = self.fields["number"]
        assert isinstance(field, NumberField)
        return field

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        read = read_field(config)
        return {read.name: read, "number": NumberField("number", missing=config.data.missing)}

    @property
    def outputs(self) -> list[str]:
        return self.number.names

    def build(self) -> nn.Module:
        if self.config.members:
            return self.ensemble()
        if self.at_once:
            return self.baseline(len(self.number.names))
        return Regressor(**self.network(), numbers=len(self.number.names))

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        x = batch[self.input]
        error = F.mse_loss if self.config.train.loss == "squared" else F.l1_loss
        numbers, truth = model(*x.inputs).float(), batch["number"]
        if batch.weights is None:
            loss = error(numbers, truth)
        else:
            loss = (error(numbers, truth, reduction="none") * batch.weights[:, None]).mean()
        return Step(loss, targets=len(batch.rows), tokens=int(x.lengths.sum()), carry=None)

    @property
    def averaging(self) -> Kind:
        return "mean"

    def solver(self) -> Solver:
        if self.config.model.rocket:
            return LeaveOneOutRidge(self.standardised, groups=self.group_names)
        return Ridge(self.number)

    def standardised(self, part: Part) -> np.ndarray:
        return (self.truth(part) - self.number.mean) / self.number.std

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.metrics(part, self.scores(model, part, len(self.number.names)))

    def truth(self, part: Part) -> np.ndarray:
        return part["number"].array

    def figures(self, scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        guess = self.number.restore(scores)
        return {**overall(truth, guess, self.number), "loss": self.mean_loss(truth, guess)}

    def evaluate(self, model: nn.Module, part: Part, options: None = None) -> RegressReport:
        return self.report(self.scores(model, part, len(self.number.names)), self.truth(part))

    def report(self, scores: np.ndarray, truth: np.ndarray) -> RegressReport:
        guess = self.number.restore(scores)
        loss = self.mean_loss(truth, guess)
        return RegressReport(truth, guess, self.number, metric=self.metric.name, loss=loss)

    def mean_loss(self, truth: np.ndarray, guess: np.ndarray) -> float:
        """The loss that training minimises."""
        wrong = (guess - truth) / self.number.std
        return float((wrong**2 if self.metric.name == "rmse" else np.abs(wrong)).mean())

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: None = None
    ) -> Iterator[Estimate]:
        for some in chunks(items, CHUNK):
            part = Part.of(self.fields, **{self.input: some})
            for i, (item, row) in enumerate(zip(some, self.numbers(model, part))):
                shown = self.input_field.form.shown(item)
                answer = Estimate(shown, dict(zip(self.number.names, row.tolist())))
                yield self.with_cut(answer, part, i)

    def export_outputs(self, model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, Any]:
        scale, shift = (torch.from_numpy(x) for x in (self.number.std, self.number.mean))
        return {"numbers": (self.export_scores(model, inputs) * scale + shift).float()}

    def export_answer(self) -> dict[str, Any]:
        return {"kind": "numbers", "names": list(self.number.names)}

    def answered(self, shown: str, scores: np.ndarray) -> Estimate:
        numbers = self.number.restore(scores)[0].tolist()
        return Estimate(shown, dict(zip(self.number.names, numbers)))

    def numbers(self, model: nn.Module, part: Part) -> np.ndarray:
        """(N, K) in the order of the part's rows and the units of the file."""
        return self.number.restore(self.scores(model, part, len(self.number.names)))
