"""Messages as who reads them would write: the core writes options as on the command line, and what
is called from Python turns them into arguments.

    name the column with --label          name the column with label=
    use --task generate                   use task="generate"
    --set lowercase=true --set kind=bpe   lowercase=True, kind="bpe"
    unspool train --resume --out runs/a   unspool.train(resume=True, out="runs/a")
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from unspool import errors
from unspool.errors import UserError
from unspool.training.signals import Interrupted

P = ParamSpec("P")
R = TypeVar("R")

ARGUMENTS = {"from": "start=", "set": "settings", "json": "to_json()", "resume": "resume=True"}
FUNCTIONS = {"train": "unspool.train", "embed": "unspool.embed.embed"}
WORDED = ("task", "model", "format", "missing", "split", "method")  # their values are words of ours
LISTED = ("models", "repair")  # their values are words with commas between them
PROSE = ("or", "and", "as", "is")  # what may follow an option that is named without a value
FLAG, TOKEN = r"(?<![\w-])--([a-z][a-z0-9-]*)", r"'[^']*'|\"[^\"]*\"|(?!--)[^\s`]+"
OPTION = re.compile(rf"{FLAG}(?: ({TOKEN}))?")
SETTING = re.compile(r"(?<![\w-])--set ([\w.]+)=([^\s,;)`]*)( (?=--set \w))?")
COMMAND = re.compile(
    rf"(?<!\w)unspool ({'|'.join(FUNCTIONS)})((?: [A-Z]+)*)((?: --[a-z][a-z-]*(?: (?:{TOKEN}))?)+)"
)


def spelled(text: str) -> str:
    """A message for whoever is there."""
    return text if errors._flags or "--" not in text else as_arguments(text)


def in_python(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of the Python API: its errors name arguments, not options."""
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: P.args, **kwargs: P.kwargs) -> Any:
            with _respelling():
                yield from function(*args, **kwargs)

        return generate

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with _respelling():
            return function(*args, **kwargs)

    return call


@contextmanager
def _respelling() -> Iterator[None]:
    try:
        yield
    except (UserError, Interrupted) as error:
        if isinstance(error, UserError):
            parts = (error.message,) if isinstance(error.message, str) else error.message
            error.args = (tuple(spelled(x) if isinstance(x, str) else x for x in parts),)
        else:
            error.args = tuple(spelled(x) if isinstance(x, str) else x for x in error.args)
        raise


def as_arguments(text: str) -> str:
    """The message with every option as an argument."""
    text = re.sub(r"--plugin ([\w.]+)", r"`import \1`", text)
    text = COMMAND.sub(_call, text)
    text = SETTING.sub(lambda m: _assignment(m[1], m[2]) + (", " if m[3] else ""), text)
    return OPTION.sub(_argument, text)


def _argument(match: re.Match[str]) -> str:
    flag, following = match[1], match[2] or ""
    value, end = re.fullmatch(r"(.*?)([.,;:?)]*)", following).groups()  # type: ignore[union-attr]
    if flag.startswith("no-"):
        name = f"{flag.removeprefix('no-')}=False".replace("-", "_")
    elif _is_value(flag, value, end):
        return _assignment(_name(flag).removesuffix("="), value) + end
    else:
        name = _name(flag)
    return f"{name} {following}" if following else name


def _name(flag: str) -> str:
    return ARGUMENTS.get(flag, f"{flag.replace('-', '_')}=")


def _is_value(flag: str, word: str, end: str) -> bool:
    """Whether the word behind an option is its value, not how the sentence goes on."""
    return bool(
        word[:1] in ("'", '"')
        or (word.isupper() and len(word) > 1)
        or (word and end == "?")
        or (flag in LISTED and word)
        or (flag == "encoding" and re.search(r"[\d_]", word))
        or (flag in WORDED and word.isidentifier() and word not in PROSE)
    )


def _assignment(name: str, value: str) -> str:
    """`name=value`; one with its section is no name of Python's."""
    written = _literal(name, value)
    return f"{name}={written}" if name.isidentifier() else f'**{{"{name}": {written}}}'


def _literal(name: str, value: str) -> str:
    if value in ("true", "false"):
        return value.capitalize()
    if value.isupper() or value[:1] in "'\"" or re.fullmatch(r"[-+]?\d+(\.\d+)?(e-?\d+)?", value):
        return value
    if name == "models":
        return "[" + ", ".join(f'"{one}"' for one in value.split(",")) + "]"
    return f'"{value}"'


def _call(match: re.Match[str]) -> str:
    """A whole command as a call."""
    given = match[2].split()
    for flag, value in re.findall(rf"--([a-z][a-z-]*)(?: ({TOKEN}))?", match[3]):
        name = _name(flag)
        given.append(_assignment(name.removesuffix("="), value) if value else name)
    return f"{FUNCTIONS[match[1]]}({', '.join(given)})"
