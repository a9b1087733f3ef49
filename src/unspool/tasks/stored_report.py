"""A report that was made before, from the file that keeps it: figures and lines, no examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unspool.errors import RunError
from unspool.io.files import AGAIN
from unspool.tasks.task import Report

OWN = ("part", "metrics", "interval", "lines")


def stored(report: Report) -> dict[str, Any]:
    """What is kept of a report."""
    return {
        "part": report.part,
        **report.to_json(),
        "metrics": report.metrics,
        "interval": list(report.interval),
        "lines": report.lines(),
    }


class StoredReport(Report):
    """The report in evaluation.json on a `part`; files of older runs have no lines."""

    def __init__(self, content: Any, path: Path) -> None:
        fields = content if isinstance(content, dict) else {}
        figures = {k: v for k, v in fields.items() if isinstance(v, float)}
        metrics, interval = fields.get("metrics", figures), fields.get("interval", [])
        lines = fields.get("lines", [f"{name}  {value:.4f}" for name, value in figures.items()])
        if not (isinstance(metrics, dict) and isinstance(interval, list) and metrics):
            raise RunError("damaged: no figures in it", where=path, remedy=AGAIN)
        self.part = fields.get("part")
        self.metrics = metrics
        self.interval = tuple(interval) if len(interval) == 2 else (float("nan"),) * 2
        self.scores = np.empty(0)
        self._json = {key: value for key, value in fields.items() if key not in OWN}
        self._lines = [str(line) for line in lines]

    def to_json(self) -> dict[str, Any]:
        return self._json

    def lines(self) -> list[str]:
        return self._lines
