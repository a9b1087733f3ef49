"""Options that are numbers, whole and finite, and the memory that they may ask for; or one line."""

from __future__ import annotations

import math
import os
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from unspool.errors import ConfigError, Message

ADDRESSABLE = 2**63  # bytes; what takes more has no size at all
GROUP_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # of a container, version 2 and 1


@cache
def machine_memory() -> int:
    """Bytes that a process can have: those of the machine, or of its container if that has less."""
    try:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, OSError, ValueError):  # no such question on this system
        limits = [ADDRESSABLE]
    for name in GROUP_LIMITS:
        try:
            limit = (Path("/sys/fs/cgroup") / name).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if limit.isdecimal() and int(limit) > 0:
            limits.append(int(limit))
    return min(limits)


def size_in_words(size: float) -> str:
    """1.5 GB and the like."""
    if size >= ADDRESSABLE:
        return "more than any machine can address"
    units = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
    power = min(len(units) - 1, int(math.log10(max(size, 1)) // 3))
    return f"{size / 1000**power:.{min(1, power)}f} {units[power]}"


def refuse_too_large(what: str, size: float, *, where: object = None, remedy: Message) -> None:
    """A ConfigError where something takes more bytes than there are; before it is allocated."""
    memory = machine_memory()
    if size > memory:
        raise ConfigError(
            f"{what} would take {size_in_words(size)} of memory, and this machine has"
            f" {size_in_words(memory)}",
            where=where,
            remedy=remedy,
        )


LARGEST = 2**63  # what arrays can count


def check_numbers(options: Any) -> None:
    """Refuse fields of a frozen dataclass that are no numbers of their type; keep plain ones."""
    for field in fields(options):
        value, kind = getattr(options, field.name), str(field.type)
        if kind.startswith("int"):
            object.__setattr__(options, field.name, whole_number(field.name, value))
        elif kind.startswith("float") and not (value is None and "None" in kind):
            object.__setattr__(options, field.name, finite_number(field.name, value))


def whole_number(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigError(f"{spoken(name)} must be a whole number", got=value)
    if abs(int(value)) >= LARGEST:
        raise ConfigError(f"{spoken(name)} must be below 2^63", got=_digits(int(value)))
    return int(value)


def finite_number(name: str, value: Any) -> float:
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        number = math.inf
    if isinstance(value, bool) or not math.isfinite(number):
        raise ConfigError(f"{spoken(name)} must be a finite number", got=value)
    return number


def spoken(name: str) -> str:
    """Name of a setting in messages: top-k, no-repeat-ngram, max length."""
    return name.replace("_", "-" if name.startswith(("top_", "no_")) else " ")


def _digits(value: int) -> str:
    """Python prints no number of more than some thousand digits."""
    return f"a number of about {int(value.bit_length() * math.log10(2)) + 1} digits"
