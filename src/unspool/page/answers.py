"""Everything that the page shows, by name: functions of a subject and a query.

In: a `Subject`, the name of an answer, its parameters. Out: an object for JSON. The server gives
these to the page one by one; a saved page has them inside.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unspool import __version__
from unspool.errors import ConfigError, choose
from unspool.insight.filters import answering, first_convolution
from unspool.insight.learnt import flow_of_run, state_gradients
from unspool.insight.saliency import answer_of, explain, step_of
from unspool.insight.trace import direction_of, layer_of, rounded, trace_reading
from unspool.nn.models.story import MemoryHops, QueryReduction
from unspool.nn.positions import Learned, Rotary, Sinusoidal
from unspool.page.media import continuation, example_words, picture, plays, sound, transcript, write
from unspool.page.neighbours import neighbours
from unspool.page.series import ahead, chosen, over_time, reasons, shown_input, weights
from unspool.page.steps import starts_of, steps
from unspool.page.subject import Query, Subject
from unspool.page.views import explains, taps_of, views_of
from unspool.tasks.reading import is_marked, longest
from unspool.training.progress import read_log

RECORDS = 2000  # of a log, at most
SILENCE = 60.0  # seconds without a new record after which a run is not thought to be running
WIDTH = 64  # of the vectors for a model without positions
LONGEST = 512  # positions
FURTHEST = 1000  # steps before the output
KINDS: dict[type[Any], str] = {
    Sinusoidal: "sinusoidal",
    Learned: "learned",
    Rotary: "rotary",
    MemoryHops: "ages",
}

Answer = Callable[[Subject, Query], dict[str, Any]]


def about(subject: Subject, query: Query) -> dict[str, Any]:
    """Subject of the page, and its views."""
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
        "input": {**subject.input(), "plays": plays(subject), "words": example_words(subject)},
        "answers": explains(subject),
        "writes": getattr(task.answer, "noun", "answer"),
        "reduces": reduces(subject),
        "copies": bool(getattr(getattr(model, "decoder", None), "copying", False)),
        "longest": 0 if model is None else longest(model),
        "saved": False,
    }


@torch.no_grad()
def answer_text(subject: Subject, query: Query) -> dict[str, Any]:
    """Answer of the model to the text as a whole; its truth, where it is one of the run's examples;
    and its words that are not in the vocabulary."""
    reading = subject.read(query["text"])
    known = subject.known(query["text"])
    return {
        **reading.answer.summary(reading.run()[0])._asdict(),
        "truth": "" if known is None else known.truth,
        "unknown": list(dict.fromkeys(filter(is_marked, reading.input.all_tokens))),
    }


def reduces(subject: Subject) -> bool:
    """Return whether the attention view shows the final shares of query reduction."""
    recorded = taps_of(subject, "memory.alignment")
    return bool(recorded) and isinstance(getattr(subject.model, "memory", None), QueryReduction)


def ngrams(subject: Subject, query: Query) -> dict[str, Any]:
    """N-grams that activate the filters of a CNN in the text, and in the corpus where the page was
    opened with one."""
    model = subject.trained
    convolution = first_convolution(model)
    if not subject.task.reads_tokens:
        raise ConfigError("the filters of this model read series, which have no n-grams")
    reading = subject.read(query["text"])
    recorded = trace_reading(reading, subject.task, model)
    return {
        "tokens": recorded.tokens,
        "whole": recorded.whole,
        "choices": [
            {k: v for k, v in c._asdict().items() if k != "alternatives"} for c in recorded.choices
        ],
        "step": recorded.step,
        "filters": convolution.size,
        "widths": list(convolution.widths),
        "layers": subject.task.config.model.layers,
        "found": [each._asdict() for each in answering(model, reading, recorded)],
        "corpus": None if subject.table is None else subject.table.to_json()["filters"],
    }


@torch.no_grad()
def positions(subject: Subject, query: Query) -> dict[str, Any]:
    """Positional encoding: a vector for each of the first positions.

    Of rotary positions, which are no vectors but turn them: what becomes of (1, 0, 1, 0, ...). A
    model without positions has the sinusoidal ones for its answer, marked as not its own. Of a
    memory of sentences: the vectors of ages, which are added where it is searched.
    """
    length = query.number("length", least=2, most=LONGEST)
    encoding = next((m for m in subject.trained.modules() if isinstance(m, tuple(KINDS))), None)
    layer: Any = Sinusoidal(WIDTH) if encoding is None else encoding
    values = vectors(layer, length)
    none = "sentences" if subject.task.input_field.form.step_noun == "sentence" else "none"
    return {
        "kind": none if encoding is None else KINDS[type(encoding)],
        "limit": layer.length if isinstance(layer, Learned) else None,
        "values": rounded(values.numpy()),
    }


def vectors(layer: Sinusoidal | Learned | Rotary | MemoryHops, length: int) -> Tensor:
    """(T, E)"""
    if isinstance(layer, Learned):
        return layer.P[:length]
    if isinstance(layer, MemoryHops):
        return layer.ages[0, :length]
    if isinstance(layer, Rotary):
        return layer(torch.tensor([1.0, 0.0]).repeat(length, layer.width // 2))
    return layer.encoding(length, like=torch.zeros(1))


def gradients(subject: Subject, query: Query) -> dict[str, Any]:
    """Gradient norm at each distance from the output, for the cell of the run and for
    fresh ones, all of which read the text, or without one random tokens over `distance` steps."""
    reading = subject.read(query["text"]) if query["text"] else None
    distance = query.number("distance", least=1, most=FURTHEST)
    result = flow_of_run(subject.task, subject.trained, reading, distance=distance).to_json()
    for flow in result["flows"]:
        flow["norms"] = figures(flow["norms"])
        flow["parts"] = {name: figures(norms) for name, norms in flow["parts"].items()}
        flow["largest_singular_values"] = figures(flow["largest_singular_values"])
    return result


def states(subject: Subject, query: Query) -> dict[str, Any]:
    """‖∂F/∂h_t‖ at each token, layer and direction; F: the log odds of what the model answers."""
    model, reading = subject.trained, subject.read(query["text"])
    step = step_of(reading, query.number_or_none("step"))
    with torch.no_grad():
        scores = reading.run()[0]
    answer = answer_of(reading, scores, step, query["answer"] or None)
    return {
        "tokens": list(reading.input.network_tokens),
        "spans": reading.input.network_spans,
        "whole": reading.input.full_length,
        "starts": starts_of(reading),
        "asked": list(reading.answer.steps),
        "step": step,
        "answer": reading.answer.name(answer),
        "measure": reading.answer.measure,
        "answer_value": float(reading.answer.values(scores)[step, answer]),
        "states": [
            {
                "layer": layer_of(state.path),
                "direction": direction_of(state.path),
                "norms": figures(state.norms),
            }
            for state in state_gradients(reading, model, step, answer)
        ],
    }


def figures(values: Iterable[float]) -> list[float]:
    """Four figures of each."""
    return [float(f"{value:.4g}") for value in values]


def trace(subject: Subject, query: Query) -> dict[str, Any]:
    """All that happens while the text is read: docs/trace.md"""
    reading = subject.read(query["text"])
    recorded = trace_reading(reading, subject.task, subject.trained)
    return recorded.to_json(first=query.number("first"))


def saliency(subject: Subject, query: Query) -> dict[str, Any]:
    """Contribution of each token to an answer, `step` counted from 0; "": the reading's default."""
    reading = subject.read(query["text"])
    explained = explain(
        reading,
        step=query.number_or_none("step"),
        answer=query["answer"] or None,
        method=query["method"],
    )
    return explained.to_json() if subject.task.reads_tokens else over_time(reading, explained)


