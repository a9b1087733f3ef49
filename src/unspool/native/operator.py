"""The torch operator `unspool::recurrence` around the native kernels, with its own gradient.

In: what `recurrence.run` has padded and lined up, for each direction. Out: `Kept`, its states and
what its gradient needs.

    u = x W' + b                  for eight steps at a time
    h_t = cell(u_t, U h_{t-1})    the kernel: one product and one pass over the gates a step
    dW, dU                        one product each for all steps, after the kernel's backward pass

With `half` the products are of bfloat16 with sums in float32; all else stays float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from unspool import native
from unspool.native import library
from unspool.native.arrays import empty
from unspool.native.weights import (
    PackedSteps,
    factor,
    input_weights_gradient,
    peepholes_gradient,
    recurrent_weights_gradient,
)

WIDTH = {False: 16, True: 32}  # by `half`: H, and there I as well, must be a multiple of it
NUMBER = {False: torch.float32, True: torch.bfloat16}  # by `half`: what the products read


def kinds(trait: str, *, have: bool = True) -> tuple[str, ...]:
    """The kinds of kernels that have a trait, or have it not. cpp/kinds.h has the list."""
    every = {} if native._kernels is None else native._kernels.kinds()
    return tuple(kind for kind, traits in every.items() if (trait in traits) == have)


LSTMS = kinds("cell state")
READ_C = kinds("full peepholes")  # have products with the cell state
SCANS = kinds("U", have=False)
ELMANS = kinds("gates", have=False)  # keep nothing but h for their gradient


class Inputs(NamedTuple):
    """The arguments of the operator; those in lists for each direction, empty where a kind has
    none. offsets: see `recurrence.run`."""

    kind: str
    half: bool
    update_new: bool
    reverse: list[bool]
    learning: bool
    offsets: Tensor
    x: Tensor  # (N, I), or integers (N,)
    W: list[Tensor]
    b: list[Tensor]
    U: list[Tensor]
    extra: list[Tensor]
    h0: list[Tensor]
    c0: list[Tensor]


class Gradients(NamedTuple):
    """The arguments of its backward pass that follow those."""

    input_too: bool
    kept: list[Tensor]
    dh: list[Tensor]
    dh_end: list[Tensor]
    dc_end: list[Tensor]


class Saved(NamedTuple):
    """Outputs of one direction; `gates` and what follows serve the gradient, and are empty without
    one."""

    h: Tensor  # (N, H)
    h_end: Tensor  # (B, H)
    c_end: Tensor
    gates: Tensor  # (N, G·H); u for the scans, which compute their gates again
    c: Tensor  # (N, H)
    inner: Tensor  # (N, H)
    h_read: Tensor  # (N, H), with `half`: h as bfloat16
    c_read: Tensor  # (N, H), c likewise, where products read it


def per_direction(flat: list[Tensor]) -> list[Saved]:
    size = len(Saved._fields)
    return [Saved(*flat[at : at + size]) for at in range(0, len(flat), size)]


def make_kept(
    kind: str,
    half: bool,
    learning: bool,
    u: Tensor,
    h0: Tensor,
    *,
    empty: Callable[..., Tensor] = empty,
) -> Saved:
    """Unfilled but for `gates`, which is u: the kernels write the gates over it."""
    rows, (batch, hidden) = u.shape[0], h0.shape
    number = NUMBER[half]
    inner = kind == "gru_before" or (learning and kind == "gru_after")
    lstm = kind in LSTMS
    return Saved(
        h=empty(rows, hidden, dtype=u.dtype),
        h_end=u.new_empty(batch, hidden),
        c_end=u.new_empty(batch if lstm else 0, hidden),
        gates=u,
        c=empty(rows if lstm else 0, hidden, dtype=u.dtype),
        inner=empty(rows if inner else 0, hidden, dtype=number),
        h_read=empty(rows if half else 0, hidden, dtype=number),
        c_read=empty(rows if half and kind in READ_C else 0, hidden, dtype=number),
    )


def room_for_u(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """(N, G·H): unfilled, the kernel's product fills it; for integers x, columns of W."""
    if x.is_floating_point():
        return empty(x.shape[0], W.shape[0], dtype=x.dtype)
    return F.embedding(x, W.t()).add_(b)


