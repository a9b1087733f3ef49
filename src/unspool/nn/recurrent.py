"""Any cell over whole batches of sequences: stacked, in one or both directions, ragged.

In: x (B, T, I), or integers (B, T) as one-hot vectors, lengths (B,), a state. Out: the outputs
(B, T, D·H), zero at padding, and the final state. `unroll` is the readable reference. Two faster
ways to the same numbers: the native kernels (`run_native`), and what else a cell offers as its
`sequence` (`run_fast`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from unspool.errors import ConfigError, choose, nearest
from unspool.native import recurrence
from unspool.native.recurrence import Form, Stepper
from unspool.nn.cells import CELLS, Cell, State, cell_options
from unspool.nn.compiled import compiled_step
from unspool.nn.dropout import Dropout
from unspool.nn.masks import keep_mask, reverse, zero_padding
from unspool.nn.packing import Batch, Packing
from unspool.nn.state import RecurrentState
from unspool.nn.taps import over_time, recording

Fast = Literal["auto", True, False]


class RecurrentOutput(NamedTuple):
    """`outputs` (B, T, D·H); `state[layer][direction]`, a tuple of (B, H) each."""

    outputs: Tensor
    state: RecurrentState


def unroll(
    cell: Cell, x: Tensor, lengths: Tensor | None, state: State, *, backwards: bool = False
) -> tuple[Tensor, State]:
    """The reference: `cell.step` at each time, t = 1 .. T or T .. 1.

    Where t is beyond a sequence's length its state is kept and its output is 0. So a backward
    pass meets the padding first, and leaves it with the state it started from.
    """
    steps = x.shape[1]
    # Up to the shortest length there is nothing to mask.
    shortest = steps if lengths is None else int(lengths.min())
    keep = [] if lengths is None else keep_mask(lengths, steps)[..., None].unbind(1)  # T x (B, 1)
    u = cell.project(x).unbind(1)
    step = compiled_step(cell, x)
    outputs = [u[0]] * steps
    with over_time(cell, reverse=backwards):
        for t in reversed(range(steps)) if backwards else range(steps):
            output, new = step(u[t], state)
            if t >= shortest:
                output = torch.where(keep[t], output, 0)
                new = tuple(torch.where(keep[t], n, s) for n, s in zip(new, state))
            # Under autocast a product is bfloat16; what is carried through time stays precise.
            state = tuple(n.to(s.dtype) for n, s in zip(new, state))
            outputs[t] = output
    return torch.stack(outputs, 1), state


def run_fast(
    cell: Cell, x: Tensor, lengths: Tensor | None, state: State, *, backwards: bool = False
) -> tuple[Tensor, State]:
    """What `unroll` gives, by the cell's `sequence`."""
    outputs, final = cell.sequence(reverse(x, lengths) if backwards else x, lengths, state)
    outputs = reverse(outputs, lengths) if backwards else outputs
    if lengths is not None:
        outputs = zero_padding(outputs, keep_mask(lengths, x.shape[1]))
    return outputs, tuple(f.to(s.dtype) for f, s in zip(final, state))


def run_native(
    forms: list[Form], x: Tensor, packing: Packing, states: tuple[State, ...]
) -> tuple[Tensor, tuple[State, ...]]:
    """What `unroll` gives for all directions of a layer, packed: x (N, I) -> (N, D·H)."""
    directions = [
        recurrence.Direction(form, tuple(map(packing.sort, state)), reverse=d == 1)
        for d, (form, state) in enumerate(zip(forms, states))
    ]
    runs = recurrence.run(x, directions, packing.offsets)
    outputs = runs[0][0] if len(runs) == 1 else torch.cat([h for h, _ in runs], -1)
    return outputs, tuple(tuple(map(packing.unsort, end)) for _, end in runs)


def single_step(
    steppers: list[list[Stepper | None]], x: Tensor, state: RecurrentState
) -> RecurrentOutput:
    """What `unroll` gives for T = 1, without all that a sequence needs around its kernel."""
    x = x[:, 0].contiguous()
    final = []
    for layer, start in zip(steppers, state):
        ends = tuple(step(x, s) for step, s in zip(layer, start) if step)
        x = ends[0][0] if len(ends) == 1 else torch.cat([end[0] for end in ends], -1)
        final.append(ends)
    return RecurrentOutput(x[:, None], tuple(final))


class Layer(nn.Module):
    """The cells of one layer: one that reads forwards and perhaps one that reads backwards."""

    def __init__(self, forwards: Cell, backwards: Cell | None) -> None:
        super().__init__()
        self.forwards = forwards
        self.backwards = backwards

    def directions(self) -> tuple[Cell, ...]:
        return (self.forwards,) if self.backwards is None else (self.forwards, self.backwards)


