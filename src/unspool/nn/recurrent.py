"""Any cell over whole batches of sequences: stacked, in one or both directions, ragged.

In: x (B, T, I), or integers (B, T) as one-hot vectors, lengths (B,), a state. Out: the outputs
(B, T, D·H), zero at padding, and the final state. How a layer is run, by a loop or by kernels, is
chosen in `recurrent_paths.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from unspool.errors import ConfigError, choose, nearest
from unspool.nn.cells import CELLS, Cell, cell_options
from unspool.nn.dropout import Dropout
from unspool.nn.masks import check_lengths
from unspool.nn.network import Network, NetworkOutput, RecurrentState
from unspool.nn.packing import PackedBatch
from unspool.nn.recurrent_paths import Fast, run_layer, run_single_step, steppers_for
from unspool.nn.taps import overridable


class Layer(nn.Module):
    """The cells of one layer: one that reads forwards and perhaps one that reads backwards."""

    def __init__(self, forwards: Cell, backwards: Cell | None) -> None:
        super().__init__()
        self.forwards = forwards
        self.backwards = backwards

    def directions(self) -> tuple[Cell, ...]:
        return (self.forwards,) if self.backwards is None else (self.forwards, self.backwards)


class Recurrent(Network):
    """`layers` of a cell, each reading the outputs of the one below.

    cell          a name out of `CELLS`, or a class derived from `Cell`
    options       the cell's own options, such as {"reset": "before"}
    dropout       on the outputs between layers, in training
    fast          "auto": the native kernels, or else the cell's `sequence`, where there is one and
                  no tap of the cell is recorded; True: one of these, or a ValueError with the
                  reason; False: the loop
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
        """The cells as `[layer][direction]`."""
        return self._cells

    def start(self, batch: int, like: Tensor | None = None) -> RecurrentState:
        """The state that is used where none is given: zeros."""
        like = next(self._cells[0][0].parameters()) if like is None else like
        return tuple(tuple(cell.start(batch, like) for cell in layer) for layer in self.cells())

    @overridable
    def forward(
        self,
        x: Tensor,
        lengths: Tensor | Sequence[int] | None = None,
        state: RecurrentState | None = None,
    ) -> NetworkOutput:
        if torch.jit.is_tracing():
            raise RuntimeError(
                "torch.jit.trace would fix the number of steps of a recurrent layer; use"
                " torch.compile"
            )
        self._check(x)
        lengths = check_lengths(lengths, x)
        state = self.start(x.shape[0]) if state is None else self._check_state(state, x.shape[0])
        steppers = steppers_for(self._cells, x, fast=self.fast)
        if steppers is not None:
            return run_single_step(steppers, x, state)
        batch = PackedBatch(x, lengths, by_time=not self._cells[0][0].is_scan)
        final = []
        for k, (cells, start) in enumerate(zip(self.cells(), state)):
            if k:
                batch.apply(self.dropout)
            final.append(run_layer(cells, batch, start, fast=self.fast, name=self.name))
        return NetworkOutput(batch.padded(), tuple(final))

    def streaming_unsupported_reason(self) -> str | None:
        if self.bidirectional:
            return "it reads in both directions, and backwards from the last step"
        return None

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
