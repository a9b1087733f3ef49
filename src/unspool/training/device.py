"""Where a run computes: chosen when it begins, and kept when it is resumed.

In: `train.device`, one of auto, cpu, cuda, mps. Out: a device of this machine. Weights are saved
without it, so that a run can be loaded, and go on, on another machine.
"""

from __future__ import annotations

import torch

from unspool.config import Config
from unspool.errors import ConfigError


def devices() -> list[str]:
    """The kinds of device that are here."""
    found = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    return [name for name, here in found.items() if here]


def resolve_device(device: str) -> str:
    """`auto` becomes cuda, or else the CPU; a device that is not here is a ConfigError.

    mps has to be named: it has no float64, in which probabilities and validation losses are summed.
    """
    here = devices()
    usual = "cuda" if "cuda" in here else "cpu"
    if device != "auto" and device not in here:
        raise ConfigError(
            "train.device is not on this machine",
            got=device,
            remedy=f"set device={usual}",
        )
    return usual if device == "auto" else device


def with_device(config: Config, *, resumed: bool = False) -> Config:
    """The same settings with `auto` resolved, as config.json records them; a run that is `resumed`
    where its device is not goes on with what there is."""
    asked = config.train.device
    device = resolve_device("auto" if resumed and asked not in devices() else asked)
    train = config.train.model_copy(update={"device": device})
    return config.model_copy(update={"train": train})
