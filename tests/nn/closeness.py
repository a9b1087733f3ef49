"""What the tests of attention share: random inputs, gradients, and how near is equal."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unspool.nn.taps import record

NAN = float("nan")


def close(a: Tensor, b: Tensor, atol: float = 1e-10) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=atol)


def normal(*shape: int, grad: bool = False) -> Tensor:
    return torch.randn(*shape, dtype=torch.double, requires_grad=grad)


def gradients(y: Tensor, weight: Tensor, *by: Tensor) -> list[Tensor]:
    """Of the sum of y, each element weighed."""
    return list(torch.autograd.grad((y * weight).sum(), by))


def tapped(module: nn.Module, *arguments, **options) -> Tensor:
    """The module's output while its taps are recorded: the explicit path."""
    with record(module):
        return module(*arguments, **options)


def shake(module: nn.Module) -> nn.Module:
    """Every parameter random, biases and norms too."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return module
