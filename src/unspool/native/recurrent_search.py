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
from unspool.native.attention_decoder import Pads, Source, Weights, laid_out, pad_weights
from unspool.native.operator import LSTMS, WIDTH


class Step(NamedTuple):
    logits: Tensor  # (R, V)
    state: Tensor  # (P, R, H)
    alignment: Tensor  # (R, S)


class RecurrentSearch:
    """The weights are copied when it is made. `V` (vocab, H) and `b` are those of the output layer,
    E is the size of a token's vector, D that of the memory's, A that of the keys."""

    def __init__(self, weights: Weights, V: Tensor, b: Tensor, *, E: int, D: int, A: int) -> None:
        cell, hidden, width = weights.cells[0], V.shape[1], WIDTH[False]
        self.hidden, self.vocab, self.tokens = hidden, len(b), E
        self.pads = Pads.of(hidden, E, D, A, width)
        self.lstm, self.feeding = cell.kind in LSTMS, weights.feeding
        ready = pad_weights(weights, self.pads, join=True)
        more = -len(b) % width
        output = [laid_out(V, 0, self.pads.hidden, 0, more), laid_out(b, 0, more)]
        self.padded_vocab = len(b) + more
        # The kernel packs matrices, and reads all else where it is.
        layers = [[t.detach().clone() for t in layer] for layer in zip(*ready.layers)]
        rest = [t.detach().clone() for t in (*ready.attention, *output)]
        self._kept = layers, rest
        shape = native._kernels.DecoderShape(
            *(
                cell.kind,
                cell.update_new,
                weights.before,
                weights.v is not None,
                weights.feeding,
                True,
            ),
            *(hidden + self.pads.hidden, E + self.pads.token),
            *(D + self.pads.memory, A + self.pads.score),
        )
        self._search = native._kernels.RecurrentSearch(
            *(shape, self.padded_vocab, [addresses(layer) for layer in layers], addresses(rest)),
            torch.get_num_threads(),
        )

    def source(self, keys: Tensor, values: Tensor, keep: Tensor | None) -> Source:
        keys, values = laid_out(keys, 0, self.pads.score), laid_out(values, 0, self.pads.memory)
        return Source.of(keys, values, keep, None)

    def start(self, states: list[tuple[Tensor, ...]]) -> Tensor:
        """(P, R, H) of the states of each layer."""
        parts = [state for layer in states for state in layer]
        parts += [torch.zeros_like(parts[0])] * self.feeding
        return F.pad(torch.stack(parts), (0, self.pads.hidden)).contiguous()

    def step(self, y: Tensor, state: Tensor, source: Source) -> Step:
        """y (R, E): the vectors of the latest tokens."""
        rows, size = len(y), source.keys.shape[1]
        arrays = (y, state, source.keys, source.values)
        if any(a.dtype != torch.float32 or not a.is_contiguous() for a in arrays):
            raise TypeError("the kernels take contiguous float32")
        if y.shape[1] != self.tokens or state.shape[1] != rows or len(source.rows) != rows:
            raise ValueError(f"{rows} vectors of {y.shape[1]} do not fit the state or the source")
        logits = y.new_empty(rows, self.padded_vocab)
        new, alignment = torch.empty_like(state), y.new_empty(rows, size)
        self._search.step(
            *(rows, y.data_ptr(), self.tokens, size, addresses(list(source))),
            *(state.data_ptr(), new.data_ptr(), logits.data_ptr(), alignment.data_ptr()),
        )
        return Step(logits[:, : self.vocab], new, alignment)


def addresses(tensors: list[Tensor]) -> list[int]:
    return [t.data_ptr() if t.numel() else 0 for t in tensors]
