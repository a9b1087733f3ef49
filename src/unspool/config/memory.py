"""How much memory there is, and messages about what takes more: sizes in bytes in, words out."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

from unspool.errors import ConfigError

ADDRESSABLE = 2**63  # bytes; what takes more has no size at all
GROUP_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # of a container, version 2 and 1


@cache
def machine_memory() -> int:
    """Bytes that a process can have: those of the machine, or of its container if that has less."""
    try:
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, OSError, ValueError):  # no such question on this system
        found = [ADDRESSABLE]
    for name in GROUP_LIMITS:
        try:
            limit = (Path("/sys/fs/cgroup") / name).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if limit.isdecimal() and int(limit) > 0:
            found.append(int(limit))
    return min(found)


def size_in_words(size: float) -> str:
    """1.5 GB and the like."""
    if size >= ADDRESSABLE:
        return "more than any machine can address"
    units = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
    power = min(len(units) - 1, int(math.log10(max(size, 1)) // 3))
    return f"{size / 1000**power:.{min(1, power)}f} {units[power]}"


def refuse_too_large(what: str, size: float, *, where: object = None, remedy: str) -> None:
    """A ConfigError where something takes more bytes than there are; before it is allocated."""
    memory = machine_memory()
    if size > memory:
        raise ConfigError(
            f"{what} would take {size_in_words(size)} of memory, and this machine has"
            f" {size_in_words(memory)}",
            where=where,
            remedy=remedy,
        )
