"""How well a model knows where the pen goes: nats a point, of drawings that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from unspool.tasks.metrics import bootstrap_mean
from unspool.tasks.task import Report


class HandwriteReport(Report):
    """Negative log-likelihood of the next point, a density in standard deviations of the moves."""

    def __init__(self, move: np.ndarray, pen: np.ndarray, points: np.ndarray) -> None:
        """(N,) nats of the moves and of the pen of each drawing, and its points."""
        seen = points > 0
        move, pen, points = move[seen], pen[seen], points[seen]
        self.drawings, self.points = len(points), int(points.sum())
        self.scores, self.weights = (move + pen) / points, points
        self.interval = bootstrap_mean(self.scores, points) if len(points) else (np.nan, np.nan)
        total = max(1, self.points)
        self.metrics = {
            "nll": float((move + pen).sum() / total),
            "move_nll": float(move.sum() / total),
            "pen_nll": float(pen.sum() / total),
        }
        self.metrics["loss"] = self.metrics["nll"]

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "handwrite",
            "drawings": self.drawings,
            "points": self.points,
            **self.metrics,
            "nll_interval": list(self.interval),
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        m = self.metrics
        return [
            f"{self.points:,} points of {self.drawings:,} drawings, each predicted from those"
            " before it",
            f"nll   {m['nll']:.4f} nats a point, moves in standard deviations   95 % interval"
            f" {low:.4f} to {high:.4f} (bootstrap over drawings)",
            f"      of the move {m['move_nll']:.4f}, of the pen {m['pen_nll']:.4f}",
        ]
