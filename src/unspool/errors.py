"""Errors that users can correct: what, where, the value and a remedy, always in one line.

A message is a string, or a tuple of strings and options. Options are data until the message is
shown: Python reads `label=`, and the command line, which runs within `as_flags`, reads `--label`.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Number
from typing import TypeAlias

FLAGS = {"start": "from", "settings": "set"}  # arguments whose flag has another name
FUNCTIONS = {"embed": "unspool.embed.embed", "train": "unspool.train"}  # of commands
PLACEHOLDER = re.compile("COLUMN|CORPUS|DATA|DIR|FILE|FORMAT|N|NAME|OUT|RATE|RUN")

_flags = False  # of the process rather than of a context: threads word messages like their command


@contextmanager
def as_flags() -> Iterator[None]:
    """Word options as flags within the block."""
    global _flags
    before, _flags = _flags, True
    try:
        yield
    finally:
        _flags = before


class Option:
    """Arguments of Python, which the command line calls options.

    Option("label")              label=                      --label
    Option("text", "label")      text= and label=            --text and --label
    Option(task="generate")      task="generate"             --task generate
    Option(multilabel=False)     multilabel=False            --no-multilabel
    """

    def __init__(self, *names: str, **values: object) -> None:
        self.names, self.values = names, values

    def __str__(self) -> str:
        names = [self.flag(name) if _flags else f"{name}=" for name in self.names]
        if self.names == ("settings",) and not _flags:
            return "settings"
        named = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
        word = self.flag if _flags else assignment
        return named + (" " if _flags else ", ").join(word(*pair) for pair in self.values.items())

    def flag(self, name: str, value: object = None) -> str:
        flag = FLAGS.get(name, name).replace("_", "-")
        if value is False:
            return f"--no-{flag}"
        return f"--{flag}" + ("" if value is None or value is True else f" {shell_word(value)}")


class Setting(Option):
    """Settings, which the command line takes with `--set`.

    Setting("grid")               grid=                       --set grid=
    Setting(hidden=8, kind="bpe") hidden=8, kind="bpe"        --set hidden=8 --set kind=bpe
    """

    def flag(self, name: str, value: object = None) -> str:
        text = str(value).lower() if isinstance(value, bool) else shell_word(value)
        return f"--set {name}={'' if value is None else text}"


class Command(Option):
    """A whole call; a command without a function is one of the shell.

    Command("train", resume=True, out="a")   unspool.train(resume=True, out="a")
                                             unspool train --resume --out a
    """

    def __str__(self) -> str:
        name, *given = self.names
        if _flags or name not in FUNCTIONS:
            flags = [self.flag(*pair) for pair in self.values.items()]
            return " ".join(["unspool", name, *map(shell_word, given), *flags])
        arguments = [assignment(*pair) for pair in self.values.items()]
        return f"{FUNCTIONS[name]}({', '.join([*map(literal, given), *arguments])})"


Message: TypeAlias = str | Option | tuple[str | Option, ...]


def worded(message: Message) -> str:
    """The message as text, for whoever reads it now."""
    return "".join(map(str, parts_of(message)))


def parts_of(message: Message) -> tuple[str | Option, ...]:
    return message if isinstance(message, tuple) else (message,)


def assignment(name: str, value: object) -> str:
    """`name=value`; a setting with its section is no name in Python."""
    if name == "plugin":
        return f"`import {value}`"
    text = literal(value)
    return f"{name}={text}" if name.isidentifier() else f'**{{"{name}": {text}}}'


def literal(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, Number) or PLACEHOLDER.fullmatch(str(value)):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False)


def shell_word(value: object) -> str:
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return shlex.quote(text) if any(map(str.isalnum, text)) else repr(text)


class UserError(Exception):
    """A problem with the input, as one line; the command line exits with `exit_code`."""

    exit_code = 2

    def __init__(
        self,
        what: Message,
        *,
        where: object = None,
        got: object = None,
        remedy: Message | None = None,
    ) -> None:
        parts = parts_of(what)
        if where is not None:
            parts = (where if isinstance(where, Option) else str(where), ": ", *parts)
        if got is not None:
            parts = (*parts, "; got ", got if isinstance(got, Option) else shorten(got))
        if remedy is not None:
            first, *rest = parts_of(remedy)
            capital = first[:1].upper() + first[1:] if isinstance(first, str) else first
            parts = (*parts, ". ", capital, *rest)
        super().__init__(parts)

    @property
    def message(self) -> Message:
        """The whole line, for an error that adds to it."""
        return self.args[0]

    def __str__(self) -> str:
        return " ".join(worded(self.message).split())


class DataError(UserError):
    """A data file that cannot be read as requested."""


class ConfigError(UserError):
    """A setting that does not exist or does not fit."""


class RunError(UserError):
    """A run folder that is missing, damaged or from another version."""


class TrainingError(UserError):
    """A training run that fails although its input was valid."""

    exit_code = 1


CONTROLS = {i: f"\\x{i:02x}" for i in (*range(32), *range(127, 160)) if chr(i) not in "\t\n"}


def visible(text: str) -> str:
    """A text whose control characters, which a terminal would obey, are escaped."""
    return text.translate(CONTROLS)


def shorten(value: object, limit: int = 60) -> str:
    """The value for a message: quoted if it is text, cut if it is long."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """The choice most like `name`, or None where nothing is near."""
    return next(iter(difflib.get_close_matches(name, list(choices), n=1, cutoff=0.5)), None)


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
