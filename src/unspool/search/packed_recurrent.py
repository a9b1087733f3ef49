"""A recurrent decoder with attention made fast for search: the same interface, by native kernels.

In: a `RecurrentDecoder`. Out: something with its `start`, `step` and `select` that gives the same
scores.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from unspool.native.attention_decoder import Source
from unspool.native.recurrent_search import RecurrentSearch
from unspool.nn.encoder import Encoded
from unspool.nn.recurrent_decoder import RecurrentDecoder


def unsupported_reason(decoder: RecurrentDecoder) -> str | None:
    """None where `PackedRecurrentSearch` can take a decoder, otherwise why not."""
    return decoder.unsupported_reason(decoder.embedding.weight[:1])


class PackedRecurrentState(NamedTuple):
    cells: Tensor  # (P, R, H)
    source: Source  # rows of one memory are not copied
    alignment: Tensor | None = None  # (R, S)


class PackedRecurrentSearch:
    """The interface of a decoder, see `nn/decoders.py`; its weights are copied when it is made, and
    there is no dropout."""

    def __init__(self, decoder: RecurrentDecoder) -> None:
        reason = unsupported_reason(decoder)
        if reason is not None:
            raise ValueError(f"cannot pack this decoder: {reason}")
        self.decoder = decoder
        self.embedding = decoder.embedding.weight.detach() * decoder.embedding.scale
        V, Q = decoder.output.matrix(), decoder.output.Q
        weights = decoder.native_weights()
        units = decoder.size if weights.v is None else len(weights.v)
        with torch.no_grad():
            self.packed = RecurrentSearch(
                weights,
                V if Q is None else V @ Q,
                decoder.output.b,
                E=decoder.embedding.size,
                D=decoder.memory,
                A=units,
            )

    def start(
        self, encoded: Encoded | None = None, *, aligned: bool = False
    ) -> PackedRecurrentState:
        """Every state after a step has its alignment, asked for or not."""
        state = self.decoder.start(encoded)
        assert state.memory is not None
        cells = self.packed.start([layer[0] for layer in state.cells])
        return PackedRecurrentState(cells, self.packed.source(*state.memory[:3]))

    def step(self, ids: Tensor, state: PackedRecurrentState) -> tuple[Tensor, PackedRecurrentState]:
        y = self.embedding.index_select(0, ids)
        logits, cells, alignment = self.packed.step(y, state.cells, state.source)
        return logits, PackedRecurrentState(cells, state.source, alignment)

    def select(self, state: PackedRecurrentState, rows: Tensor) -> PackedRecurrentState:
        source = state.source._replace(rows=state.source.rows.index_select(0, rows))
        alignment = state.alignment
        if alignment is not None:
            alignment = alignment.index_select(0, rows)
        return PackedRecurrentState(state.cells.index_select(1, rows), source, alignment)
