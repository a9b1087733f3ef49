"""A Transformer's decoder packed for steps of a few sequences, in float32 or in bytes.

In: its weights once; then step by step the vectors of R tokens and what was read before. Out: the
scores of the next tokens, and what this step adds to what was read. The readable reference is
`TransformerDecoder` in `nn/transformer.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from unspool import native

WIDTH = 16  # E, the hidden units and the vocabulary must be multiples of it


class DecoderShape(NamedTuple):
    layers: int
    width: int
    heads: int
    hidden: int
    vocab: int
    cross: bool
    pre_norm: bool
    activation: str
    epsilon: float


class CrossMemory(NamedTuple):
    """Memory of the sources: keys and values (B, S, 2 E) of each layer."""

    keys_values: tuple[Tensor, ...]
    keep: Tensor  # (B, S) bool


class Past(NamedTuple):
    """Keys and values of R sequences over T steps. Nothing in it is ever moved or written again: to
    select sequences is to select rows of `ancestors`, and a step adds an array."""

    blocks: tuple[Tensor, ...]  # T arrays (layers, sequences at that step, 2 E)
    ancestors: Tensor  # (R, T) int32: the row of each block that is a sequence's own
    sources: Tensor  # (R,) int32: which of the B memories is a sequence's

    def select(self, rows: Tensor) -> Past:
        return self._replace(ancestors=self.ancestors[rows], sources=self.sources[rows])


class DecoderStep(NamedTuple):
    logits: Tensor  # (R, V)
    past: Past
    looked: Tensor | None  # (R, S): the mean of the heads' weights in the layer `aligning`


class PackedDecoder:
    """The weights are copied.

    layers    of each layer its weights, by the names and shapes in cpp/decoding.cpp
    output    of the output layer, with `pre_norm` of the last normalisation too
    as_bytes  round the weights of each row to 8 bits, and what they are multiplied with too
    """

    def __init__(
        self,
        shape: DecoderShape,
        layers: Sequence[Mapping[str, Tensor]],
        output: Mapping[str, Tensor],
        *,
        as_bytes: bool,
    ) -> None:
        self.shape = shape
        *of_layers, of_output = (
            {name: w.contiguous() for name, w in weights.items()} for weights in (*layers, output)
        )
        self._packed = native._kernels.PackedDecoder(*shape, as_bytes, of_layers, of_output)

    def start(self, batch: int) -> Past:
        rows = torch.arange(batch, dtype=torch.int32)
        return Past((), rows.new_empty(batch, 0), rows)

    def step(
        self, x: Tensor, past: Past, memory: CrossMemory | None, *, aligning: int | None = None
    ) -> DecoderStep:
        """x (R, E): the next tokens, with their positions."""
        shape, rows = self.shape, len(x)
        x = x.clone(memory_format=torch.contiguous_format)  # the kernel works in it
        present = x.new_empty(shape.layers, rows, 2 * shape.width)
        row = torch.arange(rows, dtype=torch.int32)[:, None]
        ancestors = torch.cat([past.ancestors, row], 1)
        blocks = (*past.blocks, present)
        arrays = {"x": x, "ancestors": ancestors, "logits": x.new_empty(rows, shape.vocab)}
        if memory is not None:
            arrays |= {"keep": memory.keep, "sources": past.sources}
            if aligning is not None:
                arrays["looked"] = x.new_empty(rows, memory.keep.shape[1])
        keys_values = [] if memory is None else list(memory.keys_values)
        self._packed.step(arrays, list(blocks), keys_values, aligning or 0, torch.get_num_threads())
        new = Past(blocks, ancestors, past.sources)
        return DecoderStep(arrays["logits"], new, arrays.get("looked"))
