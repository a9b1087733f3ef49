"""The result of a run and those of simple models, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unspool.tasks import Report, Task


@dataclass(frozen=True)
class Comparison:
    """The report of a run and those of its baselines, by name, on the same rows."""

    task: Task
    report: Report
    baselines: Mapping[str, Report]

    def to_json(self) -> dict[str, Any]:
        """Of the baselines."""
        metric = self.task.metric
        return {
            name: {**report.metrics, f"{metric}_interval": list(report.interval)}
            for name, report in self.baselines.items()
        }

    def lines(self) -> list[str]:
        metric, higher = self.task.metric, self.task.higher_is_better
        reports = {self.task.config.model_name: self.report, **self.baselines}
        best = sorted(reports, key=lambda name: reports[name].metrics[metric], reverse=higher)
        width = max(map(len, ("with baselines", *reports)))
        lines = [f"{'with baselines':<{width}}  {metric:>10}   95 % interval"]
        for name in best:
            low, high = reports[name].interval
            value = reports[name].metrics[metric]
            lines.append(f"{name:<{width}}  {value:10.4f}   {low:.4f} to {high:.4f}")
        return lines
