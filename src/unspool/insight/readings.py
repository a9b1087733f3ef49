"""The readings of all tasks: a task, its model and a text in, a `Reading` out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from unspool.insight.label_readings import ClassifyReading, TagReading
from unspool.insight.reading import Reading, nothing
from unspool.insight.token_readings import (
    ElmoReading,
    GenerateReading,
    PretrainReading,
    TranslateReading,
)
from unspool.tasks import Task

READINGS: dict[str, Any] = {
    "classify": ClassifyReading,
    "tag": TagReading,
    "generate": GenerateReading,
    "pretrain": PretrainReading,
    "translate": TranslateReading,
    "elmo": ElmoReading,
}


def read(task: Task, model: nn.Module, text: str | Sequence[str]) -> Reading:
    """The reading of a text; for `tag` also of a list of words."""
    if not (text.strip() if isinstance(text, str) else text):
        raise nothing()
    return READINGS[task.name](task, model, text)
