"""A moving average of the weights over the steps of training (Polyak & Juditsky 1992)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """w̄ ← d w̄ + (1 − d) w after each update n, with d = min(decay, (1 + n) / (10 + n)).

    The growing d lets the average forget the initial weights quickly.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = model, decay
        self.weights = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        current = [p.detach() for p in self.model.parameters()]
        torch._foreach_lerp_(list(self.weights.values()), current, 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Within the block the model has the averaged weights."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, parameter in self.model.named_parameters():
            parameter.data, self.weights[name] = self.weights[name], parameter.data

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.weights = {name: tensors[name].clone() for name in self.weights}
