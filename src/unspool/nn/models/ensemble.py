"""Several models of one task in, the mean of their answers out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

Kind = Literal["softmax", "sigmoid", "mean"]


class Ensemble(nn.Module):
    """The scores of the mean of M models' probabilities, or the mean of their numbers.

    p = Σ_m w_m softmax(z_m / T_m),   y = ln p              softmax: one label
    p = Σ_m w_m σ(z_m / T_m),         y = ln p - ln(1 - p)  sigmoid: several labels
    y = Σ_m w_m z_m                                         mean: numbers, where T = 1

    The weights add up to 1; runs of old have none, and equal ones.
    """

    def __init__(self, members: Sequence[nn.Module], kind: Kind) -> None:
        super().__init__()
        self.members, self.kind = nn.ModuleList(members), kind
        self.temperatures: Tensor
        ones = torch.ones(len(self.members), dtype=torch.float64)
        self.register_buffer("temperatures", ones)
        self.weights: Tensor
        self.register_buffer("weights", ones / len(self.members))
        self.register_load_state_dict_pre_hook(_with_weights)

    def forward(self, *inputs: tuple[Any, ...]) -> Tensor:
        """The inputs of each member -> (B, C)"""
        z = torch.stack([m(*x).double() for m, x in zip(self.members, inputs)])  # (M, B, C)
        return average(z / self.temperatures[:, None, None], self.kind, self.weights)

    def describe(self) -> str:
        return f"mean of {len(self.members)} models"


def average(z: Tensor, kind: Kind, weights: Tensor | None = None) -> Tensor:
    """(M, B, C) of M models, with weights (M,), by default equal -> (B, C)"""
    w = torch.full((len(z),), 1 / len(z), dtype=z.dtype) if weights is None else weights.to(z.dtype)
    w = w[:, None, None]
    if kind == "mean":
        return (w * z).sum(0)
    if kind == "softmax":
        return (z.log_softmax(-1) + w.log()).logsumexp(0)
    return (w * z.sigmoid()).sum(0).clamp(1e-12, 1 - 1e-12).logit()


def _with_weights(ensemble: Ensemble, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    state.setdefault(f"{prefix}weights", ensemble.weights)
