"""Answers of the page about series: what is drawn of one, attention over time, a forecast.

In: a `Subject` and a query. Out: objects for JSON. Steps are those of the series from 0 on; what a
network reads as one step, a patch of a forecast, says which of them it is made of (`spans`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from unspool.data.read.recording import numbers
from unspool.errors import ConfigError, choose
from unspool.insight.saliency import Saliency, explain
from unspool.insight.trace import TOP, Recorded, choices, rounded, trace_reading
from unspool.page.subject import Query, Subject
from unspool.tasks.abilities import LooksAhead
from unspool.tasks.forecast.conformal import COVERAGES
from unspool.tasks.reading import Reading

CELLS = 160  # rows and columns of a matrix of weights, at most
SAVED = 12  # steps ahead whose reasons a saved page has
ATTENTION = ("self_attention", "causal_attention", "pooling")


def shown_input(subject: Subject, query: Query) -> dict[str, Any]:
    """Curves of a series; where its steps have labels, those of the data and of the model, which
    reads it up to step `read`."""
    if subject.task.reads_tokens:
        raise ConfigError("the model reads texts, of which nothing is drawn")
    field, known = subject.task.input_field, subject.known(query["text"])
    reading = subject.read(query["text"])
    bands = []
    if reading.answer.per_token:
        with torch.no_grad():
            answers = reading.answer.chosen(reading.run()[0])
        if known is not None and known.steps:
            bands.append({"name": "data", "labels": list(known.steps)})
        labels = [reading.answer.name(label) for label in answers]
        bands.append({"name": "model", "labels": labels, "spans": reading.input.token_spans})
    return {
        "shown_as": field.form.display.form,
        **field.picture(subject.item(query["text"])),
        "bands": bands,
        "read": reading.input.token_spans[-1][1],
    }


def weights(subject: Subject, query: Query) -> dict[str, Any]:
    """Every head's weights of what reads the series, who looks (rows) at whom (columns).

    Of a long series some steps are one row and one column: the mean of the rows, and the sum over
    the columns, so that a row still adds up to 1. `edges` are the steps between them.
    """
    reading = subject.read(query["text"])
    trace = trace_reading(reading, subject.task, subject.trained)
    # A class token is not a step.
    spans = [span for span in reading.input.network_spans if span[1] > 0]
    first = len(reading.input.network_spans) - len(spans)
    size = -(-len(spans) // CELLS)
    groups = [(at, min(at + size, len(spans))) for at in range(0, len(spans), size)]
    return {
        "edges": [spans[at][0] for at, _ in groups] + [spans[-1][1]],
        "each": size,
        "reads": spans[0][1] - spans[0][0] if len(spans) < 2 else spans[1][1] - spans[1][0],
        "before": list(trace.tokens[:first]),
        "kinds": [
            {
                "kind": kind,
                "layers": [
                    {"layer": array.layer or 1, "heads": rounded(pooled(array, first, groups))}
                    for array in layers
                ],
            }
            for kind in ATTENTION
            if (layers := [array for array in trace.find(kind) if array.part == "encoder"])
        ],
    }


def pooled(array: Recorded, first: int, groups: list[tuple[int, int]]) -> np.ndarray:
    """(heads, T, T) or (T,) -> (heads, rows, columns): sums of columns, means of rows"""
    weights = array.values if array.values.ndim == 3 else array.values[None, None]
    starts = [first + at for at, _ in groups]
    summed = np.add.reduceat(weights, starts, axis=2)
    if summed.shape[1] == 1:
        return summed
    sizes = np.array([stop - at for at, stop in groups])[:, None]
    return np.add.reduceat(summed, starts, axis=1) / sizes


def chosen(subject: Subject, query: Query) -> dict[str, Any]:
    """Answer of the model at each step, or to all, with its alternatives."""
    reading = subject.read(query["text"])
    with torch.no_grad():
        answers = choices(reading, reading.run()[0], top=TOP)
    return {
        "choices": [
            {**choice._asdict(), "alternatives": [a._asdict() for a in choice.alternatives]}
            for choice in answers
        ],
        "step": reading.answer.default_step(),
        "spans": reading.input.token_spans if reading.answer.per_token else [],
        "read": len(reading.input.tokens),
        "whole": reading.input.full_length,
    }


def ahead(subject: Subject, query: Query) -> dict[str, Any]:
    """The past, what the model expects with which interval, and what came, where that is known;
    `target` counts from 0."""
    task: Any = forecasting(subject)
    item, known = subject.item(query["text"]), subject.known(query["text"])
    field = task.input_field
    level = float(choose("coverage", query["coverage"], [str(share) for share in COVERAGES]))
    target = query.number("target", most=len(field.targets) - 1)
    (forecast,) = task.predict(subject.trained, [item], task.options(coverage=level))
    last = field.last(item)
    return {
        "targets": field.targets,
        "target": target,
        "level": level,
        "levels": list(COVERAGES),
        "past": numbers(item.values[:last, field.target_channels[target]]),
        "steps": [*item.steps()[:last], *forecast.steps],
        "read": max(0, last - field.length),
        "center": numbers(forecast.center[:, target]),
        "low": limits(forecast.low[:, target]),
        "high": limits(forecast.high[:, target]),
        "came": [] if known is None else [step[target] for step in known.steps],
        "saved": saved_steps(field.horizon),
    }


def forecasting(subject: Subject) -> Any:
    """Its task, of which a continuation can be asked."""
    if not isinstance(subject.task, LooksAhead):
        raise ConfigError("the model continues no series", where=subject.path)
    return subject.task


def saved_steps(horizon: int) -> list[int]:
    """The steps ahead, from 1, whose reasons a saved page has."""
    return sorted(set(np.linspace(1, horizon, min(horizon, SAVED)).round().astype(int).tolist()))


def limits(values: np.ndarray) -> list[float | None]:
    """None where an interval has no end."""
    return numbers(np.where(np.isfinite(values), values, np.nan))


def reasons(subject: Subject, query: Query) -> dict[str, Any]:
    """Contribution of each past step to the value at a step ahead, `step` from 1."""
    field = forecasting(subject).input_field
    target = query.number("target", most=len(field.targets) - 1)
    step = query.number("step", least=1, most=field.horizon)
    reading: Any = subject.read(query["text"])
    reading = reading.with_input(reading.input.of_target(target))
    return over_time(reading, explain(reading, step=step - 1, deletions=False))


def over_time(reading: Reading, explained: Saliency) -> dict[str, Any]:
    """Contributions with the steps of the series that they are of; without tokens before it, and
    without channels that contribute nothing."""
    before = max(0, -reading.input.first_step)
    parts, source = explained.parts, reading.task.input_field.source
    if parts is not None:
        explained = explained._replace(elements=source.curve_names(explained.elements))
        parts = source.curve_values(parts)
    kept = [] if parts is None else np.flatnonzero(np.abs(parts).max(0) > 0).tolist()
    return {
        "answer": explained.answer,
        "answer_value": explained.answer_value,
        "asked": explained.asked,
        "measure": explained.measure,
        "method": explained.method,
        "first": max(0, reading.input.first_step),
        "values": explained.values[before:].tolist(),
        "spans": reading.input.token_spans[before:],
        "channels": [
            {"name": explained.elements[i], "values": parts[before:, i].tolist()}
            for i in kept
            if parts is not None
        ],
        "deletions": [
            {**deletion._asdict(), "step": deletion.token + reading.input.first_step}
            for deletion in explained.deletions
        ],
        "start": explained.start,
        "end": explained.end,
        "total": explained.total,
        "gap": explained.gap,
        "unit": explained.unit,
        "points": explained.steps,
        "step": explained.step,
    }
