"""Which weights learn, and how fast, when training starts from an encoder that knows something.

In: a model whose encoder's parameters are named `encoder.…`, those of its blocks
`….layers.N.…`. Out: its parameters by depth; `requires_grad` set for an epoch.
"""

from __future__ import annotations

import re

from torch import nn

from unspool.config import TrainConfig

NUMBER = re.compile(r"\.layers\.(\d+)\.")


def depths(model: nn.Module) -> dict[str, int]:
    """How far below the output each parameter is: 0 outside the encoder, 1 in its top block, ...

    Below the lowest block stands what has no number, such as the embedding; but a last
    normalisation belongs to the top block.
    """
    names = [name for name, _ in model.named_parameters()]
    numbers = {name: int(found[1]) for name in names if (found := NUMBER.search(name))}
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
