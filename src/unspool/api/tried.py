"""Models that a search tried, with their scores of held-out rows, in; those to keep out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unspool.api.run import Run
from unspool.config import Config
from unspool.tasks import Report
from unspool.tasks.abilities import Averages
from unspool.tasks.task import fits_directly
from unspool.training.comparison import paired_interval
from unspool.training.trainer import Paused

MOST_KEPT = 4
HOPELESS = 0.05  # how much worse than the best a model surely is on a fold that ends its trial


@dataclass
class ModelTrial:
    """A model that is being tried.

    runs     one, or one a fold, as far as they have ended
    model    once all have
    metrics  of the latest validation before a pause, or at the end of the first run
    rank     of the best one
    """

    name: str
    config: Config
    runs: list[Run] = field(default_factory=list)
    model: TriedModel | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    rank: tuple[float, ...] = ()
    elapsed: float = 0.0  # in this process
    begun: float = 0.0  # of a run that has not ended, over all processes

    @property
    def seconds(self) -> float:
        """Processor time, or the recorded one of trainings that another process began."""
        ended = [run.counters.seconds for run in self.runs if run.counters is not None]
        return max(self.elapsed, sum(ended) + self.begun)

    def paused(self, paused: Paused, elapsed: float) -> None:
        self.metrics, self.rank, self.begun = paused.metrics, tuple(paused.rank), paused.seconds
        self.elapsed += elapsed

    def ended(self, run: Run, elapsed: float) -> None:
        self.runs.append(run)
        self.begun, self.elapsed = 0.0, self.elapsed + elapsed
        if len(self.runs) == 1:
            self.metrics = TriedModel.of(self.name, [run], 0.0).metrics
            self.rank = run.task.metric.rank(self.metrics)


@dataclass(frozen=True)
class TriedModel:
    """One kind of model.

    runs      one, or one a fold
    scores    (N, C) of the rows that were held out, by the run that has not seen them; divided by
              its temperature; empty where models of the task have no mean
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
        task = task_of(runs[0])
        if not isinstance(runs[0].task, Averages):
            metrics = task.validate(runs[0].model, runs[0].parts["valid"])
            return cls(name, runs, np.empty(0), np.empty(0), metrics, seconds)
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
        report = self.runs[0].report
        if not len(self.scores) and report is not None:
            return report
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
    if len(tried[0].scores) == 0:
        return chosen
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


def far_better(tried: list[TriedModel], run: Run) -> TriedModel | None:
    """Return the best model so far where a run is surely much worse on the same held-out
    rows; None of a model that takes seconds."""
    if not tried or fits_directly(run.task):
        return None
    best, mine = max(tried, key=lambda model: model.rank), TriedModel.of("", [run], 0.0)
    rival = TriedModel.of("", best.runs[:1], 0.0)
    reports = [model.held_out_report() for model in (mine, rival)]
    interval = paired_interval(*reports)
    higher = run.task.metric.higher_is_better
    surely = interval is not None and higher and interval[1] < -HOPELESS
    return best if surely else None


def standard_error(share: float, rows: int) -> float:
    """The standard error of a share of the rows; 0 of what is none, such as an error."""
    return math.sqrt(share * (1 - share) / rows) if 0 <= share <= 1 else 0.0


def rows(
    tried: Sequence[TriedModel], chosen: Sequence[TriedModel], stopped: Sequence[ModelTrial]
) -> list[dict[str, Any]]:
    """For auto.json."""
    models: list[Any] = [*tried, *stopped]
    return [
        {
            "model": model.name,
            "valid": model.metrics,
            "seconds": round(model.seconds, 1),
            "kept": model in chosen,
            "stopped": model in stopped,
        }
        for model in models
    ]


def table(
    tried: Sequence[TriedModel], chosen: Sequence[TriedModel], stopped: Sequence[ModelTrial]
) -> list[str]:
    """Each model with its score, best first; then those that were stopped early."""
    metric, models = tried[0].runs[0].task.metric.name, list[Any]()
    for group in (tried, stopped):
        models += sorted(group, key=lambda model: model.rank, reverse=True)
    width = max(len(model.name) for model in models)
    where = "valid" if len(tried[0].runs) == 1 else "folds"
    lines = [f"{'tried':<{width}}  {where} {metric:>10}  seconds"]
    for model in models:
        remark = "  kept" if model in chosen else "  stopped early" if model in stopped else ""
        score = f"{model.metrics[metric]:16.4f}"
        lines.append(f"{model.name:<{width}}  {score}  {model.seconds:7.0f}{remark}")
    if len(chosen) > 1:
        value, kept = mean_metrics([*chosen])[metric], f"of the {len(chosen)} that are kept"
        lines.insert(len(tried) + 1, f"{'mean':<{width}}  {value:16.4f}           {kept}")
    return lines
