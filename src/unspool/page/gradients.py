"""The answers `gradients` and `states` of the page: how far back in time a recurrent model learns.

In: a text, or for how many steps. Out: what is left of a gradient at each distance from the output,
for the cell of the run and for fresh ones; and how much an answer to the text depends on the hidden
state at each token.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from unspool.insight.learnt import flow_of_run, state_gradients
from unspool.insight.saliency import answer_of, step_of
from unspool.insight.trace import direction_of, layer_of
from unspool.page.query import Query
from unspool.page.subject import Subject

FURTHEST = 1000  # steps before the output


def gradients(subject: Subject, query: Query) -> dict[str, Any]:
    """Of several cells that read the text, or without one random tokens over `distance` steps."""
    reading = subject.read(query["text"]) if query["text"] else None
    distance = query.number("distance", least=1, most=FURTHEST)
    found = flow_of_run(subject.task, subject.trained, reading, distance=distance).to_json()
    for flow in found["flows"]:
        flow["norms"] = figures(flow["norms"])
        flow["parts"] = {name: figures(norms) for name, norms in flow["parts"].items()}
        flow["largest_singular_values"] = figures(flow["largest_singular_values"])
    return found


def states(subject: Subject, query: Query) -> dict[str, Any]:
    """‖∂F/∂h_t‖ at each token, layer and direction; F: the log odds of what the model answers."""
    model, reading = subject.trained, subject.read(query["text"])
    step = step_of(reading, query.number_or_none("step"))
    with torch.no_grad():
        scores = reading.run()[0]
    answer = answer_of(reading, scores, step, query["answer"] or None)
    return {
        "tokens": reading.tokens,
        "whole": reading.whole,
        "asked": list(reading.asked),
        "step": step,
        "answer": reading.name(answer),
        "probability": float(reading.probabilities(scores)[step, answer]),
        "states": [
            {
                "layer": layer_of(own.path),
                "direction": direction_of(own.path),
                "norms": figures(own.norms),
            }
            for own in state_gradients(reading, model, step, answer)
        ],
    }


def figures(values: Iterable[float]) -> list[float]:
    """Four figures of each."""
    return [float(f"{value:.4g}") for value in values]
