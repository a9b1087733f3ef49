"""Layers that may let their input pass."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unspool.nn import init

CARRY_BIAS = -2.0  # of the gate: at first most of the input passes


class Highway(nn.Module):
    """A highway layer (Srivastava et al. 2015), (..., size) -> (..., size).

    g = σ(W_g x + b_g),    y = g ⊙ relu(W x + b) + (1 - g) ⊙ x
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.linear = nn.Linear(size, 2 * size)  # W and W_g
        init.input_matrix_(self.linear.weight, blocks=2)
        nn.init.zeros_(self.linear.bias)
        nn.init.constant_(self.linear.bias.detach()[size:], CARRY_BIAS)

    def forward(self, x: Tensor) -> Tensor:
        y, g = self.linear(x).chunk(2, -1)
        return torch.lerp(x, torch.relu(y).to(x.dtype), torch.sigmoid(g).to(x.dtype))

    def describe(self) -> str:
        return f"highway, {self.size} units"