def compute(call: Inputs) -> list[Tensor]:
    """`Saved` of the first direction, then of the second."""
    kind, half, x = call.kind, call.half, call.x
    us = [room_for_u(x, *w) for w in zip(call.W, call.b)]
    kept = [make_kept(kind, half, call.learning, *each) for each in zip(us, call.h0)]
    inputs = call.W[0].shape[1] if x.is_floating_point() else 0
    x = x.to(NUMBER[half]) if inputs else x
    arrays = []
    for d, k in enumerate(kept):
        arrays.append(
            {
                "U": call.U[d], "extra": call.extra[d], "h0": call.h0[d], "c0": call.c0[d],
                "gates": k.gates, "h": k.h, "c": k.c, "inner": k.inner,
                "h_end": k.h_end, "c_end": k.c_end,
            }
        )  # fmt: skip
        if inputs:
            arrays[d] |= {"x": x, "W": call.W[d], "b": call.b[d]}
        if half:
            arrays[d] |= {"h0_read": call.h0[d].bfloat16(), "h_read": k.h_read}
            if kind in READ_C:
                arrays[d] |= {"c0_read": call.c0[d].bfloat16(), "c_read": k.c_read}
    call_kernel(call, arrays, inputs)
    return flatten(kind, call.learning, kept)


def flatten(kind: str, learning: bool, kept: list[Saved]) -> list[Tensor]:
    if kind in ELMANS or not learning:
        kept = [k._replace(gates=k.gates.new_empty(0)) for k in kept]
    return [tensor for k in kept for tensor in k]


def compute_gradients(inputs: Inputs, more: Gradients) -> list[Tensor]:
    """dx, then dW, db, dU, dextra, dh0, dc0 of each direction."""
    kind, half, x, W, h0, c0 = inputs.kind, inputs.half, inputs.x, inputs.W, inputs.h0, inputs.c0
    ways = per_direction(more.kept)
    du = [empty(len(k.h), len(w), dtype=NUMBER[half]) for k, w in zip(ways, W)]
    by_kernel = more.input_too and x.shape[1] % WIDTH[half] == 0
    dx = [empty(*x.shape, dtype=x.dtype) if by_kernel else x.new_empty(0) for _ in W]
    dinner = [empty(*k.inner.shape, dtype=k.inner.dtype) for k in ways]
    threads = torch.get_num_threads()
    dextra = [e.new_zeros(threads, len(e)) for e in inputs.extra]
    db = [w.new_zeros(threads, len(w)) for w in W]
    dh0, dc0 = [end.clone() for end in more.dh_end], [end.clone() for end in more.dc_end]
    arrays = []
    for d, k in enumerate(ways):
        arrays.append(
            {
                "U": inputs.U[d], "extra": inputs.extra[d], "h0": h0[d], "c0": c0[d],
                "gates": k.gates, "h": k.h, "c": k.c,
                "dh": more.dh[d], "du": du[d], "dh0": dh0[d], "dc0": dc0[d], "db": db[d],
            }
        )  # fmt: skip
        if by_kernel:
            arrays[d] |= {"W": W[d], "dx": dx[d]}
        if kind == "gru_after":
            arrays[d] |= {"inner": k.inner, "dinner": dinner[d]}
        if kind not in READ_C:
            arrays[d]["dextra"] = dextra[d]
    call_kernel(inputs, arrays, x.shape[1] if by_kernel else 0, backward=True)
    steps = None if kind in SCANS else PackedSteps(inputs.offsets)
    with torch.autocast("cpu", enabled=False):
        x = factor(x, half) if x.is_floating_point() else x
        flat = []
        for d, k in enumerate(ways):
            reverse = inputs.reverse[d]
            du[d], dinner[d] = factor(du[d], half), factor(dinner[d], half)
            states = (h0[d], k.h_read if half else k.h, k.inner)
            start, h, inner = (factor(state, half) for state in states)
            if steps is not None and kind in READ_C:
                cells = (c0[d], k.c_read if half else k.c)
                c_start, c = (factor(state, half) for state in cells)
                dextra[d] = peepholes_gradient(steps, reverse, c_start, c, du[d]).float()
            else:
                dextra[d] = dextra[d].sum(0)
            flat += [
                input_weights_gradient(x, du[d], W[d]),
                db[d].sum(0),
                torch.empty_like(inputs.U[d])
                if steps is None
                else recurrent_weights_gradient(
                    kind, steps, reverse, start, h, inner, du[d], dinner[d]
                ).float(),
                *(dextra[d], dh0[d], dc0[d]),
            ]
        if more.input_too and not by_kernel:
            dx = [d @ w for d, w in zip(du, W)]
    return [dx[0] if len(dx) == 1 else dx[0].add_(dx[1]), *flat]


