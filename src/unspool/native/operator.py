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
from unspool.native.memory import empty
from unspool.native.weights import (
    Steps,
    factor,
    input_weights_gradient,
    peepholes_gradient,
    recurrent_weights_gradient,
)

WIDTH = {False: 16, True: 32}  # by `half`: H, and there I as well, must be a multiple of it
NUMBER = {False: torch.float32, True: torch.bfloat16}  # by `half`: what the products read
LSTMS = ("lstm", "peephole", "peephole_full", "coupled")  # have a cell state
READ_C = ("peephole_full",)  # have products with the cell state
SCANS = ("mingru", "minlstm")  # have no U
ELMANS = ("elman_sigmoid", "elman_tanh", "elman_relu", "elman_leaky_relu", "elman_elu")


# What the kernels are given, in the order of `Job` in cpp/job.h, and which of it may be bfloat16.
ARRAYS = (
    *("x", "W", "b", "U", "extra", "h0", "c0", "gates", "h", "c", "inner", "h_end", "c_end"),
    *("h0_read", "h_read", "c0_read", "c_read"),
    *("dh", "dx", "du", "dinner", "dextra", "dh0", "dc0", "db"),
)
HALF = ("x", "inner", "h0_read", "h_read", "c0_read", "c_read", "du", "dinner")


class Kept(NamedTuple):
    """What the operator returns for a direction; from `gates` on it is for the gradient, and empty
    where it does not need them."""

    h: Tensor  # (N, H)
    h_end: Tensor  # (B, H)
    c_end: Tensor
    gates: Tensor  # (N, G·H); u for the scans, which compute their gates again
    c: Tensor  # (N, H)
    inner: Tensor  # (N, H)
    h_read: Tensor  # (N, H), with `half`: h as bfloat16
    c_read: Tensor  # (N, H), c likewise, where products read it


def per_direction(flat: list[Tensor]) -> list[Kept]:
    size = len(Kept._fields)
    return [Kept(*flat[at : at + size]) for at in range(0, len(flat), size)]


