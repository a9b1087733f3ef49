"""Errors that are the user's to mend: what, where, what was got, what to do; always one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A problem with the input, as one line; the command line exits with `exit_code`."""

    exit_code = 2

    def __init__(
        self, what: str, *, where: object = None, got: object = None, remedy: str | None = None
    ) -> None:
        line = f"{where}: {what}" if where is not None else what
        if got is not None:
            line += f"; got {shorten(got)}"
        if remedy is not None:
            line += f". {remedy[0].upper()}{remedy[1:]}"
        super().__init__(" ".join(line.split()))


class DataError(UserError):
    """A data file that cannot be read as asked."""


class ConfigError(UserError):
    """A setting that does not exist or does not fit."""


class RunError(UserError):
    """A run folder that is missing, damaged or from another version."""


class TrainingError(UserError):
    """A training run that cannot go on although its input was fine."""

    exit_code = 1


def shorten(value: object, limit: int = 60) -> str:
    """The value for a message: quoted if it is text, cut if it is long."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """The choice most like `name`, or None where nothing is near."""
    found = difflib.get_close_matches(name, list(choices), n=1, cutoff=0.5)
    return found[0] if found else None


def choose(kind: str, name: str, choices: Iterable[str], *, where: object = None) -> str:
    """`name` if it is one of `choices`; otherwise a ConfigError that names the nearest one."""
    options = list(choices)
    if name in options:
        return name
    near = nearest(str(name), options)
    raise ConfigError(
        f"unknown {kind}",
        where=where,
        got=name,
        remedy=(f"did you mean {near!r}? " if near else "") + "choose from " + ", ".join(options),
    )
