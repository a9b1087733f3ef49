"""Models that a search tried, with their scores of held-out rows, in; those to keep out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unspool.api.run import Run
from unspool.tasks import Report
from unspool.tasks.task import fits_directly
from unspool.training.comparison import paired_interval

MOST_KEPT = 4


@dataclass(frozen=True)
class TriedModel:
    """One kind of model.

    runs      one, or one a fold
    scores    (N, C) of the rows that were held out, by the run that has not seen them; divided by
              its temperature
    truth     (N, ...) of these rows
    """

    name: str
    runs: list[Run]
    scores: np.ndarray
    truth: np.ndarray
    metrics: dict[str, float]
    seconds: float

    @classmethod
    def of(cls, name: str, runs: list[Run], seconds: float) -> TriedModel:
        scores = np.concatenate([scores_of(run, "valid") for run in runs])
        truth = np.concatenate([task_of(run).truth(run.parts["valid"]) for run in runs])
        metrics = plain(runs[0]).figures(scores, truth)
        return cls(name, runs, scores, truth, metrics, seconds)

    @property
    def at_once(self) -> bool:
        return fits_directly(self.runs[0].task)

    @property
    def rank(self) -> tuple[float, ...]:
        return self.runs[0].task.metric.rank(self.metrics)

    def report(self) -> Report:
        """On the test part, by the mean of the runs; else on the rows that were held out."""
        task = plain(self.runs[0])
        if "test" not in self.runs[0].parts:
            return self.held_out_report()
        scores = task.averaged([scores_of(run, "test") for run in self.runs])
        return task.report(scores, task.truth(self.runs[0].parts["test"]))

    def held_out_report(self) -> Report:
        return plain(self.runs[0]).report(self.scores, self.truth)


def task_of(run: Run) -> Any:
    return run.task


def plain(run: Run) -> Any:
    """The task of a run, with the temperature 1."""
    return type(run.task)(run.task.config, run.task.fields)


def scores_of(run: Run, part: str) -> np.ndarray:
    task = task_of(run)
    return task.scores(run.model, run.parts[part], len(task.outputs)) / task.temperature


def mean_scores(kept: list[TriedModel]) -> np.ndarray:
    return plain(kept[0].runs[0]).averaged([model.scores for model in kept])


def mean_metrics(kept: list[TriedModel]) -> dict[str, float]:
    return plain(kept[0].runs[0]).figures(mean_scores(kept), kept[0].truth)


def best_mean(tried: list[TriedModel]) -> list[TriedModel]:
    """The best model, and then, one by one, what lowers the loss of the mean of all most, as long
    as its metric does not fall behind the best one by more than chance: means that differ in a few
    rows are told apart by the loss, which depends on all of them. A model that is itself
    reliably worse is not added."""
    task: Any = tried[0].runs[0].task
    chosen = [max(tried, key=lambda model: model.rank)]
    tried = [model for model in tried if model is chosen[0] or is_near(model, chosen[0])]
    best, loss = task.metric.rank(mean_metrics(chosen))  # the loss with its sign changed
    while len(chosen) < MOST_KEPT:
        rest = [model for model in tried if model not in chosen]
        ranks = [task.metric.rank(mean_metrics([*chosen, model])) for model in rest]
        near = [
            (gain, model)
            for (metric, gain), model in zip(ranks, rest)
            if gain > loss and metric >= best - standard_error(best, len(tried[0].truth))
        ]
        if not near:
            break
        loss, added = max(near, key=lambda model: model[0])
        chosen.append(added)
    return chosen


def is_near(model: TriedModel, best: TriedModel) -> bool:
    """Whether it is not reliably worse, by the paired 95 % interval."""
    interval = paired_interval(model.held_out_report(), best.held_out_report())
    metric = model.runs[0].task.metric.name
    gap = abs(model.metrics[metric] - best.metrics[metric])
    return interval is None or gap <= (interval[1] - interval[0]) / 2


def standard_error(share: float, rows: int) -> float:
    """The standard error of a share of the rows; 0 of what is none, such as an error."""
    return math.sqrt(share * (1 - share) / rows) if 0 <= share <= 1 else 0.0


def rows(tried: list[TriedModel], chosen: list[TriedModel]) -> list[dict[str, Any]]:
    """For auto.json."""
    return [
        {
            "model": model.name,
            "valid": model.metrics,
            "seconds": round(model.seconds, 1),
            "kept": model in chosen,
        }
        for model in tried
    ]


def table(tried: list[TriedModel], chosen: list[TriedModel]) -> list[str]:
    metric = tried[0].runs[0].task.metric.name
    width = max(len(model.name) for model in tried)
    where = "valid" if len(tried[0].runs) == 1 else "folds"
    lines = [f"{'tried':<{width}}  {where} {metric:>10}  seconds"]
    for model in sorted(tried, key=lambda model: model.rank, reverse=True):
        kept = "  kept" if model in chosen else ""
        score = f"{model.metrics[metric]:16.4f}"
        lines.append(f"{model.name:<{width}}  {score}  {model.seconds:7.0f}{kept}")
    if len(chosen) > 1:
        value = mean_metrics(chosen)[metric]
        lines.append(
            f"{'mean':<{width}}  {value:16.4f}           of the {len(chosen)} that are kept"
        )
    return lines
