"""Options that are numbers: what a caller gives in, whole and finite numbers out, or one line."""

from __future__ import annotations

import math
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

from unspool.errors import ConfigError

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
    """As other messages have it: top-k, no-repeat-ngram, max length."""
    return name.replace("_", "-" if name.startswith(("top_", "no_")) else " ")


def _digits(value: int) -> str:
    """Python prints no number of more than some thousand digits."""
    return f"a number of about {int(value.bit_length() * math.log10(2)) + 1} digits"