class Recurrent(nn.Module):
    """`layers` of a cell, each reading the outputs of the one below.

    cell          a name out of `CELLS`, or a class derived from `Cell`
    options       the cell's own options, such as {"reset": "before"}
    dropout       on the outputs between layers, in training
    fast          "auto": the native kernels, or else the cell's `sequence`, where there is one and
                  no tap of the cell is recorded; True: one of these or a ValueError that says why
                  not; False: the loop
    """

    def __init__(
        self,
        cell: str | type[Cell],
        inputs: int,
        hidden: int,
        *,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        fast: Fast = "auto",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        kind = CELLS[choose("cell", cell, CELLS)] if isinstance(cell, str) else cell
        chosen = check_options(kind, options or {})
        self.name = cell if isinstance(cell, str) else cell.__name__
        self.inputs = inputs
        self.hidden = hidden
        self.bidirectional = bidirectional
        self.size = hidden * (1 + bidirectional)
        self.fast = fast
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList()
        for k in range(layers):
            below = self.size if k else inputs
            cells = [kind(below, hidden, **chosen) for _ in range(1 + bidirectional)]
            self.layers.append(Layer(cells[0], cells[1] if bidirectional else None))
        # Kept, as walking through the modules takes longer than a step of a small cell.
        self._cells = tuple(layer.directions() for layer in self.layers if isinstance(layer, Layer))

    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The cells as [layer][direction]."""
        return self._cells

    def start(self, batch: int, like: Tensor | None = None) -> RecurrentState:
        """The state that is used where none is given: zeros."""
        like = next(self._cells[0][0].parameters()) if like is None else like
        return tuple(tuple(cell.start(batch, like) for cell in layer) for layer in self.cells())

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, state: RecurrentState | None = None
    ) -> RecurrentOutput:
        self._check(x)
        lengths = check_lengths(lengths, x)
        state = self.start(x.shape[0]) if state is None else self._check_state(state, x.shape[0])
        if x.shape[1] == 1 and self.fast is not False and not torch.is_grad_enabled():
            steppers = [[cell.single_step(x) for cell in layer] for layer in self._cells]
            if all(step is not None for layer in steppers for step in layer):
                return single_step(steppers, x, state)
        batch = Batch(x, lengths, by_time=not self._cells[0][0].is_scan)
        final = []
        for k, (cells, start) in enumerate(zip(self.cells(), state)):
            if k:
                batch.apply(self.dropout)
            forms = self._forms(cells, batch)
            if forms is None:
                final.append(self._padded(cells, batch, start))
                continue
            outputs, ends = run_native(forms, batch.packed(), batch.packing, start)
            batch.replace(packed=outputs)
            final.append(ends)
        return RecurrentOutput(batch.padded(), tuple(final))

    def _forms(self, cells: tuple[Cell, ...], batch: Batch) -> list[Form] | None:
        """What the native kernels take, None where they are not to run or cannot."""
        if self.fast is False or any(recording(cell) for cell in cells):
            return None
        forms = [form for cell in cells if (form := cell.native()) is not None]
        if len(forms) < len(cells) or recurrence.why_not(batch.sample(), forms[0].W) is not None:
            return None
        return forms

    def _padded(
        self, cells: tuple[Cell, ...], batch: Batch, states: tuple[State, ...]
    ) -> tuple[State, ...]:
        x = batch.padded()
        runs = []
        for d, (cell, state) in enumerate(zip(cells, states)):
            reason: str | None = "fast=False"
            if self.fast is not False:
                reason = "a tap is recorded" if recording(cell) else cell.why_not_fast(x)
                if self.fast is True and reason is not None:
                    also = cell.why_not_native(x)
                    raise ValueError(
                        f"fast=True cannot run cell {self.name!r}: {reason}"
                        + (f"; {also}" if also else "")
                    )
            run = run_fast if reason is None else unroll
            runs.append(run(cell, x, batch.lengths, state, backwards=d == 1))
        # One type of output whatever path and autocast made it: that of the state.
        outputs = [outputs.to(end[0].dtype) for outputs, end in runs]
        batch.replace(padded=torch.cat(outputs, -1))  # (B, T, D·H)
        return tuple(end for _, end in runs)

    def _check(self, x: Tensor) -> None:
        wanted = f"(batch, time, {self.inputs}), or integers (batch, time)"
        fits = (
            x.dim() == 3 and x.shape[-1] == self.inputs if x.is_floating_point() else x.dim() == 2
        )
        if not fits:
            raise ValueError(f"the input must have shape {wanted}; got {tuple(x.shape)}")
        if x.shape[1] == 0:
            raise ValueError("the input has no time steps")

    def _check_state(self, state: RecurrentState, batch: int) -> RecurrentState:
        shape = (batch, self.hidden)
        shapes = [[[s.shape for s in cell] for cell in layer] for layer in state]
        if shapes != [[[shape] * len(c.state_names) for c in layer] for layer in self._cells]:
            got = [[[tuple(s) for s in cell] for cell in layer] for layer in shapes]
            names = self._cells[0][0].state_names
            raise ValueError(
                f"the state must be {len(self._cells)} layers of {len(self._cells[0])} cells with "
                f"{len(names)} tensors {shape}; got {got}"
            )
        return state

    def describe(self) -> str:
        both = "bidirectional " if self.bidirectional else ""
        stack = f"{len(self.layers)} layers of " if len(self.layers) > 1 else ""
        return f"{stack}{both}{self.name}, {self.hidden} units"

    def extra_repr(self) -> str:
        return f"{self.name}, {self.inputs}, {self.hidden}, fast={self.fast}"


def check_options(cell: type[Cell], options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` if the cell has them all; otherwise a ConfigError that names the nearest."""
    known = cell_options(cell)
    for name in options:
        if name not in known:
            near = nearest(name, known)
            raise ConfigError(
                f"cell {cell.__name__} has no such option",
                got=name,
                remedy=(f"did you mean {near!r}? " if near else "")
                + (f"it has {', '.join(known)}" if known else "it has none"),
            )
    return dict(options)


def check_lengths(lengths: Tensor | None, x: Tensor) -> Tensor | None:
    """None where all T steps of every sequence are real, otherwise the lengths, checked."""
    if lengths is None:
        return None
    batch, steps = x.shape[:2]
    if lengths.shape != (batch,):
        raise ValueError(f"lengths must have shape ({batch},); got {tuple(lengths.shape)}")
    if batch == 0:
        return None
    low, high = int(lengths.min()), int(lengths.max())
    if low < 1 or high > steps:
        raise ValueError(f"lengths must lie between 1 and {steps}; got {low} to {high}")
    return None if low == steps else lengths.to(x.device)
