"""A trained model beside its baselines: reports on the same rows in, a table and conclusion out."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unspool.tasks import Report, Task
from unspool.tasks.metrics import percentile_interval
from unspool.tasks.task import fits_directly

FEW = 50  # rows, below which no difference is reliable


@dataclass(frozen=True)
class BaselineComparison:
    """The report of a run and those of its baselines, by name, on the same rows.

    choice      how a search chose this run among the others; None: they are baselines of one model
    references  names of baselines that need no model, so that none can be used instead
    """

    task: Task
    report: Report
    baselines: Mapping[str, Report]
    choice: str | None = None
    references: Collection[str] = ()

    def to_json(self) -> dict[str, Any]:
        """The metrics of the baselines, and the conclusion."""
        metric = self.task.metric.name
        baselines = {
            name: {**report.metrics, f"{metric}_interval": list(report.interval)}
            for name, report in self.baselines.items()
        }
        return {"baselines": baselines, "conclusion": self.conclusion}

    def lines(self) -> list[str]:
        metric, higher, *_ = self.task.metric
        reports = {self.task.config.model_name: self.report, **self.baselines}
        best = sorted(reports, key=lambda name: reports[name].metrics[metric], reverse=higher)
        title = "with baselines" if self.choice is None else "models"
        width = max(map(len, (title, *reports)))
        lines = [f"{title:<{width}}  {metric:>10}   95 % interval"]
        for name in best:
            low, high = reports[name].interval
            value = reports[name].metrics[metric]
            lines.append(f"{name:<{width}}  {value:10.4f}   {low:.4f} to {high:.4f}")
        return [*lines, self.conclusion]

    @property
    def rival(self) -> str:
        """The best baseline."""
        return max(self.baselines, key=lambda name: self._score(self.baselines[name]))

    @property
    def gain(self) -> float:
        """How much better the model is than the best baseline."""
        return self._score(self.report) - self._score(self.baselines[self.rival])

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the gain; None where the reports cannot be paired row by row."""
        sign = 1 if self.task.metric.higher_is_better else -1
        difference = paired_interval(self.report, self.baselines[self.rival])
        if difference is None:
            return None
        low, high = sorted(sign * end for end in difference)
        return low, high

    @property
    def preferred(self) -> str:
        """The model to use: the best baseline, unless the trained model is reliably better, or as
        simple."""
        model, interval = self.task.config.model_name, self.interval
        if self.choice is not None:
            return self.rival if interval is not None and interval[1] < 0 else model
        if interval is None:
            return model if self.gain > 0 else self.rival
        simple = fits_directly(self.task) and interval[1] >= 0  # no simpler than its rival
        return model if interval[0] > 0 or simple else self.rival

    @property
    def conclusion(self) -> str:
        """One line: which model to use, and why."""
        model, rival, interval = self.task.config.model_name, self.rival, self.interval
        limit = self._limit()
        if self.preferred in self.references:
            here = f", 95 % interval {interval[0]:+.4f} to {interval[1]:+.4f}" if interval else ""
            return (
                f"train {model} for longer or on more data: it is not reliably better than the"
                f" {rival} (difference {self.gain:+.4f}{here}){limit}"
            )
        if self.choice is not None:
            low, high = interval or (math.nan, math.nan)
            here = f" (95 % interval {low:+.4f} to {high:+.4f})" if interval else ""
            difference = f"{self.gain:+.4f} against {rival} on these rows{here}"
            if self.preferred == rival:
                return f"use {rival}, though the search kept {self.choice}; {difference}{limit}"
            return f"use this run, {self.choice}; {difference}{limit}"
        if interval is None:
            return f"use {self.preferred}: it has the best {self.task.metric.name}{limit}"
        low, high = interval
        by = f"by {abs(self.gain):.4f}"
        if low > 0:
            why = f"{model}: better than {rival} {by} (95 % interval {low:.4f} to {high:.4f})"
            return f"use {why}{limit}"
        if high < 0:
            why = f"{rival}: better than {model} {by} (95 % interval {-high:.4f} to {-low:.4f})"
            return f"use {why}{limit}"
        difference = (
            f"(difference {self.gain:+.4f}, 95 % interval {low:+.4f} to {high:+.4f}){limit}"
        )
        if self.preferred == model:
            return f"use {model}: {rival} is not reliably better or worse {difference}"
        return f"use {rival}, the simpler model: {model} is not reliably better {difference}"

    def _limit(self) -> str:
        """Return the reason against the model to use, if there is one."""
        rows, untrained = len(self.report.scores), self.report.untrained
        sign = 1 if self.task.metric.higher_is_better else -1
        limit = f"; {rows} rows prove little" if rows < FEW else ""
        limit += f"; {self.report.caution}" if self.report.caution else ""
        best = max(untrained, key=lambda name: sign * untrained[name], default=None)
        preferred = self.baselines.get(self.preferred, self.report)
        if best is None or sign * untrained[best] < self._score(preferred):
            return limit
        return f"{limit}; {best}, which needs no training, has {untrained[best]:.4f}"

    def _score(self, report: Report) -> float:
        value = report.metrics[self.task.metric.name]
        return value if self.task.metric.higher_is_better else -value


def paired_interval(report: Report, other: Report) -> tuple[float, float] | None:
    """Bootstrap interval of the difference of two main metrics, with the same rows resampled."""
    return mean_interval([report], [other])


def mean_interval(
    reports: Sequence[Report], others: Sequence[Report]
) -> tuple[float, float] | None:
    """The same of the means over several reports each, such as those of seeds."""
    rows = {len(report.scores) for report in (*reports, *others)}
    if len(rows) > 1 or rows == {0}:
        return None
    values = reports[0].resampled([*reports, *others])
    n = len(reports)
    return percentile_interval(values[:, :n].mean(1) - values[:, n:].mean(1))


def mcnemar(report: Report, other: Report) -> float | None:
    """Two-sided p of the exact test of McNemar (1947): whether of the rows that one of two models
    alone has right either has more than chance gives. None where rows are not right or wrong."""
    from scipy.stats import binomtest

    a, b = report.scores, other.scores
    answered = len(a) == len(b) and report.weights is None and other.weights is None
    if not answered or not np.isin(np.concatenate([a, b]), (0, 1)).all():
        return None
    only_a, only_b = int((a > b).sum()), int((b > a).sum())
    return float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0
