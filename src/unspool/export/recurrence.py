"""Recurrent layers as ONNX: an operator where the cell names one (`Cell.onnx`), otherwise a Scan
whose body is made of the `step` of the cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from onnx import helper

from unspool.export.graph import DTYPES, Graph, Symbol
from unspool.export.operators import operator
from unspool.export.shapes import select
from unspool.nn.cells import Cell
from unspool.nn.masks import keep_mask, zero_padding
from unspool.nn.network import NetworkOutput, State
from unspool.nn.recurrent import Recurrent


@operator("whole_lengths")
def whole_lengths(x: Symbol) -> Any:
    return x.graph.full([x.shape[0]], 1, torch.int64) * x.shape[1]


def loop(
    graph: Graph,
    states: Sequence[Any],
    steps: Sequence[Any],
    body: Callable[..., tuple[list[Any], list[Any]]],
    *,
    backwards: bool = False,
) -> tuple[list[Any], list[Any]]:
    """A Scan over axis 1 of `steps` (B, T, ...): the states after it, and what each step gives.

    body   (states, steps) -> new states and outputs (B, ...)
    """
    before = [Symbol(graph, graph.unique("state"), s.dtype, [None, *s.sizes[1:]]) for s in states]
    now = [Symbol(graph, graph.unique("step"), x.dtype, [None, *x.sizes[2:]]) for x in steps]
    with graph.body() as nodes:
        after, given = body(*before, *now)
        made = (*after, *given)
        results = [graph.add("Identity", s, dtype=s.dtype, sizes=s.sizes) for s in made]
    inputs, ends = ([_typed(s) for s in values] for values in ((*before, *now), results))
    function = helper.make_graph(nodes, graph.unique("body"), inputs, ends)
    outputs: list[Any] = [(s.dtype, s.sizes) for s in states]
    outputs += [(s.dtype, [None, None, *s.sizes[1:]]) for s in given]
    values = graph.add_many(
        "Scan",
        *states,
        *steps,
        outputs=outputs,
        body=function,
        num_scan_inputs=len(steps),
        scan_input_axes=[1] * len(steps),
        scan_output_axes=[1] * len(given),
        scan_input_directions=[int(backwards)] * len(steps),
        scan_output_directions=[int(backwards)] * len(given),
    )
    return list(values[: len(states)]), list(values[len(states) :])


def one_hot(x: Symbol, size: int) -> Symbol:
    """Ids (B, T) as the vectors (B, T, size) that they stand for; vectors as they are."""
    if x.is_floating_point():
        return x
    depth, values = x.graph.constant(size), x.graph.constant(np.array([0, 1], dtype=np.float32))
    sizes = [*x.sizes, size]
    return x.graph.add("OneHot", x, depth, values, dtype=torch.float32, sizes=sizes)


@operator("Recurrent.forward")
def _recurrent(
    layer: Recurrent, x: Symbol, lengths: Any = None, state: Any = None
) -> NetworkOutput:
    """A text without a step is read as one step, and its output is cleared."""
    keep = real = None
    if lengths is not None:
        keep, real = keep_mask(lengths, x.shape[1]), lengths.clamp(min=1)
    x = one_hot(x, layer.inputs)
    final = []
    for k, cells in enumerate(layer.cells()):
        start = None if state is None else state[k]
        form = cells[0].onnx()
        emit = _scan if form is None else _operator
        x, last = emit(cells, x, real, start)
        final.append(last)
    return NetworkOutput(x if keep is None else zero_padding(x, keep), tuple(final))


def _operator(
    cells: Sequence[Cell], x: Any, lengths: Any, start: Any
) -> tuple[Any, tuple[State, ...]]:
    """One RNN, LSTM or GRU node for all directions."""
    graph, H, D = x.graph, cells[0].hidden, len(cells)
    forms = [cell.onnx() for cell in cells]
    first = forms[0]
    assert first is not None

    def joined(name: str) -> Symbol | None:
        parts = [getattr(form, name) for form in forms]
        return None if parts[0] is None else graph.constant(torch.stack(parts).detach())

    starts: list[Any] = [None] * len(cells[0].state_names)
    if start is not None:
        starts = [torch.stack([cell[j] for cell in start]) for j in range(len(starts))]
    sizes = None if lengths is None else graph.cast(lengths, torch.int32)
    inputs = [x.transpose(0, 1), joined("W"), joined("R"), joined("B"), sizes, *starts]
    if first.operator == "LSTM":
        inputs.append(joined("P"))
    attributes = {
        key: value * D if isinstance(value, list) else value
        for key, value in first.attributes.items()
    }
    batch, steps = x.sizes[:2]
    outputs = [(x.dtype, [steps, D, batch, H])]
    outputs += [(x.dtype, [D, batch, H])] * len(cells[0].state_names)
    y, *last = graph.add_many(
        first.operator,
        *inputs,
        outputs=outputs,
        hidden_size=H,
        direction="bidirectional" if D == 2 else "forward",
        **attributes,
    )
    y = y.permute(2, 0, 1, 3).flatten(2)  # (B, T, D·H)
    return y, tuple(tuple(select(part, 0, d) for part in last) for d in range(D))


def _scan(
    cells: Sequence[Cell], x: Symbol, lengths: Any, start: Any
) -> tuple[Any, tuple[State, ...]]:
    """A loop over the steps of each direction, as the reference path of a `Recurrent`."""
    outputs, final = [], []
    for d, cell in enumerate(cells):
        y, last = _loop(cell, x, lengths, None if start is None else start[d], backwards=d == 1)
        outputs.append(y)
        final.append(last)
    return torch.cat(outputs, -1), tuple(final)


def _loop(cell: Cell, x: Symbol, lengths: Any, start: Any, *, backwards: bool) -> tuple[Any, State]:
    graph, H = x.graph, cell.hidden
    u: Any = cell.project(x)
    batch, steps = x.shape[:2]
    if start is None:
        start = [graph.full([batch, H], 0, u.dtype) for _ in cell.state_names]
    if lengths is None:
        lengths = whole_lengths(x)

    def body(*values: Any) -> tuple[list[Any], list[Any]]:
        *state, u_t, keep = values
        h, new = cell.step(u_t, tuple(state))
        mask = keep[:, None]
        kept = [torch.where(mask, after, before) for after, before in zip(new, state)]
        return kept, [h.masked_fill(~mask, 0)]

    last, (y,) = loop(graph, start, [u, keep_mask(lengths, steps)], body, backwards=backwards)
    return y, tuple(last)


def _typed(value: Symbol) -> Any:
    """A value of a loop's body; its sizes follow from what goes in."""
    return helper.make_tensor_value_info(value.name, DTYPES[value.dtype], None)
