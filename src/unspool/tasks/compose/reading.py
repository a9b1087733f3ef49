"""One piece as a model of music reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unspool.nn.models.causal import TransformerCausal
from unspool.tasks.reading import AnswerText
from unspool.tasks.series_readings import SeriesInput
from unspool.tasks.token_readings import GenerateReading
from unspool.text.vocab import BEGIN_ID


class FramesReading(SeriesInput):
    """At each step the keys of the next one; reasons are given for the score of a key, which is its
    log odds."""

    def __init__(self, task: Any, model: Any, item: Any, vectors: np.ndarray | None = None) -> None:
        super().__init__(task, model, item, vectors)
        if isinstance(model, TransformerCausal):
            self.vectors = self.vectors[: model.length]
            self.tokens = self.tokens[: model.length]

    def together(self, readings: Sequence[Any]) -> Tensor:
        return self.model(self.batch(readings)[0]).logits

    def chosen(self, scores: Tensor) -> list[int]:
        """The most probable key of the next step."""
        return scores.argmax(-1).tolist()

    def values(self, scores: Tensor) -> Tensor:
        return scores.float().sigmoid()

    def explained(self, scores: Tensor, step: int, answer: int) -> Tensor:
        return scores[:, step, answer].double()

    def name(self, answer: int) -> str:
        return self.task.input_field.channels[answer]

    def answer_text(self, scores: Tensor) -> AnswerText:
        """How probable the whole piece is, and what follows it."""
        next_keys = torch.sigmoid(scores[-1])
        likely = list(next_keys.argsort(descending=True).tolist()[:4])
        names = ", ".join(f"{self.name(i)} {float(next_keys[i]):.2f}" for i in likely)
        if len(self.vectors) < 2:
            return AnswerText("", f"next: {names}")
        targets = torch.from_numpy(self.vectors[1:]).to(scores.dtype)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            scores[:-1], targets, reduction="sum"
        )
        frames = len(self.vectors) - 1
        return AnswerText("", f"{float(loss) / frames:.3f} nats a frame; next: {names}")

    def removable(self, step: int) -> list[int]:
        return [t for t in super().removable(step) if t <= step]


class EventsReading(GenerateReading):
    """At each event the one that follows."""

    def __init__(self, task: Any, model: Any, item: Any, ids: np.ndarray | None = None) -> None:
        text = task.input_field.text(item)
        if ids is None:
            ids = np.array([BEGIN_ID, *task.tokenizer.ids(text)])
        super().__init__(task, model, text, ids)

    def without(self, token: int) -> EventsReading:
        return EventsReading(self.task, self.model, self.text, np.delete(self.ids, token))

    def blank(self) -> EventsReading:
        return EventsReading(self.task, self.model, self.text, self.unknowns(self.ids))
