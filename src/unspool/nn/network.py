"""The interface of every network that reads a sequence of vectors.

In: x (B, T, I), lengths (B,), a state. Out: a `NetworkOutput`: vectors (B, T, size), zero at
padding, and the new state. `Recurrent`, `ConvolutionStack`, `TransformerEncoder` and
`TransformerDecoder` are networks, and `PassThrough` stands for none; what they read is made by an
input layer (`inputs.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn.masks import keep_mask, zero_padding

State = tuple[Tensor, ...]
"""The state of one cell: one (B, H) for each of its `state_names`."""

RecurrentState = tuple[tuple[State, ...], ...]
"""The state of a `Recurrent`: `state[layer][direction]` is a cell's; direction 0 runs forwards."""


def map_state(state: RecurrentState, change: Callable[[Tensor], Tensor]) -> RecurrentState:
    """The state with `change` applied to each tensor: `map_state(state, Tensor.detach)` cuts
    the graph, `map_state(state, lambda s: s[rows])` selects rows of the batch."""
    return tuple(
        tuple(tuple(change(tensor) for tensor in cell) for cell in layer) for layer in state
    )


class NetworkOutput(NamedTuple):
    """`outputs` (B, T, size); `state`, from which the next steps go on, None where there is none.

    That of a `Recurrent` is `state[layer][direction]`, a tuple of (B, H) each.
    """

    outputs: Tensor
    state: Any = None


class NextSteps(NamedTuple):
    """Scores of the next steps of a sequence, and the state to continue from."""

    scores: Tensor
    carried: Any


class Network(nn.Module, ABC):
    """inputs        I, the size of the vectors it reads
    size          of the vectors it gives
    bidirectional whether the second half of a vector comes from reading backwards
    """

    inputs: int
    size: int
    bidirectional: bool = False

    @abstractmethod
    def forward(self, x: Tensor, lengths: Tensor | None = None, state: Any = None) -> NetworkOutput:
        """lengths None: all T steps of every sequence are real; state None: nothing came before."""

    def streaming_unsupported_reason(self) -> str | None:
        """None where `forward` can go on from the state that it gave for the steps before, with
        what reading all at once would give; otherwise the reason."""
        return "it reads whole sequences"

    @abstractmethod
    def describe(self) -> str:
        """The network in the words of the literature, for a summary."""


class PassThrough(Network):
    """The vectors as they are, so that a decoder attends to what the input layer gives, as to the
    grid of a CNN (Xu et al. 2015).

    steps   of every sequence, where all have as many: a learned vector for each position is added,
            since the vectors of a small CNN show what is there, but not where; 0: none
    """

    def __init__(self, inputs: int, *, steps: int = 0) -> None:
        super().__init__()
        self.inputs = self.size = inputs
        self.positions = nn.Parameter(torch.empty(steps, inputs)) if steps else None
        if self.positions is not None:
            nn.init.normal_(self.positions, std=0.1)

    def forward(self, x: Tensor, lengths: Tensor | None = None, state: Any = None) -> NetworkOutput:
        if self.positions is not None:
            x = x + self.positions
        if lengths is not None:
            x = zero_padding(x, keep_mask(lengths, x.shape[1], device=x.device))
        return NetworkOutput(x)

    def describe(self) -> str:
        if self.positions is None:
            return "none: vectors go to the decoder as they are"
        return f"none: vectors go to the decoder with {len(self.positions)} learned positions"
