"""Copying weights between `Recurrent` and torch.nn's recurrent modules, both ways.

torch has two biases a gate, of which only the sum matters, but for the GRU's candidate, where the
second stands inside the reset product. So a copy to torch and back is exact, and a copy from torch
keeps the function.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from unspool.nn import Recurrent
from unspool.nn.cells import GRU, Cell


def pairs(ours: Recurrent, theirs: nn.RNNBase) -> Iterator[tuple[Cell, dict[str, nn.Parameter]]]:
    """Each of our cells with the four parameters of torch's that do the same."""
    for k, cells in enumerate(ours.cells()):
        for cell, suffix in zip(cells, ("", "_reverse")):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            yield cell, {name: getattr(theirs, f"{name}_l{k}{suffix}") for name in names}


@torch.no_grad()
def to_torch(ours: Recurrent, theirs: nn.RNNBase) -> None:
    for cell, torch_ in pairs(ours, theirs):
        torch_["weight_ih"].copy_(cell.W)
        torch_["weight_hh"].copy_(cell.U)
        torch_["bias_ih"].copy_(cell.b)
        torch_["bias_hh"].zero_()
        if isinstance(cell, GRU):
            torch_["bias_hh"].chunk(3)[2].copy_(cell.b_hn)


@torch.no_grad()
def from_torch(ours: Recurrent, theirs: nn.RNNBase) -> None:
    for cell, torch_ in pairs(ours, theirs):
        cell.W.copy_(torch_["weight_ih"])
        cell.U.copy_(torch_["weight_hh"])
        cell.b.copy_(torch_["bias_ih"] + torch_["bias_hh"])
        if isinstance(cell, GRU):
            cell.b.chunk(3)[2].copy_(torch_["bias_ih"].chunk(3)[2])
            cell.b_hn.copy_(torch_["bias_hh"].chunk(3)[2])


def gradient_pairs(ours: Recurrent, theirs: nn.RNNBase) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Our gradients with torch's: each of its two biases has the gradient of our one."""
    for cell, torch_ in pairs(ours, theirs):
        yield "W", cell.W.grad, torch_["weight_ih"].grad
        yield "U", cell.U.grad, torch_["weight_hh"].grad
        yield "b", cell.b.grad, torch_["bias_ih"].grad
        if isinstance(cell, GRU):
            yield "b_hn", cell.b_hn.grad, torch_["bias_hh"].grad.chunk(3)[2]
