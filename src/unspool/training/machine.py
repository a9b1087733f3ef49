"""The machine a run computes on: its device, the arithmetic of its matrix products, its threads.

In: `train.device` (auto, cpu, cuda, mps) and `train.precision` (auto, fp32, bf16). Out: a device of
this machine; fp32 or bf16, and the context to compute in. Both are chosen when a run begins and
kept when it is resumed; weights are saved without them, so that a run goes on on another machine.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from contextlib import AbstractContextManager
from typing import Any

import torch

from unspool import native
from unspool.config import Config
from unspool.errors import ConfigError


def devices() -> list[str]:
    """The kinds of device that are here."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    return [name for name, here in available.items() if here]


def resolve_device(device: str) -> str:
    """`auto` becomes cuda, or else the CPU; a device that is not here is a ConfigError.

    mps has to be named: it has no float64, in which probabilities and validation losses are summed.
    """
    here = devices()
    usual = "cuda" if "cuda" in here else "cpu"
    if device != "auto" and device not in here:
        raise ConfigError(
            "train.device is not on this machine", got=device, remedy=f"set device={usual}"
        )
    return usual if device == "auto" else device


def with_device(config: Config, *, resumed: bool = False) -> Config:
    """The same settings with `auto` resolved, as config.json records them; a run that is `resumed`
    where its device is not goes on with what there is."""
    requested = config.train.device
    device = resolve_device("auto" if resumed and requested not in devices() else requested)
    train = config.train.model_copy(update={"device": device})
    return config.model_copy(update={"train": train})


def has_bf16() -> bool:
    """Return whether torch, and native kernels if any, multiply bfloat16 in hardware."""
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


M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h


def tune_process(threads: int) -> None:
    """Use `threads` CPU threads, keep freed memory, and treat denormal numbers as zero.

    * glibc hands every freed block of more than 32 MB back to the kernel, and a training step frees
      several of them (logits, their gradient): without this the next step pays for a page fault
      every four kilobytes. A step of a word model with 10,000 outputs takes a quarter less with it.
    * Adam's memory of rare tokens decays to denormal numbers, which take a hundred times longer to
      multiply than others.
    """
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    name = ctypes.util.find_library("c")
    mallopt = getattr(ctypes.CDLL(name), "mallopt", None) if name else None
    if mallopt is not None:  # glibc and its kin; elsewhere memory is managed as it always was
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, -1)
