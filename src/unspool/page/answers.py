"""Everything that the page shows, by name: functions of a subject and a query.

In: a `Subject`, the name of an answer, its parameters. Out: an object for JSON. The server gives
these to the page one by one; a saved page has them inside.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from unspool.errors import choose
from unspool.insight.saliency import explain
from unspool.insight.trace import trace_reading
from unspool.page.about import about
from unspool.page.filters import ngrams
from unspool.page.gradients import gradients, states
from unspool.page.neighbours import neighbours
from unspool.page.positions import positions
from unspool.page.query import Query
from unspool.page.steps import steps
from unspool.page.subject import Subject
from unspool.page.training import training

Answer = Callable[[Subject, Query], dict[str, Any]]


def trace(subject: Subject, query: Query) -> dict[str, Any]:
    """All that happens while the text is read: docs/trace.md"""
    reading = subject.read(query["text"])
    recorded = trace_reading(reading, subject.task, subject.trained)
    return recorded.to_json(first=query.number("first"))


def saliency(subject: Subject, query: Query) -> dict[str, Any]:
    """What each token contributes to an answer, `step` counted from 0; "": as a reading does."""
    return explain(
        subject.read(query["text"]),
        step=query.number_or_none("step"),
        answer=query["answer"] or None,
        method=query["method"],
    ).to_json()


ANSWERS: dict[str, Answer] = {
    "run": about,
    "trace": trace,
    "saliency": saliency,
    "gradients": gradients,
    "states": states,
    "steps": steps,
    "ngrams": ngrams,
    "neighbours": neighbours,
    "positions": positions,
    "training": training,
}

# The parameters of each, with what stands for one that is left out.
DEFAULTS: dict[str, dict[str, str]] = {
    "run": {},
    "trace": {"text": "", "first": "0"},
    "saliency": {"text": "", "step": "", "answer": "", "method": "integrated"},
    "gradients": {"text": "", "distance": "100"},
    "states": {"text": "", "step": "", "answer": ""},
    "steps": {
        "text": "",
        "part": "encoder",
        "layer": "1",
        "direction": "forwards",
        "first": "0",
    },
    "ngrams": {"text": ""},
    "neighbours": {"text": "", "word": "", "side": "", "top": "12"},
    "positions": {"length": "64"},
    "training": {},
}


def query_of(name: str, given: Mapping[str, str]) -> Query:
    """The whole query for an answer; its name or parameters may be unknown."""
    choose("answer", name, ANSWERS)
    return Query.of(name, given, DEFAULTS[name])


def answer(subject: Subject, name: str, given: Mapping[str, str]) -> dict[str, Any]:
    query = query_of(name, given)
    return ANSWERS[name](subject, query)


def encoded(value: Any) -> bytes:
    """As JSON, in which what is not finite is null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return json.dumps(finite(value), ensure_ascii=False, allow_nan=False).encode()


def finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and value - value != 0 else value
