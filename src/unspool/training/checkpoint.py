"""Checkpoints: everything that a later process needs to go on as if nothing had happened.

In: model, optimiser, carried state and counters. Out: `checkpoints/step-N.safetensors`, the two
newest kept. A damaged one is passed over, and named, for the one before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unspool.errors import Option, RunError
from unspool.training.optim import optimizer_tensors, restore_optimizer
from unspool.training.tensors import DamagedFile, load_tensors, save_tensors

KEEP = 2


@dataclass
class Counters:
    """Progress of a training run. Plain numbers: they go through JSON without loss."""

    step: int = 0  # batches seen, skipped ones included
    epoch: int = 0
    index: int = 0  # the next batch of this epoch
    tokens: int = 0
    best: list[float] | None = None  # the task's rank of the best validation so far
    best_step: int = 0
    stale: int = 0  # validations since then
    bad: int = 0  # non-finite losses in a row
    skipped: int = 0  # non-finite losses in all
    seconds: float = 0.0  # of training, over all processes
    log_bytes: int = 0  # length of metrics.jsonl
    window: list[float] = field(default_factory=[0.0, 0.0, 0.0].copy)  # loss·n, n, norm
    finished: str = ""  # why training ended


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, carry: Any, counters: Counters
) -> Path:
    """Write the checkpoint of this moment and drop all but the newest two."""
    folder.mkdir(exist_ok=True)
    flat = flatten_carry(carry)
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"optim/{k}": v for k, v in optimizer_tensors(model, optimizer).items()}
    tensors |= {f"carry/{i}": tensor for i, tensor in enumerate(flat.tensors)}
    path = folder / f"step-{counters.step:09d}.safetensors"
    save_tensors(path, tensors, {"counters": asdict(counters), "carry": flat.shape})
    for old in checkpoints(folder)[KEEP:]:
        old.unlink(missing_ok=True)
    return path


def restore_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, warn: Callable[[str], None]
) -> tuple[Counters, Any] | None:
    """Load the newest whole checkpoint; None where there is none at all."""
    paths = checkpoints(folder)
    for path in paths:
        try:
            tensors, meta = load_tensors(path)
            parts: dict[str, dict[str, Tensor]] = {"model": {}, "optim": {}, "carry": {}}
            for key, tensor in tensors.items():
                part, name = key.split("/", 1)
                parts[part][name] = tensor
            counters = Counters(**meta["counters"])
        except (DamagedFile, KeyError, TypeError) as error:
            warn(f"{path} is damaged: {error}; using the one before it")
            continue
        model.load_state_dict(parts["model"])
        restore_optimizer(model, optimizer, parts["optim"])
        carry = [parts["carry"][str(i)] for i in range(len(parts["carry"]))]
        return counters, unflatten_carry(meta["carry"], iter(carry))
    if paths:
        raise RunError(
            "every checkpoint is damaged",
            where=folder,
            remedy=("train from scratch without ", Option(resume=True)),
        )
    return None


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoint files, newest first."""
    return sorted(folder.glob("step-*.safetensors"), reverse=True)


@dataclass
class FlatCarry:
    tensors: list[Tensor]
    shape: Any  # the nesting, with -1 for a tensor and null for nothing


def flatten_carry(carry: Any) -> FlatCarry:
    """The tensors of a nested state, and its nesting as JSON."""
    if carry is None:
        return FlatCarry([], None)
    if isinstance(carry, Tensor):
        return FlatCarry([carry], -1)
    inner = [flatten_carry(item) for item in carry]
    return FlatCarry([t for flat in inner for t in flat.tensors], [flat.shape for flat in inner])


def unflatten_carry(shape: Any, tensors: Any) -> Any:
    """The nested state again, as tuples."""
    if shape is None:
        return None
    if shape == -1:
        return next(tensors)
    return tuple(unflatten_carry(inner, tensors) for inner in shape)
