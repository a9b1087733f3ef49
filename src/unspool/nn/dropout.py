"""Dropout that costs little on a CPU.

In: any tensor. Out: in training the same with each element zero with probability `rate`, and the
others larger, so that the mean stays (Srivastava et al. 2014).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

LEVELS = 1 << 16


class Dropout(nn.Module):
    """nn.Dropout with another source of chance: four elements share one 64-bit random number.

    Drawing a number for each element is a tenth of a Transformer's training step. 16 bits round the
    rate to a multiple of 1/65,536, and what remains is scaled by the rounded rate, so the mean is
    exact. Elsewhere than on a CPU it is nn.Dropout.
    """

    def __init__(self, rate: float = 0.0) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"the rate of dropout must be at least 0 and below 1; got {rate}")
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            return F.dropout(x, self.rate)
        return _Drop.apply(x, round(self.rate * LEVELS))

    def extra_repr(self) -> str:
        return f"{self.rate}"


class _Drop(torch.autograd.Function):
    """x with `level` in LEVELS elements zero; the gradient is dropped at the same places."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, level: int) -> Tensor:
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        chance = draws.view(torch.int16)[: x.numel()].view(x.shape)
        dropped = chance < level - LEVELS // 2
        ctx.scale = LEVELS / (LEVELS - level)
        ctx.save_for_backward(dropped)
        return (x * ctx.scale).masked_fill_(dropped, 0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (dropped,) = ctx.saved_tensors
        return (grad * ctx.scale).masked_fill(dropped, 0), None