def training(subject: Subject, query: Query) -> dict[str, Any]:
    """Learning curve of a finished or running training: the records of metrics.jsonl, thinned where
    they are many, and whether it still grows."""
    records = read_log(subject.log)
    return {
        "metric": f"valid_{subject.task.metric.name}",
        "higher_is_better": subject.task.metric.higher_is_better,
        "log": thinned(records, RECORDS),
        "records": len(records),
        "running": is_running(subject.path, subject.log),
    }


def thinned(records: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """All validations, and of the other records every n-th, so that there are at most `most`."""
    rare = [r for r in records if "loss" not in r]
    often = [r for r in records if "loss" in r]
    room = max(1, most - len(rare))
    every = -(-len(often) // room) or 1
    kept = {id(r) for r in [*rare[-most:], *often[::-1][::every]]}
    return [r for r in records if id(r) in kept]


def is_running(path: Path, log: Path) -> bool:
    """Return whether the log is newer than the card, written at the end, and still grows."""
    if not log.exists():
        return False
    changed, card = log.stat().st_mtime, path / "README.md"
    finished = card.exists() and card.stat().st_mtime >= changed
    return not finished and time.time() - changed < SILENCE


ANSWERS: dict[str, Answer] = {
    "run": about,
    "answer": answer_text,
    "input": shown_input,
    "weights": weights,
    "choices": chosen,
    "sound": sound,
    "transcript": transcript,
    "picture": picture,
    "write": write,
    "continuation": continuation,
    "ahead": ahead,
    "reasons": reasons,
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
    "answer": {"text": ""},
    "input": {"text": ""},
    "weights": {"text": ""},
    "choices": {"text": ""},
    "sound": {"text": ""},
    "transcript": {"text": ""},
    "picture": {"text": "", "step": "", "answer": "", "layer": "1"},
    "write": {"words": "", "bias": "1", "temperature": "1", "seed": "1", "length": "700"},
    "continuation": {
        "text": "",
        "given": "16",
        "length": "64",
        "temperature": "1",
        "seed": "1",
        "layer": "1",
    },
    "ahead": {"text": "", "target": "0", "coverage": "0.95"},
    "reasons": {"text": "", "target": "0", "step": "1"},
    "trace": {"text": "", "first": "0"},
    "saliency": {"text": "", "step": "", "answer": "", "method": "integrated"},
    "gradients": {"text": "", "distance": "100"},
    "states": {"text": "", "step": "", "answer": ""},
    "steps": {"text": "", "part": "", "layer": "1", "direction": "forwards", "first": "0"},
    "ngrams": {"text": ""},
    "neighbours": {"text": "", "word": "", "side": "", "top": "12"},
    "positions": {"length": "64"},
    "training": {},
}


def query_of(name: str, parameters: Mapping[str, str]) -> Query:
    """The whole query for an answer; its name or parameters may be unknown."""
    choose("answer", name, ANSWERS)
    return Query.of(name, parameters, DEFAULTS[name])


def answer(subject: Subject, name: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    query = query_of(name, parameters)
    return ANSWERS[name](subject, query)


def encoded(value: Any) -> bytes:
    """JSON in which numbers that are not finite are null."""
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
