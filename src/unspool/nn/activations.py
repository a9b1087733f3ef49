"""The activation functions of the course, by name.

In: pre-activations (..., pieces * H). Out: (..., H). All work element by element with one piece,
but `maxout`, which takes the larger of two affine pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

LEAKY_SLOPE = 0.1


class Activation(NamedTuple):
    """A function and the number of affine pieces it takes for one unit."""

    function: Callable[[Tensor], Tensor]
    pieces: int = 1


def leaky_relu(a: Tensor) -> Tensor:
    """max(0.1 a, a)"""
    return F.leaky_relu(a, LEAKY_SLOPE)


def elu(a: Tensor) -> Tensor:
    """a where a >= 0, otherwise exp(a) - 1"""
    return F.elu(a)


def maxout(a: Tensor) -> Tensor:
    """max(a_1, a_2), where a = [a_1, a_2] (Goodfellow et al. 2013)"""
    return torch.maximum(*a.chunk(2, -1))


ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": Activation(torch.sigmoid),
    "tanh": Activation(torch.tanh),
    "relu": Activation(torch.relu),
    "leaky_relu": Activation(leaky_relu),
    "elu": Activation(elu),
    "maxout": Activation(maxout, pieces=2),
}
