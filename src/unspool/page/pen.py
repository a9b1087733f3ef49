"""The answer `write` of the page: what a model of handwriting writes, point by point.

In: a `Subject` and a query. Out: an object for JSON.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from unspool.errors import ConfigError
from unspool.insight.trace import rounded
from unspool.page.subject import Query, Subject
from unspool.tasks.handwrite.answer import END, Handwritten

LONGEST = 1500  # points


def draws(subject: Subject) -> bool:
    """Whether the model continues drawings."""
    return subject.model is not None and subject.task.answer is Handwritten


def write(subject: Subject, query: Query) -> dict[str, Any]:
    """A text that is written, or a drawing that nobody has asked for: (T) points with the pen up
    after them or not, and of a text the weight of each character as each was written."""
    task: Any = subject.task
    if not draws(subject):
        raise ConfigError("the model writes nothing by hand", where=subject.path)
    words = query["words"]
    if task.conditional and not words.strip():
        raise ConfigError("there is no text to write", remedy="give some")
    options = task.options(
        text=words or None,
        bias=decimal(query, "bias"),
        temperature=decimal(query, "temperature"),
        seed=query.number("seed", most=10**9),
        length=query.number("length", least=1, most=LONGEST),
    )
    (found,) = task.predict(subject.trained, [[]], options)
    values = found.strokes.values.astype(np.float64)
    xy = np.cumsum(values[:, :2], 0)
    weights = found.alignment
    return {
        "text": found.text,
        "seed": found.seed,
        "ended": found.ended,
        "x": rounded(xy[:, 0]),
        "y": rounded(xy[:, 1]),
        "up": (values[:, 2] > 0.5).astype(int).tolist(),
        "characters": [] if weights is None else [*found.text, END],
        "weights": [] if weights is None else rounded(weights.T),
        "svg": "\n".join(found.svg()),
    }


def decimal(query: Query, name: str) -> float:
    try:
        found = float(query[name])
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ConfigError(f"{name} is a number", got=query[name], remedy="give one")
    return found


def example_words(subject: Subject) -> str:
    """A text to begin with: that of an example."""
    task: Any = subject.task
    if not draws(subject) or not subject.examples or not task.conditional:
        return ""
    return subject.item("1").text
