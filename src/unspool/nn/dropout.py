"""Dropout (Srivastava et al. 2014).

In: x, any shape. Out: the same shape; in training each element is zero with probability p, and the
others are divided by 1 − p, so that what follows expects the same sum.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from unspool.native import arrays


def dropout(x: Tensor, p: float) -> Tensor:
    """x ⊙ m / (1 − p), m ~ Bernoulli(1 − p), after torch's generator."""
    if 0 < p < 1 and arrays.can_pass(x):
        return _Dropout.apply(x, p)
    if 0 < p < 1 and x.dim() > 1 and arrays.can_pass(x.transpose(0, 1)):
        # Time before batch in memory, as recurrent layers leave sequences of the same length.
        return _Dropout.apply(x.transpose(0, 1), p).transpose(0, 1)
    return F.dropout(x, p)


class Dropout(nn.Module):
    """`dropout` in training, otherwise nothing."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training and self.p else x

    def extra_repr(self) -> str:
        return f"{self.p:g}"


class _Dropout(torch.autograd.Function):
    """The mask is a function of one number, and is computed again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        ctx.p = p
        ctx.key = int(torch.empty((), dtype=torch.int64).random_())
        return arrays.dropout(x, p, ctx.key)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None]:
        return arrays.dropout(dy.contiguous(), ctx.p, ctx.key), None
