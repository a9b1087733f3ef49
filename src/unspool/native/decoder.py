"""A Transformer's decoder packed for steps of a few sequences, in float32 or in bytes.

In: its weights once; then step by step the vectors of R tokens and what was read before. Out: the
scores of the next tokens, and what this step adds to what was read. The readable reference is
`TransformerDecoder` in `nn/transformer.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from unspool import native

WIDTH = 16  # E, the hidden units and the vocabulary must be multiples of it


class Shape(NamedTuple):
    layers: int
    width: int
    heads: int
    hidden: int
    vocab: int
    cross: bool
    pre_norm: bool
    activation: str
    epsilon: float


class Memory(NamedTuple):
    """What the sequences were made to translate: of each layer keys and values (B, S, 2 E)."""

    keys_values: tuple[Tensor, ...]
    keep: Tensor  # (B, S) bool


class Past(NamedTuple):
    """What R sequences have read in T steps. Nothing in it is ever moved or written again: to
    select sequences is to select rows of `ancestors`, and a step adds an array."""

    blocks: tuple[Tensor, ...]  # T arrays (layers, sequences at that step, 2 E)
    ancestors: Tensor  # (R, T) int32: the row of each block that is a sequence's own
    sources: Tensor  # (R,) int32: which of the B memories is a sequence's

    def select(self, rows: Tensor) -> Past:
        return self._replace(ancestors=self.ancestors[rows], sources=self.sources[rows])


class Step(NamedTuple):
    logits: Tensor  # (R, V)
    past: Past
    looked: Tensor | None  # (R, S): the mean of the heads' weights in the layer `aligning`


class PackedDecoder:
    """weights   in the order of a step: of each layer the normalisation (w, b), Q, K and V in one,
    the output matrix of attention; with `cross` normalisation, Q, output matrix; normalisation,
    W_1, W_2; then with `pre_norm` the last normalisation, and the output layer. Each matrix is
    followed by its bias.
    as_bytes  round the weights of each row to 8 bits, and what they are multiplied with too
    """

    def __init__(self, shape: Shape, weights: Sequence[Tensor], *, as_bytes: bool) -> None:
        self.shape = shape
        arrays = [checked(w.detach().contiguous(), torch.float32) for w in weights]
        addresses = [array.data_ptr() for array in arrays]
        self._packed = native._kernels.PackedDecoder(*shape, as_bytes, addresses)

    def start(self, batch: int) -> Past:
        rows = torch.arange(batch, dtype=torch.int32)
        return Past((), rows.new_empty(batch, 0), rows)

    def step(
        self, x: Tensor, past: Past, memory: Memory | None, *, aligning: int | None = None
    ) -> Step:
        """x (R, E): the next tokens, with their positions."""
        shape, rows = self.shape, len(x)
        x = checked(x.clone(memory_format=torch.contiguous_format), torch.float32)
        present = x.new_empty(shape.layers, rows, 2 * shape.width)
        own = torch.arange(rows, dtype=torch.int32)[:, None]
        ancestors = torch.cat([past.ancestors, own], 1)
        blocks = (*past.blocks, present)
        logits = x.new_empty(rows, shape.vocab)
        nothing = torch.empty(len(past.sources), 0, dtype=torch.bool)
        keys_values, keep = ((), nothing) if memory is None else memory
        places = keep.shape[1]
        looked = x.new_empty(rows, places) if aligning is not None and memory is not None else None
        self._packed.step(
            *(rows, x.data_ptr(), [b.data_ptr() for b in blocks], [b.shape[1] for b in blocks]),
            *(checked(ancestors, torch.int32).data_ptr(), places),
            [checked(array, torch.float32).data_ptr() for array in keys_values],
            checked(keep, torch.bool).data_ptr(),
            checked(past.sources, torch.int32).data_ptr(),
            *(logits.data_ptr(), 0 if looked is None else looked.data_ptr(), aligning or 0),
            torch.get_num_threads(),
        )
        return Step(logits, Past(blocks, ancestors, past.sources), looked)


def checked(array: Tensor, dtype: torch.dtype) -> Tensor:
    if array.dtype != dtype or not array.is_contiguous() or array.device.type != "cpu":
        raise TypeError(f"the kernels take contiguous {dtype} on the CPU, not {array.dtype}")
    return array
