"""Recurrent decoders with attention over whole target sequences, by the native kernels.

In: packed token vectors y (N, E), a memory ready to be read, the weights of the cells and of the
attention, the start state. Out: a `Decoded`. The operator `unspool::attention_decoder` has its own
gradient. The readable reference is the loop over `RecurrentDecoder._advance`.

    before    c_t = attend(s_{t-1}), s_t = cell([y_t; c_t], s_{t-1})                     Bahdanau
    after     s_t = cell([y_t; h~_{t-1}], s_{t-1}), c_t = attend(s_t)                       Luong
              h~_t = m_t ⊙ tanh(W_c [c_t; s_t])                      with input feeding alone

The gradients of the weights are one product each over all steps, after the kernel's backward pass.
With `half` the products are of bfloat16 with sums in float32; all else stays float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from unspool import native
from unspool.native import operator
from unspool.native.memory import empty
from unspool.native.operator import LSTMS, NUMBER, READ_C, SCANS, WIDTH, check_array, read
from unspool.native.recurrence import KernelWeights, blocks, is_half, padded
from unspool.native.weights import (
    Steps,
    factor,
    input_weights_gradient,
    outer,
    recurrent_weights_gradient,
)

# What the kernels are given, in the order of `AttentionJob` in cpp/attention_decoder.h.
ARRAYS = (
    *("keys", "values", "positions", "counts", "sources", "W_q", "b_q", "v", "W_c", "mask", "fed"),
    *("q", "alignment", "context", "joined", "output", "doutput", "dstates", "dcontext", "dq"),
    *("dscores", "djoin", "dkeys", "dvalues", "dv", "dfed"),
)
HALF = ("joined", "dq", "djoin")
INTEGERS = ("positions", "counts", "sources")


class Source(NamedTuple):
    """A memory that is ready to be read, and which of its B sequences each row reads.

    positions   (B, S) int32: the real positions of each sequence first; `counts` (B,) of them
    rows        (R,) int32
    """

    keys: Tensor  # (B, S, A)
    values: Tensor  # (B, S, D)
    positions: Tensor
    counts: Tensor
    rows: Tensor

    @classmethod
    def of(cls, keys: Tensor, values: Tensor, keep: Tensor | None, rows: Tensor | None) -> Source:
        batch, size = keys.shape[:2]
        if keep is None:
            positions = torch.arange(size, dtype=torch.int32).expand(batch, -1)
            counts = torch.full((batch,), size, dtype=torch.int32)
        else:
            positions = (~keep).sort(dim=-1, stable=True).indices.int()
            counts = keep.sum(-1, dtype=torch.int32)
        rows = torch.arange(batch) if rows is None else rows
        return cls(keys, values, positions.contiguous(), counts, rows.int())


class Weights(NamedTuple):
    """Of a decoder; None where it has none.

    cells      of each layer's cell; the first reads [y; c] (before), [y; h~] (feeding) or y
    W_q, b_q   (A, H), (A,): what is compared with the keys is W_q s + b_q; None: s
    v          (A,): scores are v' tanh(query + key); None: products
    W_c        (H, D + H), with `feeding`
    """

    cells: list[KernelWeights]
    before: bool
    feeding: bool
    W_q: Tensor | None
    b_q: Tensor | None
    v: Tensor | None
    W_c: Tensor


class Decoded(NamedTuple):
    """Of N packed tokens. `output` is h~, with feeding alone."""

    states: Tensor  # (N, H): of the top layer
    context: Tensor  # (N, D)
    alignment: Tensor  # (N, S)
    output: Tensor | None  # (N, H)


class Options(NamedTuple):
    """The options of the operator."""

    kind: str
    half: bool
    update_new: bool
    before: bool
    feeding: bool
    learning: bool


class Layer(NamedTuple):
    """What a layer leaves, for its gradient too; empty where that does not need it."""

    x: Tensor  # (N, I); empty: the states below, as they are
    h: Tensor  # (N, H)
    gates: Tensor  # (N, G·H)
    c: Tensor  # (N, H)
    inner: Tensor  # (N, H)
    h_read: Tensor  # (N, H), with `half`: h as bfloat16


class Kept(NamedTuple):
    """What the operator returns before its layers."""

    output: Tensor  # (N, H)
    context: Tensor  # (N, D)
    alignment: Tensor  # (N, S)
    q: Tensor  # (N, A); empty: the states
    joined: Tensor  # (N, D + H)


def run(
    y: Tensor,
    source: Source,
    weights: Weights,
    starts: list[tuple[Tensor, ...]],
    offsets: Tensor,
    *,
    mask: Tensor | None,
    masks: list[Tensor | None],
) -> Decoded:
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
    tensors = [
        laid_out(y, 0, pads.token),
        *(laid_out(source.keys, 0, pads.score), laid_out(source.values, 0, pads.memory)),
        *(source.positions, source.counts, source.rows),
        *ready.attention,
        none if mask is None else laid_out(mask, 0, unit),
    ]
    lists = [
        *ready.layers,
        [laid_out(state[0], 0, unit) for state in starts],
        [laid_out(state[1], 0, unit) if len(state) > 1 else none for state in starts],
    ]
    every = [none if m is None else laid_out(m, 0, unit) for m in masks]
    learning = torch.is_grad_enabled() and any(
        t.requires_grad for values in [tensors, *lists] for t in values
    )
    options = Options(cell.kind, half, cell.update_new, weights.before, weights.feeding, learning)
    direct: Any = compute
    call = attention_decoder if learning or torch.compiler.is_compiling() else direct
    flat = call(*options, offsets, *tensors, *lists, every)
    kept, layers = unflatten(flat)
    return Decoded(
        layers[-1].h[:, :hidden],
        kept.context[:, :memory],
        kept.alignment,
        kept.output[:, :hidden] if weights.feeding else None,
    )


class Pads(NamedTuple):
    """What is added to sizes so that they are multiples of what the kernels take."""

    hidden: int
    token: int
    memory: int
    score: int

    @classmethod
    def of(cls, hidden: int, token: int, memory: int, score: int, width: int) -> Pads:
        return cls(-hidden % width, -token % width, -memory % width, -score % width)


class PaddedWeights(NamedTuple):
    layers: list[list[Tensor]]  # W, b, U and extra, each of all layers
    attention: list[Tensor]  # W_q, b_q, v, W_c


def pad_weights(weights: Weights, pads: Pads, *, join: bool) -> PaddedWeights:
    """With zeros; empty where there is none. W_c is wanted where `join`."""
    cell = weights.cells[0]
    none, hidden, unit = cell.b.new_empty(0), weights.W_c.shape[0], pads.hidden
    memory = weights.W_c.shape[1] - hidden
    fed = memory if weights.before else hidden if weights.feeding else 0
    lists: list[list[Tensor]] = [[], [], [], []]
    for k, each in enumerate(weights.cells):
        assert each.U is not None
        rows, columns = (0, 0, 0, unit), (0, unit)
        W = padded(each.W, columns)
        if k == 0:
            read = pads.memory if weights.before else unit if weights.feeding else 0
            W = pad_parts(each.W, each.W.shape[1] - fed, pads.token, read)
        given = (
            blocks(W, 0, hidden, rows),
            blocks(each.b, 0, hidden, columns),
            blocks(padded(each.U, columns), 0, hidden, rows),
            none if each.extra is None else blocks(each.extra, 0, hidden, columns),
        )
        for values, value in zip(lists, given):
            values.append(value.contiguous())
    W_q, b_q, v = weights.W_q, weights.b_q, weights.v
    W_c = pad_parts(weights.W_c, memory, pads.memory, unit) if join else None
    attention = [
        none if W_q is None else laid_out(W_q, 0, unit, 0, pads.score),
        none if b_q is None else laid_out(b_q, 0, pads.score),
        none if v is None else laid_out(v, 0, pads.score),
        none if W_c is None else laid_out(W_c, 0, 0, 0, unit),
    ]
    return PaddedWeights(lists, attention)


def pad_parts(W: Tensor, first: int, pad: int, other: int) -> Tensor:
    """W whose `first` columns are padded, and the others on their own."""
    if not pad and not other:
        return W
    a, b = W.split([first, W.shape[1] - first], 1)
    return torch.cat([padded(a, (0, pad)), padded(b, (0, other))], 1)


def laid_out(x: Tensor, *pad: int) -> Tensor:
    """As the kernels take it."""
    return padded(x.float(), pad).contiguous()


def unsupported_reason(cells: list[KernelWeights | None]) -> str | None:
    """None where there are kernels for these cells, otherwise why not."""
    for cell in cells:
        if cell is None:
            return "its cell has no native kernel"
        if cell.kind in (*SCANS, *READ_C):
            return f"decoders of {cell.kind} with attention have no native kernel"
    return None


def make_kept(
    options: Options,
    offsets: Tensor,
    y: Tensor,
    keys: Tensor,
    values: Tensor,
    W_q: Tensor,
    W: list[Tensor],
    h0: list[Tensor],
    masks: list[Tensor],
    *,
    empty: Callable[..., Tensor] = empty,
) -> tuple[Kept, list[Layer]]:
    """Unfilled."""
    rows, hidden = len(y), h0[0].shape[1]
    (_, size, units), memory = keys.shape, values.shape[2]
    number, single = NUMBER[options.half], torch.float32
    kept = Kept(
        output=empty(rows if options.feeding else 0, hidden, dtype=single),
        context=empty(rows, memory, dtype=single),
        alignment=empty(rows, size, dtype=single),
        q=empty(rows if W_q.numel() else 0, units, dtype=single),
        joined=empty(rows if options.feeding else 0, memory + hidden, dtype=number),
    )
    kind = options.kind
    inner = kind == "gru_before" or (options.learning and kind == "gru_after")
    layers = [
        Layer(
            x=empty(rows if k == 0 or masks[k].numel() else 0, w.shape[1], dtype=number),
            h=empty(rows, hidden, dtype=single),
            gates=empty(rows, len(w), dtype=single),
            c=empty(rows if kind in LSTMS else 0, hidden, dtype=single),
            inner=empty(rows if inner else 0, hidden, dtype=number),
            h_read=empty(rows if options.half else 0, hidden, dtype=number),
        )
        for k, w in enumerate(W)
    ]
    return kept, layers


def flatten(kept: Kept, layers: list[Layer]) -> list[Tensor]:
    return [*kept, *(tensor for layer in layers for tensor in layer)]


def unflatten(flat: list[Any]) -> tuple[Kept, list[Layer]]:
    first, size = len(Kept._fields), len(Layer._fields)
    layers = [Layer(*flat[at : at + size]) for at in range(first, len(flat), size)]
    return Kept(*flat[:first]), layers


def inputs_of(k: int, layers: list[Layer], half: bool) -> Tensor:
    """x (N, I) of layer k."""
    if k == 0 or layers[k].x.numel():
        return layers[k].x
    return layers[k - 1].h_read if half else layers[k - 1].h


def compute(
    kind: str,
    half: bool,
    update_new: bool,
    before: bool,
    feeding: bool,
    learning: bool,
    offsets: Tensor,
    y: Tensor,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    counts: Tensor,
    rows: Tensor,
    W_q: Tensor,
    b_q: Tensor,
    v: Tensor,
    W_c: Tensor,
    mask: Tensor,
    W: list[Tensor],
    b: list[Tensor],
    U: list[Tensor],
    extra: list[Tensor],
    h0: list[Tensor],
    c0: list[Tensor],
    masks: list[Tensor],
) -> list[Tensor]:
    """`Kept`, then a `Layer` for each."""
    options = Options(kind, half, update_new, before, feeding, learning)
    kept, layers = make_kept(options, offsets, y, keys, values, W_q, W, h0, masks)
    layers[0].x[:, : y.shape[1]] = y
    none = h0[0].new_empty(0)
    end = torch.empty_like(h0[0])  # the final states, which nobody reads
    per_layer = [
        [
            *(inputs_of(k, layers, half), W[k], b[k], U[k], extra[k], h0[k], c0[k]),
            *(layer.gates, layer.h, layer.c, layer.inner, end, end if kind in LSTMS else none),
            *(read(h0[k], half), layer.h_read if half else layer.h, none, none),
        ]
        for k, layer in enumerate(layers)
    ]
    arrays = [
        *(keys, values, positions, counts, rows, W_q, b_q, v, W_c, mask, none),
        *(kept.q if W_q.numel() else layers[-1].h, kept.alignment, kept.context),
        *(kept.joined, kept.output),
    ]
    call_kernel(options, False, offsets, y.shape[1], per_layer, masks, arrays, keys, values, h0)
    return flatten(kept, layers)


def compute_gradients(
    kind: str,
    half: bool,
    update_new: bool,
    before: bool,
    feeding: bool,
    offsets: Tensor,
    tokens: int,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    counts: Tensor,
    rows: Tensor,
    W_q: Tensor,
    v: Tensor,
    W_c: Tensor,
    mask: Tensor,
    W: list[Tensor],
    U: list[Tensor],
    extra: list[Tensor],
    h0: list[Tensor],
    c0: list[Tensor],
    masks: list[Tensor],
    kept_flat: list[Tensor],
    doutput: Tensor,
    dstates: Tensor,
    dcontext: Tensor,
) -> list[Tensor]:
    """dy, dkeys, dvalues, dW_q, db_q, dv, dW_c, then dW, db, dU, dextra, dh0, dc0 of each layer."""
    options = Options(kind, half, update_new, before, feeding, True)
    kept, layers = unflatten(kept_flat)
    count, hidden = layers[0].h.shape
    number, single, threads = NUMBER[half], torch.float32, torch.get_num_threads()
    none = h0[0].new_empty(0)
    xs = [inputs_of(k, layers, half) for k in range(len(layers))]
    du = [empty(count, len(w), dtype=number) for w in W]
    dx = [empty(count, w.shape[1], dtype=single) for w in W]
    dinner = [empty(*layer.inner.shape, dtype=number) for layer in layers]
    dextra = [e.new_zeros(threads, len(e)) for e in extra]
    db = [w.new_zeros(threads, len(w)) for w in W]
    dh0, dc0 = [torch.zeros_like(h) for h in h0], [torch.zeros_like(c) for c in c0]
    dh = [empty(count, hidden, dtype=single) for _ in layers]
    if before:
        dh[-1] = dstates
    per_layer = [
        [
            *(none, W[k], none, U[k], extra[k], h0[k], c0[k]),
            *(layer.gates, layer.h, layer.c, layer.inner, none, none),
            *(read(h0[k], half), layer.h_read if half else layer.h, none, none),
            *(dh[k], dx[k], du[k], dinner[k], dextra[k], dh0[k], dc0[k], db[k]),
        ]
        for k, layer in enumerate(layers)
    ]
    dcontext = torch.empty_like(kept.context) if feeding else dcontext.clone()
    dq = empty(count, keys.shape[2], dtype=number)
    dscores, djoin = torch.empty_like(kept.alignment), empty(*kept.output.shape, dtype=number)
    dkeys, dvalues = torch.zeros_like(keys), torch.zeros_like(values)
    dv = v.new_zeros(threads, len(v))
    dfed = torch.zeros_like(h0[0])
    arrays = [
        *(keys, values, positions, counts, rows, W_q, none, v, W_c, mask, none),
        *(kept.q if W_q.numel() else layers[-1].h, kept.alignment, kept.context),
        *(kept.joined, kept.output, doutput, dstates, dcontext, dq, dscores, djoin),
        *(dkeys, dvalues, dv, dfed),
    ]
    call_kernel(options, True, offsets, tokens, per_layer, masks, arrays, keys, values, h0)
    steps = Steps(offsets)
    with torch.autocast("cpu", enabled=False):
        dq, djoin = factor(dq, half), factor(djoin, half)
        top = factor(layers[-1].h_read if half else layers[-1].h, half)
        dW_q = torch.empty_like(W_q)
        if W_q.numel():
            start = factor(h0[-1], half)
            dW_q = (steps.outer(dq, top, start, False) if before else outer(dq, top)).float()
        dW_c = outer(djoin, factor(kept.joined, half)).float() if feeding else none.clone()
        flat = [
            *(dx[0][:, :tokens].contiguous(), dkeys, dvalues),
            *(dW_q, dq.sum(0, dtype=single), dv.sum(0), dW_c),
        ]
        for k, layer in enumerate(layers):
            du[k], dinner[k] = factor(du[k], half), factor(dinner[k], half)
            states = (h0[k], layer.h_read if half else layer.h, layer.inner)
            start, h, inner = (factor(state, half) for state in states)
            flat += [
                input_weights_gradient(factor(xs[k], half), du[k], W[k]),
                db[k].sum(0),
                recurrent_weights_gradient(
                    kind, steps, False, start, h, inner, du[k], dinner[k]
                ).float(),
                *(dextra[k].sum(0), dh0[k], dc0[k]),
            ]
    return flat


def call_kernel(
    options: Options,
    backward: bool,
    offsets: Tensor,
    tokens: int,
    layers: list[list[Tensor]],
    masks: list[Tensor],
    arrays: list[Tensor],
    keys: Tensor,
    values: Tensor,
    h0: list[Tensor],
) -> None:
    """The only function where addresses are handed over."""
    for layer in layers:
        for name, tensor in zip(operator.ARRAYS, layer):
            if tensor.numel():
                check_array(name, tensor, options.half)
    for name, tensor in zip(ARRAYS, arrays):
        wanted = NUMBER[options.half and name in HALF]
        if name in INTEGERS:
            wanted = torch.int32
        if tensor.numel() and (tensor.dtype != wanted or not tensor.is_contiguous()):
            raise TypeError(f"the kernels take {name} as contiguous {wanted}, not {tensor.dtype}")

    def addresses(tensors: list[Tensor]) -> list[int]:
        return [t.data_ptr() if t.numel() else 0 for t in tensors]

    shape = native._kernels.DecoderShape(
        *(options.kind, options.update_new, options.before),
        *(arrays[ARRAYS.index("v")].numel() > 0, options.feeding, options.feeding),
        *(h0[0].shape[1], tokens, values.shape[2], keys.shape[2]),
    )
    call = native._kernels.run_attention_bf16 if options.half else native._kernels.run_attention
    call(
        *(shape, backward, keys.shape[1], offsets.data_ptr(), len(offsets) - 1),
        *([addresses(layer) for layer in layers], addresses(masks), addresses(arrays)),
        *(layers[0][4].numel(), torch.get_num_threads()),
    )


attention_decoder = torch.library.custom_op("unspool::attention_decoder", compute, mutates_args=())
attention_decoder_gradients = torch.library.custom_op(
    "unspool::attention_decoder_gradients", compute_gradients, mutates_args=()
)


def keep(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    options, offsets, tensors, lists = inputs[:5], inputs[6], inputs[7:18], inputs[18:]
    ctx.options, ctx.tokens, ctx.layers = options, tensors[0].shape[1], len(lists[0])
    ctx.set_materialize_grads(False)
    saved = [t for values in lists for t in values]
    ctx.save_for_backward(offsets, *tensors[1:], *saved, *output)


def gradients(ctx: Any, grads: list[Tensor | None]) -> tuple[Any, ...]:
    offsets, keys, values, positions, counts, rows, W_q, b_q, v, W_c, mask, *rest = (
        ctx.saved_tensors
    )
    L = ctx.layers
    W, _, U, extra, h0, c0, masks = (rest[i * L : (i + 1) * L] for i in range(7))
    flat = rest[7 * L :]
    kept, layers = unflatten(flat)
    of_kept, of_layers = unflatten(grads)
    if of_kept.alignment is not None:
        raise RuntimeError("the native decoder gives no gradient by its alignment")

    def given(gradient: Tensor | None, of: Tensor) -> Tensor:
        return torch.zeros_like(of) if gradient is None else gradient.contiguous()

    if of_kept.output is not None and of_layers[-1].h is not None:
        raise RuntimeError("with input feeding a gradient comes by the output alone")
    dy, dkeys, dvalues, dW_q, db_q, dv, dW_c, *flat = attention_decoder_gradients(
        *(*ctx.options, offsets, ctx.tokens, keys, values, positions, counts, rows),
        *(W_q, v, W_c, mask, W, U, extra, h0, c0, masks, flat),
        *(given(of_kept.output, kept.output), given(of_layers[-1].h, layers[-1].h)),
        given(of_kept.context, kept.context),
    )
    dW, db, dU, dextra, dh0, dc0 = (flat[i::6] for i in range(6))
    return (
        *(None,) * 7,
        *(dy, dkeys, dvalues, None, None, None),
        *(dW_q if W_q.numel() else None, db_q if b_q.numel() else None),
        *(dv if v.numel() else None, dW_c if W_c.numel() else None, None),
        *(dW, db, dU, dextra, dh0, dc0, [None] * L),
    )


attention_decoder.register_autograd(gradients, setup_context=keep)


@attention_decoder.register_fake
def decoder_shapes(
    kind: str,
    half: bool,
    update_new: bool,
    before: bool,
    feeding: bool,
    learning: bool,
    offsets: Tensor,
    y: Tensor,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    counts: Tensor,
    rows: Tensor,
    W_q: Tensor,
    b_q: Tensor,
    v: Tensor,
    W_c: Tensor,
    mask: Tensor,
    W: list[Tensor],
    b: list[Tensor],
    U: list[Tensor],
    extra: list[Tensor],
    h0: list[Tensor],
    c0: list[Tensor],
    masks: list[Tensor],
) -> list[Tensor]:
    options = Options(kind, half, update_new, before, feeding, learning)
    made = make_kept(options, offsets, y, keys, values, W_q, W, h0, masks, empty=torch.empty)
    return flatten(*made)


@attention_decoder_gradients.register_fake
def gradients_shapes(
    kind: str,
    half: bool,
    update_new: bool,
    before: bool,
    feeding: bool,
    offsets: Tensor,
    tokens: int,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    counts: Tensor,
    rows: Tensor,
    W_q: Tensor,
    v: Tensor,
    W_c: Tensor,
    mask: Tensor,
    W: list[Tensor],
    U: list[Tensor],
    extra: list[Tensor],
    h0: list[Tensor],
    c0: list[Tensor],
    masks: list[Tensor],
    kept_flat: list[Tensor],
    doutput: Tensor,
    dstates: Tensor,
    dcontext: Tensor,
) -> list[Tensor]:
    made = map(torch.empty_like, (keys, values, W_q, keys[0, 0], v, W_c))
    flat = [keys.new_empty(len(dcontext), tokens), *made]
    for k, w in enumerate(W):
        flat += map(torch.empty_like, (w, w[:, 0], U[k], extra[k], h0[k], c0[k]))
    return flat
