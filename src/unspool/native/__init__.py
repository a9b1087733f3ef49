"""The C++ kernels: whether there are any here, and which instructions they use.

They are optional. Where they could not be built, or UNSPOOL_NATIVE=0 is set, everything runs on
torch alone. UNSPOOL_NATIVE may also name an instruction set (amx, avx512_bf16, avx512, avx2,
baseline).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

try:
    _kernels: Any = import_module("unspool.native._kernels")
except ImportError:  # installed without a compiler
    _kernels = None


def choose_instructions() -> tuple[str | None, str]:
    """The instruction set in use, None without kernels; and why, in words."""
    wanted = os.environ.get("UNSPOOL_NATIVE", "")
    if wanted == "0":
        return None, "switched off by UNSPOOL_NATIVE=0"
    if _kernels is None:
        return None, "not built; a C++ compiler at installation gives them"
    supported = _kernels.instruction_sets()
    if wanted in ("", "1"):
        wanted = supported[0]
    if wanted not in supported:
        return None, f"UNSPOOL_NATIVE={wanted} is not one of {', '.join(supported)} that are here"
    _kernels.use(wanted)
    return wanted, wanted


INSTRUCTIONS, ABOUT = choose_instructions()
"""The instruction set of the kernels, or None; and one line about it for people."""


@contextmanager
def switched_off() -> Iterator[None]:
    """Inside this block everything runs on torch alone."""
    global INSTRUCTIONS, ABOUT
    before = INSTRUCTIONS, ABOUT
    INSTRUCTIONS, ABOUT = None, "switched off"
    try:
        yield
    finally:
        INSTRUCTIONS, ABOUT = before


# Values of ONEDNN_MAX_CPU_ISA that leave oneDNN, which makes torch's products, without bfloat16.
LIMITS_WITHOUT_BF16 = {
    *("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI")
}


@cache
def multiplies_bf16() -> bool:
    """Whether torch multiplies bfloat16 by instructions made for it. Where it does not, it is
    several times as slow as with float32, and some of its kernels refuse bfloat16."""
    import torch

    limit = os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA") or ""
    if limit.upper() in LIMITS_WITHOUT_BF16:
        return False
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
