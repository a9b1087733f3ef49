"""The answer `run` of the page: what it is of, and which views there are."""

from __future__ import annotations

from typing import Any

from unspool import __version__
from unspool.page.query import Query
from unspool.page.subject import Subject
from unspool.page.views import views_of
from unspool.tasks.reading import longest


def about(subject: Subject, query: Query) -> dict[str, Any]:
    task, model = subject.task, subject.model
    return {
        "version": __version__,
        "name": subject.path.name,
        "task": task.name,
        "model": task.config.model_name,
        "parameters": None if model is None else sum(p.numel() for p in model.parameters()),
        "labels": task.labels,
        "views": views_of(subject),
        "example": subject.example,
        "longest": 0 if model is None else longest(model),
        "saved": False,
    }
