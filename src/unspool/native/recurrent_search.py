"""A recurrent decoder with attention packed for the steps of a search.

In: its weights once; then step by step the vectors of R tokens and the state. Out: the scores of
the next tokens, the new state, and where the step looked. The readable reference is
`RecurrentDecoder`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from unspool import native
from unspool.native.arrays import empty
from unspool.native.attention_weights import (
    DecoderWeights,
    Pads,
    SourceWeights,
    laid_out,
    pad_weights,
)
from unspool.native.operator import WIDTH


class SearchStep(NamedTuple):
    logits: Tensor  # (R, V), and after them what V is padded with
    state: Tensor  # (P, R, H)
    alignment: Tensor  # (R, S)


class RecurrentSearch:
    """The weights are copied when it is made. `V` (vocab, H) and `b` are those of the output layer,
    E is the size of a token's vector, D that of the memory's, A that of the keys."""

    def __init__(
        self, weights: DecoderWeights, V: Tensor, b: Tensor, *, E: int, D: int, A: int
    ) -> None:
        cell, hidden, width = weights.cells[0], V.shape[1], WIDTH[False]
        self.hidden, self.tokens = hidden, E
        self.pads = Pads.of(hidden, E, D, A, width)
        self.feeding = weights.feeding
        ready = pad_weights(weights, self.pads, join=True)
        more = -len(b) % width
        self.padded_vocab = len(b) + more
        output = {"W_o": laid_out(V, 0, self.pads.hidden, 0, more), "b_o": laid_out(b, 0, more)}
        # The kernel packs matrices, and reads all else where it is.
        layers, rest = [own(layer) for layer in ready.layers], own(ready.attention | output)
        self._kept = layers, rest
        shape = native._kernels.DecoderShape(
            kind=cell.kind,
            update_new=cell.update_new,
            before=weights.before,
            tanh=weights.v is not None,
            feeding=weights.feeding,
            join=True,
            hidden=hidden + self.pads.hidden,
            tokens=E + self.pads.token,
            memory=D + self.pads.memory,
            units=A + self.pads.score,
        )
        self._search = native._kernels.RecurrentSearch(
            shape, self.padded_vocab, layers, rest, torch.get_num_threads()
        )

    def source(self, keys: Tensor, values: Tensor, keep: Tensor | None) -> SourceWeights:
        keys, values = laid_out(keys, 0, self.pads.score), laid_out(values, 0, self.pads.memory)
        return SourceWeights.of(keys, values, keep, None)

    def start(self, states: list[tuple[Tensor, ...]]) -> Tensor:
        """(P, R, H) of the states of each layer."""
        parts = [state for layer in states for state in layer]
        parts += [torch.zeros_like(parts[0])] * self.feeding
        return F.pad(torch.stack(parts), (0, self.pads.hidden)).contiguous()

    def step(
        self, y: Tensor, state: Tensor, source: SourceWeights, coverage: Tensor | None = None
    ) -> SearchStep:
        """y (R, E): the vectors of the latest tokens; coverage (R, S) where attention reads it."""
        rows, size = len(y), source.keys.shape[1]
        if y.shape[1] != self.tokens:
            raise ValueError(f"the vectors of tokens have {self.tokens} elements, not {y.shape[1]}")
        made = SearchStep(
            empty(rows, self.padded_vocab, dtype=y.dtype),
            torch.empty_like(state),
            y.new_empty(rows, size),
        )
        arrays = source._asdict() | {
            "y": y, "state": state,
            "logits": made.logits, "new_state": made.state, "alignment": made.alignment,
        }  # fmt: skip
        if coverage is not None:
            arrays["coverage"] = coverage
        self._search.step(arrays)
        return made


def own(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
