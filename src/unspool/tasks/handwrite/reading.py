"""One drawing as a model of handwriting reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unspool.nn.models.handwriting import Drawings
from unspool.tasks.handwrite.answer import END
from unspool.tasks.reading import AnswerText
from unspool.tasks.series_readings import SeriesInput


class HandwriteReading(SeriesInput):
    """Whether the pen is lifted after the point that follows each; reasons are given for that."""

    def __init__(self, task: Any, model: Any, item: Any, vectors: np.ndarray | None = None) -> None:
        super().__init__(task, model, item, vectors)
        self.words: Any = None
        text = getattr(self.item, "text", "")
        if task.conditional:
            self.words = task.text_ids(text, "the drawing")
            self.written = [*text, END]

    def default_step(self) -> int:
        return max(0, len(self.asked) - 2)  # after the last point nothing follows

    def drawings(self, readings: Sequence[Any]) -> Drawings:
        values, lengths = self.batch(readings)
        text = None
        if self.words is not None:
            rows = torch.zeros(len(readings), dtype=torch.int64)
            text = self.words.select(rows)
        return Drawings(values, lengths, text)

    def together(self, readings: Sequence[Any]) -> Tensor:
        up = self.model.mixture(self.drawings(readings)).up
        return torch.stack([torch.zeros_like(up), up], -1)

    def answer_text(self, scores: Tensor) -> AnswerText:
        """How probable the whole drawing is."""
        drawings = self.drawings([self])
        losses = self.model.losses(drawings)
        count = max(1, int(drawings.lengths[0]) - 1)
        loss = float((losses.move + losses.pen).sum()) / count
        return AnswerText("", f"The model gives the {count} moves of it {loss:.3f} nats a point.")

    def chosen(self, scores: Tensor) -> list[int]:
        return scores.argmax(-1).tolist()

    def name(self, answer: int) -> str:
        return ("pen down", "pen up")[answer]

    def removable(self, step: int) -> list[int]:
        return [t for t in super().removable(step) if t <= step]
