"""Linear recurrences over a whole sequence.

In: coefficients a, b (B, T, H) and a start h_0 (B, H). Out: all h_t (B, T, H) of

    h_t = a_t ⊙ h_{t-1} + b_t

Two forms that agree: a loop over time with a hand-written gradient (the fastest on a CPU: three
reads and a write an element), and doubling, whose depth is log2 T (Hillis & Steele 1986).
A step with a = 1, b = 0 keeps the state: that is what padding becomes.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


def linear_scan(
    a: Tensor, b: Tensor, h0: Tensor, *, method: Literal["loop", "doubling"] = "loop"
) -> Tensor:
    """All states h_1 .. h_T of h_t = a_t ⊙ h_{t-1} + b_t: (B, T, H)."""
    dtype = torch.promote_types(torch.promote_types(a.dtype, b.dtype), h0.dtype)
    a, b, h0 = a.to(dtype), b.to(dtype), h0.to(dtype)
    return _Loop.apply(a, b, h0) if method == "loop" else _doubling(a, b, h0)


class _Loop(torch.autograd.Function):
    """With g_t the gradient of the loss by h_t, through the output and through the future:

    g_t = ∂L/∂h_t + a_{t+1} ⊙ g_{t+1},    ∂L/∂b_t = g_t,    ∂L/∂a_t = g_t ⊙ h_{t-1}
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, h0: Tensor) -> Tensor:
        h = torch.empty_like(b)
        previous = h0
        for a_t, b_t, h_t in zip(a.unbind(1), b.unbind(1), h.unbind(1)):
            torch.addcmul(b_t, a_t, previous, out=h_t)
            previous = h_t
        ctx.save_for_backward(a, h, h0)
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, h, h0 = ctx.saved_tensors
        g = torch.empty_like(h)
        g[:, -1] = grad[:, -1]
        steps = list(zip(a.unbind(1), g.unbind(1), grad.unbind(1)))
        for (_, g_t, grad_t), (a_next, g_next, _) in zip(steps[-2::-1], steps[:0:-1]):
            torch.addcmul(grad_t, a_next, g_next, out=g_t)
        before = torch.cat([h0[:, None], h[:, :-1]], 1)  # (B, T, H), h_{t-1}
        return g * before, g, a[:, 0] * g[:, 0]


def _doubling(a: Tensor, b: Tensor, h0: Tensor) -> Tensor:
    """After the round with span k, (a_t, b_t) carry h over the 2k steps that end at t."""
    span, steps = 1, a.shape[1]
    while span < steps:
        a_before = F.pad(a[:, :-span], (0, 0, span, 0), value=1.0)
        b_before = F.pad(b[:, :-span], (0, 0, span, 0))
        a, b = a * a_before, a * b_before + b
        span *= 2
    return a * h0[:, None] + b
