"""How well a model knows what follows in music: nats a step, of pieces that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from unspool.tasks.metrics import bootstrap_mean, perplexity
from unspool.tasks.task import Report


class ComposeReport(Report):
    """Negative log-likelihood a step of the grid."""

    def __init__(
        self, losses: np.ndarray, steps: np.ndarray, *, events: np.ndarray | None = None
    ) -> None:
        """(N,) of each piece: its loss, the steps that it is for, and of a model of events how
        many were predicted."""
        seen = steps > 0
        losses, steps = losses[seen], steps[seen]
        self.pieces, self.steps = len(steps), int(steps.sum())
        self.scores, self.weights = losses / steps, steps
        self.interval = bootstrap_mean(self.scores, steps) if len(steps) else (np.nan, np.nan)
        nll = float(losses.sum() / max(1, self.steps))
        self.metrics = {"nll": nll, "loss": nll}
        self.events = None if events is None else int(events[seen].sum())
        if self.events is not None:
            self.metrics["loss"] = float(losses.sum() / max(1, self.events))
            self.metrics["perplexity"] = perplexity(self.metrics["loss"])

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "compose",
            "pieces": self.pieces,
            "steps": self.steps,
            **({} if self.events is None else {"events": self.events}),
            **self.metrics,
            "nll_interval": list(self.interval),
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        if self.events is None:
            what = f"{self.steps:,} frames of {self.pieces:,} pieces, each but the first of a piece"
            unit = "nats a frame, the sum over 88 keys"
        else:
            what = f"{self.events:,} events in {self.steps:,} steps of {self.pieces:,} pieces, each"
            unit = "nats a step"
        lines = [
            f"{what} predicted from those before it",
            f"nll         {self.metrics['nll']:.4f} {unit}   95 % interval {low:.4f} to {high:.4f}"
            " (bootstrap over pieces)",
        ]
        if self.events is not None:
            lines.append(f"perplexity  {self.metrics['perplexity']:.3f} an event")
        return lines
