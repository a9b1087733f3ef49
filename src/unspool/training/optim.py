"""The optimiser: which weights learn in an epoch, how fast at a step, and its state as tensors.

Where training starts from an encoder that knows something, the depth of a parameter decides: those
of the encoder are named `encoder.…`, those of its blocks `….layers.N.…`.
"""

from __future__ import annotations

import math
import re

import torch
from torch import Tensor, nn

from unspool.config import TrainConfig

NUMBER = re.compile(r"\.layers\.(\d+)\.")


def build_optimizer(model: nn.Module, train: TrainConfig) -> torch.optim.Optimizer:
    """AdamW or SGD; weight decay for matrices only, never for biases and gates' diagonals.

    With `layer_decay` ξ, what is k blocks below the output learns at ξᵏ of the rate (Howard & Ruder
    2018, section 3.2).
    """
    below = depths(model) if train.layer_decay < 1 else {}
    parameters: dict[tuple[int, bool], list[nn.Parameter]] = {(0, True): [], (0, False): []}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            group = (below.get(name, 0), parameter.ndim >= 2)
            parameters.setdefault(group, []).append(parameter)
    groups = [
        {
            "params": some,
            "weight_decay": train.weight_decay if matrices else 0.0,
            "scale": train.layer_decay**depth,
        }
        for (depth, matrices), some in parameters.items()
    ]
    if train.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=train.lr, momentum=train.momentum, foreach=True)
    return torch.optim.AdamW(groups, lr=train.lr, betas=(0.9, train.beta2), fused=True)


def learning_rate(train: TrainConfig, step: int, total: int) -> float:
    """The rate of update `step` (from 0) of `total`: linear warm-up, then the schedule's decay."""
    warm = round(train.warmup * total)
    if step < warm:
        return train.lr * (step + 1) / warm
    if train.schedule == "constant":
        return train.lr
    done = min(1.0, (step - warm) / max(1, total - warm))
    if train.schedule == "linear":
        return train.lr * (1 - done)
    return train.lr * 0.5 * (1 + math.cos(math.pi * done))


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]


def clip_gradients(model: nn.Module, most: float) -> Tensor:
    """The global Euclidean norm of the gradient; one above `most` is scaled down to it (0: never).

    Pascanu et al. (2013), algorithm 1.
    """
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    if 0 < most < norm:
        nn.utils.clip_grads_with_norm_(model.parameters(), most, norm)
    return norm


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's memory as {`parameter/slot`: tensor}."""
    return {
        f"{name}/{slot}": value
        for name, parameter in model.named_parameters()
        for slot, value in optimizer.state.get(parameter, {}).items()
        if isinstance(value, Tensor)
    }


def restore_optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Put back what `optimizer_tensors` took out."""
    parameters = dict(model.named_parameters())
    for key, value in tensors.items():
        name, slot = key.rsplit("/", 1)
        parameter = parameters[name]
        optimizer.state[parameter][slot] = value.clone().to(parameter.device)


def depths(model: nn.Module) -> dict[str, int]:
    """Depth of each parameter below the output: 0 outside the encoder, 1 in its top block, ...

    Below the lowest block stands what has no number, such as the embedding; but a last
    normalisation belongs to the top block.
    """
    names = [name for name, _ in model.named_parameters()]
    numbers = {name: int(match[1]) for name in names if (match := NUMBER.search(name))}
    blocks = 1 + max((n for name, n in numbers.items() if name.startswith("encoder.")), default=-1)

    def depth(name: str) -> int:
        if not name.startswith("encoder."):
            return 0
        if name in numbers:
            return blocks - numbers[name]
        return 1 if re.search(r"\.norm\.", name) else blocks + 1

    return {name: depth(name) for name in names}


def thaw(model: nn.Module, train: TrainConfig, epoch: int) -> None:
    """Let the parameters learn that may in this epoch (from 0).

    encoder   those outside the encoder, always
    gradual   one block more each epoch, from the top (Howard & Ruder 2018, section 3.3)
    """
    if train.freeze == "none":
        return
    deepest = 0 if train.freeze == "encoder" else epoch
    below = depths(model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(below[name] <= deepest)
