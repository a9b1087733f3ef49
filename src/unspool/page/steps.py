"""The answer `steps` of the page: what one recurrent layer does with a text, step by step.

In: a text; the part, layer and direction; the first token to show. Out, for a window of tokens and
the units that move most: gates and states, the states before each step, and the terms that the
equations of the cell add up (`terms.py`). All are in the order of the tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unspool.errors import ConfigError
from unspool.insight.plots.recurrence import layers_of
from unspool.insight.trace import Recorded, Trace, is_turned, trace_reading
from unspool.nn.cells import CELLS, GRU, Cell, MinLSTM, cell_options
from unspool.page.subject import Query, Subject
from unspool.page.terms import terms, watched
from unspool.tasks.reading import Reading
from unspool.text.vocab import BEGIN

UNITS, STEPS, LEAST = 128, 256, 32  # shown of a layer at most; and at least so many steps
FEWEST = 8  # units of a long series
NUMBERS = 300_000  # in an answer, about

LETTERS = {
    "input_gate": "i",
    "forget_gate": "f",
    "output_gate": "o",
    "reset_gate": "r",
    "update_gate": "z",
    "candidate": "g",
    "cell_state": "c",
    "hidden_state": "h",
}


def steps(subject: Subject, query: Query) -> dict[str, Any]:
    model, reading = subject.trained, subject.read(query["text"])
    with watched(model) as inputs:
        trace = trace_reading(reading, subject.task, model)
    layer = chosen_layer(trace, query)
    path = layer[0].path.rpartition(".")[0]
    cell = model.get_submodule(path)
    assert isinstance(cell, Cell)
    backwards = reads_backwards(path, reading)
    starts = starts_of(reading) if layer[0].part == "encoder" else [0]
    u, before = in_order(inputs[path], backwards, starts)
    passed = {array.kind: torch.from_numpy(array.values.copy()) for array in layer}
    added = terms(cell, u, before, passed)

    moves = layer[-1].values.std(0)
    each = len(layer) + len(before) + 3 * len(added)  # numbers of a unit at a step
    if subject.task.reads_tokens:
        units = np.sort(np.argsort(-moves, kind="stable")[:UNITS])
        fits = NUMBERS // (each * len(units))
        size = min(len(u), max(LEAST, min(STEPS, fits)))
    else:  # of a series all steps are shown, and the fewer units
        size = len(u)
        fits = max(FEWEST, min(UNITS, NUMBERS // (each * size)))
        units = np.sort(np.argsort(-moves, kind="stable")[:fits])
    first = min(query.number("first"), len(u) - size)
    window = slice(first, first + size)

    def cut(values: Tensor | np.ndarray) -> Any:
        """The shown ones of all steps and units, or of all units."""
        values = np.asarray(values)
        chosen = values[units] if values.ndim == 1 else values[window, units]
        return np.round(chosen.astype(float), 5).tolist()

    return {
        "cell": next((n for n, kind in CELLS.items() if type(cell) is kind), type(cell).__name__),
        "options": {
            name: getattr(cell, name) for name in cell_options(type(cell)) if hasattr(cell, name)
        },
        "layers": [layer_key(chosen) for chosen in layers_of(trace)],
        **layer_key(layer),
        "backwards": backwards,
        "starts": starts,
        **tokens_of(trace, layer[0].part, window),
        "spans": reading.input.network_spans[window],
        "steps": len(u),
        "whole": max(len(u), trace.whole if layer[0].part == "encoder" else 0),
        "window": {"first": first, "tokens": size},
        "hidden": cell.hidden,
        "units": units.tolist(),
        "moves": cut(moves),
        "arrays": [
            {"kind": array.kind, "letter": letter(cell, array.kind), "values": cut(array.values)}
            for array in layer
        ],
        "before": {name: cut(state) for name, state in zip(cell.state_names, before)},
        "terms": {
            name: {term: cut(values) for term, values in terms.items()}
            for name, terms in added.items()
        },
        "choices": choices_of(trace, layer[0].part, window),
    }


def chosen_layer(trace: Trace, query: Query) -> list[Recorded]:
    """Recorded arrays of the layer and direction that the query names; without a part, those of the
    encoder, or of the decoder where nothing else is recurrent."""
    layers = {arrays[0].title.partition(":")[0]: arrays for arrays in layers_of(trace)}
    decodes = all(name.startswith("decoder") for name in layers)
    part = query["part"] or ("decoder" if layers and decodes else "encoder")
    wanted = f"{part}, layer {query['layer']}, {query['direction']}"
    if wanted not in layers:
        raise ConfigError(
            "the model has no such recurrent layer",
            got=wanted,
            remedy=f"choose from {'; '.join(layers)}" if layers else "choose another view",
        )
    return layers[wanted]


def layer_key(layer: list[Recorded]) -> dict[str, Any]:
    return {"part": layer[0].part, "layer": layer[0].layer, "direction": layer[0].direction}


def reads_backwards(path: str, reading: Reading) -> bool:
    """Return whether a cell reads the last token first: the second direction of a layer, or the
    first one of a network whose tokens are reversed."""
    return path.endswith(".backwards") != is_turned(path, reading)


def starts_of(reading: Reading) -> list[int]:
    """The tokens at which an encoder begins anew: two texts with attention between them are each
    read by itself."""
    between = getattr(getattr(reading.model, "encoder", None), "between", None)
    return [0] if between is None else [0, int(reading.input.first)]


def in_order(
    calls: list[tuple[Tensor, tuple[Tensor, ...]]], backwards: bool, starts: list[int]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """u (T, G·H) and the states before each step, (T, H) each, in the order of the tokens."""
    if backwards:  # in each text by itself
        stops = [*starts[1:], len(calls)]
        calls = [step for a, b in zip(starts, stops) for step in calls[a:b][::-1]]
    u = torch.cat([u for u, _ in calls])
    return u, tuple(torch.cat(part) for part in zip(*(state for _, state in calls)))


def letter(cell: Cell, kind: str) -> str:
    """Letter of it in the docstring of the cell."""
    if isinstance(cell, GRU) and kind == "candidate":
        return "n"
    normalised = isinstance(cell, MinLSTM) and kind in ("input_gate", "forget_gate")
    return LETTERS.get(kind, kind) + "′" * normalised


def tokens_of(trace: Trace, part: str, window: slice) -> dict[str, Any]:
    """The tokens of each step; of a decoder those that are written, and those that it is given."""
    if part == "encoder":
        return {"tokens": trace.tokens[window], "given": None}
    return {"tokens": trace.written[window], "given": [BEGIN, *trace.written][window]}


def choices_of(trace: Trace, part: str, window: slice) -> list[dict[str, Any]]:
    """One a step, or, however many, for all; an encoder of a translator makes none."""
    if part == "encoder" and trace.written:
        return []
    steps = len(trace.tokens if part == "encoder" else trace.written)
    choices = trace.choices[window] if len(trace.choices) == steps else trace.choices
    return [{**c._asdict(), "alternatives": [a._asdict() for a in c.alternatives]} for c in choices]
