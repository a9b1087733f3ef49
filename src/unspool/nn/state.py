"""The state of recurrent models: plain nested tuples that go in and come out of every call."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

State = tuple[Tensor, ...]
"""Of one cell: one (B, H) for each of its `state_names`."""

RecurrentState = tuple[tuple[State, ...], ...]
"""Of a whole `Recurrent`: state[layer][direction] is a cell's; direction 0 runs forwards."""


def map_state(state: RecurrentState, change: Callable[[Tensor], Tensor]) -> RecurrentState:
    """The state with `change` applied to each tensor: `map_state(state, Tensor.detach)` cuts
    the graph, `map_state(state, lambda s: s[rows])` selects rows of the batch."""
    return tuple(
        tuple(tuple(change(tensor) for tensor in cell) for cell in layer) for layer in state
    )
