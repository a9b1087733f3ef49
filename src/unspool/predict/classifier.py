"""Labels for texts: an iterable of documents in, one prediction a document out, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from torch import nn

from unspool.tasks.classify import Classify

CHUNK = 4096  # documents held at once, so that a file of any length streams through


class Prediction(NamedTuple):
    """The likeliest label of one document, and the probability of every label."""

    text: str
    label: str
    probabilities: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "probabilities": self.probabilities, "text": self.text}


def classify(task: Classify, model: nn.Module, texts: Iterable[str]) -> Iterator[Prediction]:
    """Predict in chunks; batching never changes an answer, so order and chunk are free."""
    stream = iter(texts)
    while chunk := list(islice(stream, CHUNK)):
        for text, row in zip(chunk, task.probabilities(model, task.text_part(chunk))):
            chances = {name: float(p) for name, p in zip(task.labels, row)}
            yield Prediction(text, task.labels[int(row.argmax())], chances)
