"""The summary of a model that has not been trained, from its settings alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.api.settings import make_config
from unspool.insight.summary import Summary, summary_of
from unspool.tasks import TASKS, build_model


def summarise_settings(
    task: str | None, model: str | None, *, settings: Mapping[str, Any], classes: int
) -> Summary:
    """Of the model that `settings` describe, with a full vocabulary; no task: the first."""
    config = make_config(task or next(iter(TASKS)), model, settings=settings)
    made = TASKS[config.task].invented(config, classes=classes)
    return summary_of(made, build_model(made))
