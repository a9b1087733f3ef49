"""The torch operator `unspool::attention_decoder` around the native kernels, with its own gradient.

In: what `attention_decoder.run` has padded and lined up. Out: `Kept`, then a `Layer` for each: its
states and what its gradient needs. The gradients of the weights are one product each over all
steps, after the kernel's backward pass. With `half` the products are of bfloat16 with sums in
float32; all else stays float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from unspool import native
from unspool.native import library
from unspool.native.arrays import empty
from unspool.native.operator import LSTMS, NUMBER
from unspool.native.weights import (
    PackedSteps,
    factor,
    input_weights_gradient,
    outer,
    recurrent_weights_gradient,
)


class AttentionInputs(NamedTuple):
    """The arguments of the operator, empty where a decoder has none. The lists are of its layers.

    mask       m (N, H), with feeding alone
    masks      (N, H): what multiplies the states below a layer
    """

    kind: str
    half: bool
    update_new: bool
    before: bool
    feeding: bool
    learning: bool
    offsets: Tensor
    y: Tensor  # (N, E)
    keys: Tensor  # (B, S, A)
    values: Tensor  # (B, S, D)
    positions: Tensor
    counts: Tensor
    sources: Tensor
    W_q: Tensor
    b_q: Tensor
    v: Tensor
    w_k: Tensor
    W_c: Tensor
    mask: Tensor
    W: list[Tensor]
    b: list[Tensor]
    U: list[Tensor]
    extra: list[Tensor]
    h0: list[Tensor]
    c0: list[Tensor]
    masks: list[Tensor]


class AttentionGradients(NamedTuple):
    """The arguments of its backward pass that follow those."""

    kept: list[Tensor]
    doutput: Tensor
    dstates: Tensor
    dcontext: Tensor
    dalignment: Tensor


class SavedLayer(NamedTuple):
    """Outputs of a layer and what its gradient needs; empty where it is not needed."""

    x: Tensor  # (N, I); empty: the states below, as they are
    h: Tensor  # (N, H)
    gates: Tensor  # (N, G·H)
    c: Tensor  # (N, H)
    inner: Tensor  # (N, H)
    h_read: Tensor  # (N, H), with `half`: h as bfloat16


class AttentionSaved(NamedTuple):
    """Outputs of the operator that precede those of its layers."""

    output: Tensor  # (N, H)
    context: Tensor  # (N, D)
    alignment: Tensor  # (N, S)
    coverage: Tensor  # (N, S), where attention reads it
    q: Tensor  # (N, A); empty: the states
    joined: Tensor  # (N, D + H)


def make_kept(
    inputs: AttentionInputs, empty: Callable[..., Tensor] = empty
) -> tuple[AttentionSaved, list[SavedLayer]]:
    """Unfilled."""
    rows, hidden = len(inputs.y), inputs.h0[0].shape[1]
    (_, size, units), memory = inputs.keys.shape, inputs.values.shape[2]
    number, single, kind = NUMBER[inputs.half], torch.float32, inputs.kind
    kept = AttentionSaved(
        output=empty(rows if inputs.feeding else 0, hidden, dtype=single),
        context=empty(rows, memory, dtype=single),
        alignment=empty(rows, size, dtype=single),
        coverage=empty(rows if inputs.w_k.numel() else 0, size, dtype=single),
        q=empty(rows if inputs.W_q.numel() else 0, units, dtype=single),
        joined=empty(rows if inputs.feeding else 0, memory + hidden, dtype=number),
    )
    inner = kind == "gru_before" or (inputs.learning and kind == "gru_after")
    layers = [
        SavedLayer(
            x=empty(rows if k == 0 or inputs.masks[k].numel() else 0, w.shape[1], dtype=number),
            h=empty(rows, hidden, dtype=single),
            gates=empty(rows, len(w), dtype=single),
            c=empty(rows if kind in LSTMS else 0, hidden, dtype=single),
            inner=empty(rows if inner else 0, hidden, dtype=number),
            h_read=empty(rows if inputs.half else 0, hidden, dtype=number),
        )
        for k, w in enumerate(inputs.W)
    ]
    return kept, layers


def flatten(kept: AttentionSaved, layers: list[SavedLayer]) -> list[Tensor]:
    return [*kept, *(tensor for layer in layers for tensor in layer)]


def unflatten(flat: list[Any]) -> tuple[AttentionSaved, list[SavedLayer]]:
    first, size = len(AttentionSaved._fields), len(SavedLayer._fields)
    layers = [SavedLayer(*flat[at : at + size]) for at in range(first, len(flat), size)]
    return AttentionSaved(*flat[:first]), layers


def inputs_of(k: int, layers: list[SavedLayer], half: bool) -> Tensor:
    """x (N, I) of layer k."""
    if k == 0 or layers[k].x.numel():
        return layers[k].x
    return layers[k - 1].h_read if half else layers[k - 1].h


def memory_arrays(
    inputs: AttentionInputs, kept: AttentionSaved, layers: list[SavedLayer]
) -> dict[str, Tensor]:
    """Arrays that both passes read, by their names in cpp/attention_decoding.cpp."""
    names = ("keys", "values", "positions", "counts", "sources", "W_q", "v", "W_c", "mask")
    covered = {"w_k": inputs.w_k, "coverage": kept.coverage} if inputs.w_k.numel() else {}
    return {name: getattr(inputs, name) for name in names} | covered | {
        "q": kept.q if inputs.W_q.numel() else layers[-1].h,
        "alignment": kept.alignment, "context": kept.context,
        "joined": kept.joined, "output": kept.output,
    }  # fmt: skip


def layer_arrays(inputs: AttentionInputs, k: int, layer: SavedLayer) -> dict[str, Tensor]:
    """The same of layer k, by the names in cpp/kinds.h."""
    return {
        "W": inputs.W[k], "U": inputs.U[k], "extra": inputs.extra[k], "mask": inputs.masks[k],
        "h0": inputs.h0[k], "c0": inputs.c0[k],
        "gates": layer.gates, "h": layer.h, "c": layer.c,
    }  # fmt: skip


def compute(inputs: AttentionInputs) -> list[Tensor]:
    """`AttentionSaved`, then a `SavedLayer` for each."""
    half = inputs.half
    kept, layers = make_kept(inputs)
    kept.coverage.zero_()  # before the first step; the kernel adds what comes after it
    layers[0].x[:, : inputs.y.shape[1]] = inputs.y
    end = torch.empty_like(inputs.h0[0])  # the final states, which nobody reads
    per_layer = []
    for k, layer in enumerate(layers):
        arrays = layer_arrays(inputs, k, layer) | {
            "x": inputs_of(k, layers, half), "b": inputs.b[k], "inner": layer.inner, "h_end": end
        }  # fmt: skip
        if inputs.kind in LSTMS:
            arrays["c_end"] = end
        if half:
            arrays |= {"h0_read": inputs.h0[k].bfloat16(), "h_read": layer.h_read}
        per_layer.append(arrays)
    arrays = memory_arrays(inputs, kept, layers) | {"b_q": inputs.b_q}
    call_kernel(inputs, per_layer, arrays)
    return flatten(kept, layers)


def compute_gradients(inputs: AttentionInputs, more: AttentionGradients) -> list[Tensor]:
    """dy, dkeys, dvalues, dW_q, db_q, dv, dw_k, dW_c, then dW, db, dU, dextra, dh0, dc0 of each
    layer."""
    half, before, W, h0, c0 = inputs.half, inputs.before, inputs.W, inputs.h0, inputs.c0
    kept, layers = unflatten(more.kept)
    count, hidden = layers[0].h.shape
    number, single, threads = NUMBER[half], torch.float32, torch.get_num_threads()
    du = [empty(count, len(w), dtype=number) for w in W]
    dx = [empty(count, w.shape[1], dtype=single) for w in W]
    dinner = [empty(*layer.inner.shape, dtype=number) for layer in layers]
    dextra = [e.new_zeros(threads, len(e)) for e in inputs.extra]
    db = [w.new_zeros(threads, len(w)) for w in W]
    dh0, dc0 = [torch.zeros_like(h) for h in h0], [torch.zeros_like(c) for c in c0]
    dh = [empty(count, hidden, dtype=single) for _ in layers]
    if before:
        dh[-1] = more.dstates
    per_layer = []
    for k, layer in enumerate(layers):
        arrays = layer_arrays(inputs, k, layer) | {
            "dh": dh[k], "dx": dx[k], "du": du[k], "dextra": dextra[k],
            "dh0": dh0[k], "dc0": dc0[k], "db": db[k],
        }  # fmt: skip
        if inputs.kind == "gru_after":
            arrays |= {"inner": layer.inner, "dinner": dinner[k]}
        per_layer.append(arrays)
    dq = empty(count, inputs.keys.shape[2], dtype=number)
    djoin = empty(*kept.output.shape, dtype=number)
    dkeys, dvalues = torch.zeros_like(inputs.keys), torch.zeros_like(inputs.values)
    dv, dw_k = (inputs.v.new_zeros(threads, len(weight)) for weight in (inputs.v, inputs.w_k))
    arrays = memory_arrays(inputs, kept, layers) | {
        "doutput": more.doutput, "dstates": more.dstates,
        "dcontext": torch.empty_like(kept.context) if inputs.feeding else more.dcontext.clone(),
        "dq": dq, "dscores": torch.empty_like(kept.alignment), "djoin": djoin,
        "dkeys": dkeys, "dvalues": dvalues, "dv": dv,
    }  # fmt: skip
    if more.dalignment.numel():
        arrays["dalignment"] = more.dalignment
    if inputs.w_k.numel():
        arrays |= {
            "dw_k": dw_k,
            "dcoverage": kept.coverage.new_zeros(len(inputs.sources), inputs.keys.shape[1]),
        }
    if inputs.feeding:
        arrays["dfed"] = torch.zeros_like(h0[0])
    call_kernel(inputs, per_layer, arrays, backward=True)
    steps = PackedSteps(inputs.offsets)
    with torch.autocast("cpu", enabled=False):
        dq, djoin = factor(dq, half), factor(djoin, half)
        top = factor(layers[-1].h_read if half else layers[-1].h, half)
        dW_q, dW_c = torch.empty_like(inputs.W_q), torch.empty_like(inputs.W_c)
        if inputs.W_q.numel():
            start = factor(h0[-1], half)
            dW_q = (steps.outer(dq, top, start, False) if before else outer(dq, top)).float()
        if inputs.feeding:
            dW_c = outer(djoin, factor(kept.joined, half)).float()
        flat = [
            *(dx[0][:, : inputs.y.shape[1]].contiguous(), dkeys, dvalues),
            *(dW_q, dq.sum(0, dtype=single), dv.sum(0), dw_k.sum(0), dW_c),
        ]
        for k, layer in enumerate(layers):
            du[k], dinner[k] = factor(du[k], half), factor(dinner[k], half)
            states = (h0[k], layer.h_read if half else layer.h, layer.inner)
            start, h, inner = (factor(state, half) for state in states)
            flat += [
                input_weights_gradient(factor(inputs_of(k, layers, half), half), du[k], W[k]),
                db[k].sum(0),
                recurrent_weights_gradient(
                    inputs.kind, steps, False, start, h, inner, du[k], dinner[k]
                ).float(),
                *(dextra[k].sum(0), dh0[k], dc0[k]),
            ]
    return flat


def call_kernel(
    inputs: AttentionInputs,
    layers: list[dict[str, Tensor]],
    arrays: dict[str, Tensor],
    *,
    backward: bool = False,
) -> None:
    """The arrays go to C++ by their names, which checks them. Empty ones that a kind does not need
    count as not given."""
    shape = native._kernels.DecoderShape(
        kind=inputs.kind,
        update_new=inputs.update_new,
        before=inputs.before,
        tanh=inputs.v.numel() > 0,
        feeding=inputs.feeding,
        join=inputs.feeding,
        hidden=inputs.h0[0].shape[1],
        tokens=inputs.y.shape[1],
        memory=inputs.values.shape[2],
        units=inputs.keys.shape[2],
    )
    call = native._kernels.run_attention_bf16 if inputs.half else native._kernels.run_attention
    call(shape, backward, inputs.offsets, layers, arrays, torch.get_num_threads())


def shapes(inputs: AttentionInputs) -> list[Tensor]:
    return flatten(*make_kept(inputs, torch.empty))


def gradients_shapes(inputs: AttentionInputs, more: AttentionGradients) -> list[Tensor]:
    attention = (
        *(
            inputs.keys,
            inputs.values,
            inputs.W_q,
            inputs.keys[0, 0],
            inputs.v,
            inputs.w_k,
            inputs.W_c,
        ),
    )
    dy = inputs.keys.new_empty(len(more.dcontext), inputs.y.shape[1])
    flat = [dy, *map(torch.empty_like, attention)]
    for w, *rest in zip(inputs.W, inputs.U, inputs.extra, inputs.h0, inputs.c0):
        flat += map(torch.empty_like, (w, w[:, 0], *rest))
    return flat


attention_decoder = library.define("unspool::attention_decoder", compute, shapes, AttentionInputs)
attention_decoder_gradients = library.define(
    "unspool::attention_decoder_gradients",
    compute_gradients,
    gradients_shapes,
    AttentionInputs,
    AttentionGradients,
)


def keep(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    grouped = AttentionInputs(*inputs)
    # The first layer's x has y; of y itself only the width is wanted again.
    library.save(ctx, grouped._replace(y=grouped.y.new_empty(0, grouped.y.shape[1])), output)


def gradients(ctx: Any, grads: list[Tensor | None]) -> tuple[Any, ...]:
    inputs, flat = library.saved(ctx)
    kept, layers = unflatten(flat)
    of_kept, of_layers = unflatten(grads)
    if of_kept.output is not None and of_layers[-1].h is not None:
        raise RuntimeError("with input feeding a gradient comes by the output alone")

    def by(gradient: Tensor | None, of: Tensor) -> Tensor:
        return torch.zeros_like(of) if gradient is None else gradient.contiguous()

    more = AttentionGradients(
        flat,
        by(of_kept.output, kept.output),
        by(of_layers[-1].h, layers[-1].h),
        by(of_kept.context, kept.context),
        kept.alignment[:0] if of_kept.alignment is None else of_kept.alignment.contiguous(),
    )
    flat_gradients = attention_decoder_gradients(*inputs, *more)
    dy, dkeys, dvalues = flat_gradients[:3]
    weights = zip(flat_gradients[3:8], (inputs.W_q, inputs.b_q, inputs.v, inputs.w_k, inputs.W_c))
    return (
        *(None,) * 7,
        *(dy, dkeys, dvalues, None, None, None),
        *(d if of.numel() else None for d, of in weights),
        None,
        *(flat_gradients[8 + i :: 6] for i in range(6)),
        [None] * len(layers),
    )


attention_decoder.register_autograd(gradients, setup_context=keep)
attention_decoder_gradients.register_autograd(library.refuse_twice)