def call_kernel(
    call_inputs: Inputs, arrays: list[dict[str, Tensor]], inputs: int, *, backward: bool = False
) -> None:
    """The arrays of each direction, by their names in cpp/kinds.h, go to C++, which checks them.
    Empty ones that a kind does not need count as not given."""
    call = native._kernels.run_bf16 if call_inputs.half else native._kernels.run
    call(
        *(call_inputs.kind, backward, call_inputs.h0[0].shape[1], inputs, call_inputs.update_new),
        *(call_inputs.offsets, call_inputs.reverse, arrays, torch.get_num_threads()),
    )


def shapes(inputs: Inputs) -> list[Tensor]:
    us = [w.new_empty(inputs.x.shape[0], w.shape[0]) for w in inputs.W]
    kept = [
        make_kept(inputs.kind, inputs.half, inputs.learning, *each, empty=torch.empty)
        for each in zip(us, inputs.h0)
    ]
    return flatten(inputs.kind, inputs.learning, kept)


def gradients_shapes(inputs: Inputs, more: Gradients) -> list[Tensor]:
    flat = [torch.empty_like(inputs.x) if more.input_too else inputs.h0[0].new_empty(0)]
    for w, *rest in zip(inputs.W, inputs.U, inputs.extra, inputs.h0, inputs.c0):
        flat += map(torch.empty_like, (w, w[:, 0], *rest))
    return flat


recurrence = library.define("unspool::recurrence", compute, shapes, Inputs)
recurrence_gradients = library.define(
    "unspool::recurrence_gradients", compute_gradients, gradients_shapes, Inputs, Gradients
)


def keep(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    grouped = Inputs(*inputs)
    ctx.input_too = grouped.x.requires_grad
    library.save(ctx, grouped, output)


def gradients(ctx: Any, grads: list[Tensor | None]) -> tuple[Any, ...]:
    inputs, kept = library.saved(ctx)

    def by(field: str) -> list[Tensor]:
        """The gradients by one field of each direction, zeros where there is none."""
        at = range(Saved._fields.index(field), len(kept), len(Saved._fields))
        pairs = [(grads[i], kept[i]) for i in at]
        return [torch.zeros_like(k) if g is None else g.contiguous() for g, k in pairs]

    more = Gradients(ctx.input_too, kept, by("h"), by("h_end"), by("c_end"))
    dx, *flat = recurrence_gradients(*inputs, *more)
    dW, db, dU, dextra, dh0, dc0 = (flat[i::6] for i in range(6))
    options = (None,) * 6
    return (*options, dx if ctx.input_too else None, dW, db, dU, dextra, dh0, dc0)


recurrence.register_autograd(gradients, setup_context=keep)
recurrence_gradients.register_autograd(library.refuse_twice)
