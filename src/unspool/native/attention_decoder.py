"""Recurrent decoders with attention over whole target sequences, by the native kernels.

In: packed token vectors y (N, E), a memory ready to be read, the weights of the cells and of the
attention, the start state. Out: a `Decoded`. The readable reference is the loop over
`RecurrentDecoder._advance`.

    before    c_t = attend(s_{t-1}), s_t = cell([y_t; c_t], s_{t-1})                     Bahdanau
    after     s_t = cell([y_t; h~_{t-1}], s_{t-1}), c_t = attend(s_t)                       Luong
              h~_t = m_t ⊙ tanh(W_c [c_t; s_t])                      with input feeding alone
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from unspool.native import library
from unspool.native.attention_operator import AttentionInputs, attention_decoder, compute, unflatten
from unspool.native.attention_weights import (
    DecoderWeights,
    Pads,
    SourceWeights,
    laid_out,
    pad_weights,
)
from unspool.native.operator import READ_C, SCANS, WIDTH
from unspool.native.recurrence import KernelWeights, is_half


class DecoderOutput(NamedTuple):
    """The outputs for N packed tokens. `output` is h~, only with input feeding."""

    states: Tensor  # (N, H): of the top layer
    context: Tensor  # (N, D)
    alignment: Tensor  # (N, S)
    output: Tensor | None  # (N, H)


def unsupported_reason(cells: list[KernelWeights | None]) -> str | None:
    """None where there are kernels for these cells, otherwise why not."""
    for cell in cells:
        if cell is None:
            return "its cell has no native kernel"
        if cell.kind in (*SCANS, *READ_C):
            return f"decoders of {cell.kind} with attention have no native kernel"
    return None


def run(
    y: Tensor,
    source: SourceWeights,
    weights: DecoderWeights,
    starts: list[tuple[Tensor, ...]],
    offsets: Tensor,
    *,
    mask: Tensor | None,
    masks: list[Tensor | None],
) -> DecoderOutput:
    """y (N, E), packed by time with `offsets`.

    starts   the state of each layer, in the order of the packed rows
    mask     m (N, H), with feeding alone; None: ones
    masks    (N, H) of each layer but the first: what multiplies the states below it
    """
    cell = weights.cells[0]
    hidden, memory = starts[0][0].shape[-1], source.values.shape[-1]
    half = is_half()
    none = cell.b.new_empty(0)
    pads = Pads.of(hidden, y.shape[1], memory, source.keys.shape[-1], WIDTH[half])
    ready = pad_weights(weights, pads, join=weights.feeding)
    unit = pads.hidden
    inputs = AttentionInputs(
        kind=cell.kind,
        half=half,
        update_new=cell.update_new,
        before=weights.before,
        feeding=weights.feeding,
        learning=False,
        offsets=offsets,
        y=laid_out(y, 0, pads.token),
        keys=laid_out(source.keys, 0, pads.score),
        values=laid_out(source.values, 0, pads.memory),
        positions=source.positions,
        counts=source.counts,
        sources=source.sources,
        W_q=ready.attention["W_q"],
        b_q=ready.attention["b_q"],
        v=ready.attention["v"],
        w_k=ready.attention.get("w_k", none),
        W_c=ready.attention["W_c"],
        mask=none if mask is None else laid_out(mask, 0, unit),
        W=[layer["W"] for layer in ready.layers],
        b=[layer["b"] for layer in ready.layers],
        U=[layer["U"] for layer in ready.layers],
        extra=[layer["extra"] for layer in ready.layers],
        h0=[laid_out(state[0], 0, unit) for state in starts],
        c0=[laid_out(state[1], 0, unit) if len(state) > 1 else none for state in starts],
        masks=[none if m is None else laid_out(m, 0, unit) for m in masks],
    )
    learning = torch.is_grad_enabled() and any(t.requires_grad for t in library.tensors_of(inputs))
    inputs = inputs._replace(learning=learning)
    compiling = torch.compiler.is_compiling()
    kept, layers = unflatten(
        attention_decoder(*inputs) if learning or compiling else compute(inputs)
    )
    return DecoderOutput(
        layers[-1].h[:, :hidden],
        kept.context[:, :memory],
        kept.alignment,
        kept.output[:, :hidden] if weights.feeding else None,
    )