def make_kept(
    kind: str,
    half: bool,
    learning: bool,
    u: Tensor,
    h0: Tensor,
    *,
    empty: Callable[..., Tensor] = empty,
) -> Kept:
    """Unfilled but for `gates`, which is u: the kernels write the gates over it."""
    rows, (batch, hidden) = u.shape[0], h0.shape
    number = NUMBER[half]
    inner = kind == "gru_before" or (learning and kind == "gru_after")
    lstm = kind in LSTMS
    return Kept(
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


def compute(
    kind: str,
    half: bool,
    update_new: bool,
    reverse: list[bool],
    learning: bool,
    offsets: Tensor,
    x: Tensor,
    W: list[Tensor],
    b: list[Tensor],
    U: list[Tensor],
    extra: list[Tensor],
    h0: list[Tensor],
    c0: list[Tensor],
) -> list[Tensor]:
    """`Kept` of the first direction, then of the second."""
    us = [room_for_u(x, *w) for w in zip(W, b)]
    kept = [make_kept(kind, half, learning, *each) for each in zip(us, h0)]
    inputs = W[0].shape[1] if x.is_floating_point() else 0
    given = read(x, half) if inputs else W[0].new_empty(0)
    arrays = [
        [
            *(given, W[d], b[d], U[d], extra[d], h0[d], c0[d]),
            *(k.gates, k.h, k.c, k.inner, k.h_end, k.c_end),
            *(read(h0[d], half), k.h_read if half else k.h),
            *((read(c0[d], half), k.c_read if half else k.c) if kind in READ_C else ()),
        ]
        for d, k in enumerate(kept)
    ]
    call_kernel(kind, half, False, update_new, reverse, offsets, arrays, inputs, h0[0].shape[1])
    return flatten(kind, learning, kept)


def read(x: Tensor, half: bool) -> Tensor:
    """x as the products read it."""
    return x.to(NUMBER[half])


def flatten(kind: str, learning: bool, kept: list[Kept]) -> list[Tensor]:
    if kind in ELMANS or not learning:
        kept = [k._replace(gates=k.gates.new_empty(0)) for k in kept]
    return [tensor for k in kept for tensor in k]


def compute_gradients(
    kind: str,
    half: bool,
    update_new: bool,
    reverse: list[bool],
    input_too: bool,
    offsets: Tensor,
    x: Tensor,
    W: list[Tensor],
    U: list[Tensor],
    extra: list[Tensor],
    h0: list[Tensor],
    c0: list[Tensor],
    kept: list[Tensor],
    dh: list[Tensor],
    dh_end: list[Tensor],
    dc_end: list[Tensor],
) -> list[Tensor]:
    """dx, then dW, db, dU, dextra, dh0, dc0 of each direction."""
    ways = per_direction(kept)
    du = [empty(len(k.h), len(w), dtype=NUMBER[half]) for k, w in zip(ways, W)]
    none = W[0].new_empty(0)
    by_kernel = input_too and x.shape[1] % WIDTH[half] == 0
    dx = [empty(*x.shape, dtype=x.dtype) if by_kernel else none for _ in W]
    dinner = [empty(*k.inner.shape, dtype=k.inner.dtype) for k in ways]
    threads = torch.get_num_threads()
    dextra = [e.new_zeros(threads, len(e)) for e in extra]
    db = [w.new_zeros(threads, len(w)) for w in W]
    dh0, dc0 = [end.clone() for end in dh_end], [end.clone() for end in dc_end]
    arrays = [
        [
            *(none, W[d], none, U[d], extra[d], h0[d], c0[d]),
            *(k.gates, k.h, k.c, k.inner, *(none,) * 6),
            *(dh[d], dx[d], du[d], dinner[d], dextra[d], dh0[d], dc0[d], db[d]),
        ]
        for d, k in enumerate(ways)
    ]
    inputs = x.shape[1] if by_kernel else 0
    call_kernel(kind, half, True, update_new, reverse, offsets, arrays, inputs, h0[0].shape[1])
    steps = None if kind in SCANS else Steps(offsets)
    with torch.autocast("cpu", enabled=False):
        x = factor(x, half) if x.is_floating_point() else x
        flat = []
        for d, k in enumerate(ways):
            du[d], dinner[d] = factor(du[d], half), factor(dinner[d], half)
            states = (h0[d], k.h_read if half else k.h, k.inner)
            start, h, inner = (factor(state, half) for state in states)
            if steps is not None and kind in READ_C:
                cells = (c0[d], k.c_read if half else k.c)
                c_start, c = (factor(state, half) for state in cells)
                dextra[d] = peepholes_gradient(steps, reverse[d], c_start, c, du[d]).float()
            else:
                dextra[d] = dextra[d].sum(0)
            flat += [
                input_weights_gradient(x, du[d], W[d]),
                db[d].sum(0),
                torch.empty_like(U[d])
                if steps is None
                else recurrent_weights_gradient(
                    kind, steps, reverse[d], start, h, inner, du[d], dinner[d]
                ).float(),
                *(dextra[d], dh0[d], dc0[d]),
            ]
        if input_too and not by_kernel:
            dx = [d @ w for d, w in zip(du, W)]
    return [dx[0] if len(dx) == 1 else dx[0].add_(dx[1]), *flat]


def call_kernel(
    kind: str,
    half: bool,
    backward: bool,
    update_new: bool,
    reverse: list[bool],
    offsets: Tensor,
    arrays: list[list[Tensor]],
    inputs: int,
    hidden: int,
) -> None:
    """The only function where addresses are handed over."""
    for array in arrays:
        for name, tensor in zip(ARRAYS, array):
            if tensor.numel():
                check_array(name, tensor, half)
    addresses = [[t.data_ptr() if t.numel() else 0 for t in array] for array in arrays]
    call = native._kernels.run_bf16 if half else native._kernels.run
    call(
        *(kind, backward, hidden, inputs, update_new),
        *(offsets.data_ptr(), len(offsets) - 1, reverse, addresses, torch.get_num_threads()),
    )


def check_array(name: str, tensor: Tensor, half: bool = False) -> None:
    wanted = NUMBER[half and name in HALF]
    if tensor.dtype != wanted or not tensor.is_contiguous():
        raise TypeError(f"the kernels take {name} as contiguous {wanted}, not {tensor.dtype}")


recurrence = torch.library.custom_op("unspool::recurrence", compute, mutates_args=())
recurrence_gradients = torch.library.custom_op(
    "unspool::recurrence_gradients", compute_gradients, mutates_args=()
)


def keep(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    kind, half, update_new, reverse, _, offsets, x, W, _, U, extra, h0, c0 = inputs
    ctx.options = kind, half, update_new, reverse, x.requires_grad
    ctx.directions = len(W)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(offsets, x, *W, *U, *extra, *h0, *c0, *output)


def gradients(ctx: Any, grads: list[Tensor | None]) -> tuple[Any, ...]:
    offsets, x, *saved = ctx.saved_tensors
    D = ctx.directions
    lists = [saved[i * D : (i + 1) * D] for i in range(5)]  # W, U, extra, h0, c0
    kept = saved[5 * D :]

    def given(field: str) -> list[Tensor]:
        """The gradients by one field of each direction, zeros where there is none."""
        at = range(Kept._fields.index(field), len(kept), len(Kept._fields))
        found = [(grads[i], kept[i]) for i in at]
        return [torch.zeros_like(k) if g is None else g.contiguous() for g, k in found]

    dx, *flat = recurrence_gradients(
        *ctx.options, offsets, x, *lists, kept, given("h"), given("h_end"), given("c_end")
    )
    dW, db, dU, dextra, dh0, dc0 = (flat[i::6] for i in range(6))
    options = (None,) * 6
    return (*options, dx if ctx.options[-1] else None, dW, db, dU, dextra, dh0, dc0)


recurrence.register_autograd(gradients, setup_context=keep)


@recurrence.register_fake
def recurrence_shapes(
    kind: str,
    half: bool,
    update_new: bool,
    reverse: list[bool],
    learning: bool,
    offsets: Tensor,
    x: Tensor,
    W: list[Tensor],
    b: list[Tensor],
    U: list[Tensor],
    extra: list[Tensor],
    h0: list[Tensor],
    c0: list[Tensor],
) -> list[Tensor]:
    us = [w.new_empty(x.shape[0], w.shape[0]) for w in W]
    kept = [make_kept(kind, half, learning, *each, empty=torch.empty) for each in zip(us, h0)]
    return flatten(kind, learning, kept)


@recurrence_gradients.register_fake
def gradients_shapes(
    kind: str,
    half: bool,
    update_new: bool,
    reverse: list[bool],
    input_too: bool,
    offsets: Tensor,
    x: Tensor,
    W: list[Tensor],
    U: list[Tensor],
    extra: list[Tensor],
    h0: list[Tensor],
    c0: list[Tensor],
    *_: list[Tensor],
) -> list[Tensor]:
    flat = [torch.empty_like(x) if input_too else h0[0].new_empty(0)]
    for d, w in enumerate(W):
        flat += map(torch.empty_like, (w, w[:, 0], U[d], extra[d], h0[d], c0[d]))
    return flat
