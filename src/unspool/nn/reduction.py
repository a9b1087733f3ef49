"""Fewer steps: vectors over time (B, T, C) in, one vector for every `factor` of them out.

Step j is made of vectors up to (j + 1) · factor - 1, and stands for the `factor` last of them; T
vectors give ⌈T / factor⌉ steps, and zeros stand behind the last vector of a sequence. So a sequence
in chunks of whole steps gives the same: `extend`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn.inputs import SpecAugment
from unspool.nn.masks import keep_mask, zero_padding


class Reduced(NamedTuple):
    """x (B, T', size), zeros at padding, and lengths (B,) on the CPU."""

    x: Tensor
    lengths: Tensor


class Reduction(nn.Module, ABC):
    """factor   vectors that become one step"""

    factor: int

    def steps(self, lengths: Tensor) -> Tensor:
        """(B,) how many steps are made of so many vectors."""
        return -(-lengths // self.factor)

    def forward(self, x: Tensor, lengths: Tensor) -> Reduced:
        """(B, T, C), (B,) -> (B, ⌈T / factor⌉, size), (B,)"""
        return Reduced(self.extend(None, x, lengths)[0], self.steps(lengths))

    def extend(self, carried: Any, x: Tensor, lengths: Tensor) -> tuple[Tensor, Any]:
        """`forward` of the next vectors of sequences, whole steps but at their ends, and what the
        next chunk needs of this one; `carried`: of the chunk before, None where there is none."""
        x = zero_padding(x, keep_mask(lengths, x.shape[1], device=x.device))
        return self.reduce(carried, F.pad(x, (0, 0, 0, -x.shape[1] % self.factor)), lengths)

    @abstractmethod
    def reduce(self, carried: Any, x: Tensor, lengths: Tensor) -> tuple[Tensor, Any]:
        """x (B, k · factor, C), zeros at padding -> (B, k, size)"""


class StackedFrames(Reduction):
    """y_j = [x_{j·s}; ...; x_{j·s + s - 1}], s = factor (Sak et al. 2015)"""

    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def reduce(self, carried: Any, x: Tensor, lengths: Tensor) -> tuple[Tensor, Any]:
        return x.reshape(x.shape[0], -1, self.factor * x.shape[-1]), None

    def extra_repr(self) -> str:
        return f"{self.factor} as one"


class StridedConvolutions(Reduction):
    """A convolution for each prime factor s of `factor`, with a stride of s:

        y_j = relu(b + Σ_{k = -(s - 1)}^{s - 1} W_k x_{j·s + k})

    Its 2 s - 1 vectors overlap with those of the steps beside it; before the first vector, and
    behind the last, are zeros.

    augment   what hides parts of x in training
    """

    def __init__(
        self, channels: int, size: int, factor: int, *, augment: SpecAugment | None = None
    ) -> None:
        super().__init__()
        self.factor, self.size, self.augment = factor, size, augment
        self.strides = prime_factors(factor)
        inputs = [channels, *[size] * len(self.strides)]
        self.layers = nn.ModuleList(
            nn.Conv1d(before, size, 2 * s - 1, stride=s) for before, s in zip(inputs, self.strides)
        )
        for layer in self.layers:
            assert isinstance(layer, nn.Conv1d)
            assert layer.bias is not None
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        if not self.strides:
            self.size = channels

    def reduce(
        self, carried: list[Tensor] | None, x: Tensor, lengths: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        """`carried`: of each layer the last s - 1 vectors that it has read, (B, s - 1, ·)"""
        if self.augment is not None:
            x = self.augment(x)
        kept = []
        for number, (layer, s) in enumerate(zip(self.layers, self.strides)):
            before = (
                x.new_zeros(x.shape[0], s - 1, x.shape[2]) if carried is None else carried[number]
            )
            x = torch.cat([before, x], 1)
            kept.append(x[:, x.shape[1] - s + 1 :])
            x = F.relu(layer(x.transpose(1, 2))).transpose(1, 2)
            lengths = -(-lengths // s)
            x = zero_padding(x, keep_mask(lengths, x.shape[1], device=x.device))
        return x, kept

    def describe(self) -> str:
        widths = ", ".join(f"{2 * s - 1} wide with a stride of {s}" for s in self.strides)
        return f"convolutions over time to {self.size}: {widths or 'none'}, relu"


def prime_factors(number: int) -> list[int]:
    """2 first: 12 -> [2, 2, 3]"""
    factors, prime = list[int](), 2
    while number > 1:
        while number % prime == 0:
            factors.append(prime)
            number //= prime
        prime += 1
    return factors
