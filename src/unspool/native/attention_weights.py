"""Memory and weights of recurrent decoders with attention, padded for the native kernels.

In: a memory, the weights of a decoder. Out: a `Source`, and `PaddedWeights`. Training
(`attention_decoder.py`) and search (`recurrent_search.py`) both begin here.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from unspool.native.recurrence import KernelWeights, blocks, padded


class SourceWeights(NamedTuple):
    """A memory that is ready to be read, and which of its B sequences each row reads.

    positions   (B, S) int32: the real positions of each sequence first; `counts` (B,) of them
    sources     (R,) int32
    """

    keys: Tensor  # (B, S, A)
    values: Tensor  # (B, S, D)
    positions: Tensor
    counts: Tensor
    sources: Tensor

    @classmethod
    def of(
        cls, keys: Tensor, values: Tensor, keep: Tensor | None, sources: Tensor | None
    ) -> SourceWeights:
        batch, size = keys.shape[:2]
        if keep is None:
            positions = torch.arange(size, dtype=torch.int32).expand(batch, -1)
            counts = torch.full((batch,), size, dtype=torch.int32)
        else:
            positions = (~keep).sort(dim=-1, stable=True).indices.int()
            counts = keep.sum(-1, dtype=torch.int32)
        sources = torch.arange(batch) if sources is None else sources
        return cls(keys, values, positions.contiguous(), counts, sources.int())

    def select(self, rows: Tensor) -> SourceWeights:
        return self._replace(sources=self.sources.index_select(0, rows))


class DecoderWeights(NamedTuple):
    """The weights of a decoder; None where it has none.

    cells      of each layer's cell; the first reads [y; c] (before), [y; h~] (feeding) or y
    W_q, b_q   (A, H), (A,): what is compared with the keys is W_q s + b_q; None: s
    v          (A,): scores are v' tanh(query + key); None: products
    w_k        (A,): with tanh, what the coverage of a position is multiplied by inside it
    W_c        (H, D + H), with `feeding`
    """

    cells: list[KernelWeights]
    before: bool
    feeding: bool
    W_q: Tensor | None
    b_q: Tensor | None
    v: Tensor | None
    W_c: Tensor
    w_k: Tensor | None = None


class Pads(NamedTuple):
    """Padding that makes sizes multiples of the kernels' tile."""

    hidden: int
    token: int
    memory: int
    score: int

    @classmethod
    def of(cls, hidden: int, token: int, memory: int, score: int, width: int) -> Pads:
        return cls(-hidden % width, -token % width, -memory % width, -score % width)


class PaddedWeights(NamedTuple):
    layers: list[dict[str, Tensor]]  # W, b, U and extra
    attention: dict[str, Tensor]  # W_q, b_q, v, W_c; and w_k, of attention with coverage alone


def pad_weights(weights: DecoderWeights, pads: Pads, *, join: bool) -> PaddedWeights:
    """With zeros; empty where there is none. W_c is wanted where `join`."""
    cell = weights.cells[0]
    none, hidden, unit = cell.b.new_empty(0), weights.W_c.shape[0], pads.hidden
    memory = weights.W_c.shape[1] - hidden
    fed = memory if weights.before else hidden if weights.feeding else 0
    rows, columns = (0, 0, 0, unit), (0, unit)
    layers = []
    for k, each in enumerate(weights.cells):
        assert each.U is not None
        W = padded(each.W, columns)
        if k == 0:
            read = pads.memory if weights.before else unit if weights.feeding else 0
            W = pad_parts(each.W, each.W.shape[1] - fed, pads.token, read)
        extra = none if each.extra is None else blocks(each.extra, 0, hidden, columns)
        layer = {
            "W": blocks(W, 0, hidden, rows),
            "b": blocks(each.b, 0, hidden, columns),
            "U": blocks(padded(each.U, columns), 0, hidden, rows),
            "extra": extra,
        }
        layers.append({name: tensor.contiguous() for name, tensor in layer.items()})
    W_q, b_q, v = weights.W_q, weights.b_q, weights.v
    W_c = pad_parts(weights.W_c, memory, pads.memory, unit) if join else None
    attention = {
        "W_q": none if W_q is None else laid_out(W_q, 0, unit, 0, pads.score),
        "b_q": none if b_q is None else laid_out(b_q, 0, pads.score),
        "v": none if v is None else laid_out(v, 0, pads.score),
        "W_c": none if W_c is None else laid_out(W_c, 0, 0, 0, unit),
    }
    if weights.w_k is not None:
        attention["w_k"] = laid_out(weights.w_k, 0, pads.score)
    return PaddedWeights(layers, attention)


def pad_parts(W: Tensor, first: int, pad: int, other: int) -> Tensor:
    """W whose `first` columns are padded, and the others on their own."""
    if not pad and not other:
        return W
    a, b = W.split([first, W.shape[1] - first], 1)
    return torch.cat([padded(a, (0, pad)), padded(b, (0, other))], 1)


def laid_out(x: Tensor, *pad: int) -> Tensor:
    """Array in the layout of the kernels."""
    return padded(x.float(), pad).contiguous()
