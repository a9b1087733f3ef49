"""The arithmetic of a run's matrix products: chosen when it begins, and kept when it is resumed.

In: `train.precision`, one of auto, fp32, bf16. Out: fp32 or bf16, and the context to compute in.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from unspool import native
from unspool.config import Config


def has_bf16() -> bool:
    """Whether all that trains a model multiplies bfloat16 by instructions made for it: torch, and
    the native kernels where there are any."""
    return native.multiplies_bf16() and native.INSTRUCTIONS in (None, "avx512_bf16", "amx")


def resolve_precision(precision: str, device: str = "cpu") -> str:
    """`auto` becomes bf16 only where the processor, or the GPU, multiplies it in hardware."""
    if precision != "auto":
        return precision
    if device == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    return "bf16" if device == "cpu" and has_bf16() else "fp32"


def with_precision(config: Config) -> Config:
    """The same settings with `auto` resolved, after the device, as config.json records them."""
    device = "cpu" if config.train.device == "auto" else config.train.device
    precision = resolve_precision(config.train.precision, device)
    train = config.train.model_copy(update={"precision": precision})
    return config.model_copy(update={"train": train})


def precision_note(precision: str, device: str = "cpu") -> str:
    """One line about a resolved precision on this processor, or on another device."""
    if device != "cpu":
        return f"device: {device}; precision: {precision}"
    if precision == "fp32":
        return "precision: fp32"
    if has_bf16():
        return "precision: bf16, which this processor multiplies in hardware"
    return "precision: bf16, which this processor multiplies by ordinary instructions, slowly"


def autocast(precision: str, device: str = "cpu") -> AbstractContextManager[Any]:
    """bf16 matrix products with fp32 weights, or plain fp32."""
    half = resolve_precision(precision, device) == "bf16"
    return torch.autocast(device, torch.bfloat16, enabled=half)
