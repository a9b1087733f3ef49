"""The optimiser, its learning rate as a function of the step, and its state as named tensors."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from unspool.config import TrainConfig


def build_optimizer(model: nn.Module, train: TrainConfig) -> torch.optim.Optimizer:
    """AdamW or SGD; weight decay for matrices only, never for biases and gates' diagonals."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.requires_grad and p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": train.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    if train.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=train.lr, momentum=train.momentum, foreach=True)
    return torch.optim.AdamW(groups, lr=train.lr, betas=(0.9, 0.999), fused=True)


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
        group["lr"] = rate


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
        optimizer.state[parameters[name]][slot] = value.clone()
