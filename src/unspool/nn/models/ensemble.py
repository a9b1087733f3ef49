"""Several models of one task in, the mean of their answers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

Kind = Literal["softmax", "sigmoid", "mean"]


class Ensemble(nn.Module):
    """The scores of the mean of M models' probabilities, or the mean of their numbers.

    p = 1/M Σ_m softmax(z_m / T_m),   y = ln p              softmax: one label
    p = 1/M Σ_m σ(z_m / T_m),         y = ln p - ln(1 - p)  sigmoid: several labels
    y = 1/M Σ_m z_m                                         mean: numbers, where T = 1
    """

    def __init__(self, members: Sequence[nn.Module], kind: Kind) -> None:
        super().__init__()
        self.members, self.kind = nn.ModuleList(members), kind
        self.temperatures: Tensor
        self.register_buffer("temperatures", torch.ones(len(self.members), dtype=torch.float64))

    def forward(self, *inputs: tuple[Any, ...]) -> Tensor:
        """The inputs of each member -> (B, C)"""
        z = torch.stack([m(*x).double() for m, x in zip(self.members, inputs)])  # (M, B, C)
        return average(z / self.temperatures[:, None, None], self.kind)

    def describe(self) -> str:
        return f"mean of {len(self.members)} models"


def average(z: Tensor, kind: Kind) -> Tensor:
    """(M, B, C) of M models -> (B, C)"""
    if kind == "mean":
        return z.mean(0)
    if kind == "softmax":
        return z.log_softmax(-1).logsumexp(0) - math.log(len(z))
    return z.sigmoid().mean(0).clamp(1e-12, 1 - 1e-12).logit()
