"""Arrays of arrays that NumPy has saved as a pickle, without running anything of it.

A pickle is a program for a stack machine whose instructions may call any function. Here its
instructions are looked at one by one: those that make numbers, strings, tuples and lists are
carried out, a "call" is understood where it stands for an array or its type, and anything else is
refused.
"""

from __future__ import annotations

import io
import pickletools
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from unspool.data.read.budget import Allowance, size_of
from unspool.data.read.npy import read_header
from unspool.errors import DataError

PICKLE_RATIO = 4  # bytes in memory for each of a pickle; objects on its stack take more
FEW = 64  # letters of a name or of a kind of numbers
MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")
MAKERS = {f"{module} _reconstruct" for module in MODULES}
PLAIN = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINSTRING", "SHORT_BINSTRING", "BINUNICODE",
    "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINFLOAT",
}  # fmt: skip
CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class Refused(Exception):
    """An instruction that is not part of an array of arrays."""


class Name(str):
    """`module name`, as a pickle calls it; never looked up."""


class ElementType:
    """The type of an array's elements, as numpy.dtype was to be called for it."""

    def __init__(self, code: Any) -> None:
        self.code, self.big = text(code), False

    def build(self, state: Any) -> None:
        self.big = text(state[1]) == ">"

    def dtype(self) -> np.dtype[Any]:
        if self.code[:1] not in ("i", "u", "f", "b") or len(self.code) > 3:
            raise Refused(f"elements of the type {self.code[:FEW]!r}")
        return np.dtype(self.code).newbyteorder(">" if self.big else "<")


class Array:
    """An array that is being made."""

    value: Any = None

    def build(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        if not isinstance(kind, ElementType) or not all(
            isinstance(n, int) and n >= 0 for n in shape
        ):
            raise Refused("an array without a shape")
        if kind.code[:1] == "O":
            if not isinstance(data, list):
                raise Refused("an array of objects that is no list")
            self.value = [
                element.value if isinstance(element, Array) else element for element in data
            ]
            return
        raw = data.encode("latin-1") if isinstance(data, str) else data
        dtype = kind.dtype()
        if not isinstance(raw, bytes) or len(raw) != int(np.prod(shape)) * dtype.itemsize:
            raise Refused("an array of another size than it says")
        order: Any = "F" if fortran else "C"
        self.value = np.frombuffer(raw, dtype).reshape(shape, order=order)


def text(value: Any) -> str:
    """A string; nested tuples, which may name each other, could be of any length as one."""
    if not isinstance(value, str | bytes):
        raise Refused("something else than a string")
    return value.decode("latin-1") if isinstance(value, bytes) else value


def called(name: Any, arguments: Any) -> ElementType | Array | bytes:
    if isinstance(name, Name) and name == "_codecs encode" and arguments[1] == "latin1":
        return text(arguments[0]).encode("latin-1")  # bytes, in pickles of Python 2's protocols
    if isinstance(name, Name) and name in MAKERS and arguments[0] == "numpy ndarray":
        return Array()
    if isinstance(name, Name) and name == "numpy dtype":
        return ElementType(arguments[0])
    raise Refused(f"a call of {text(name)[:FEW]!r}")


def read_pickled(data: bytes) -> list[Any]:
    """The elements of a pickled array of objects, in which arrays of numbers are arrays."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[Any, Any] = {}
    for opcode, argument, _ in pickletools.genops(io.BytesIO(data)):
        name = opcode.name
        if name in PLAIN:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name]())
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name == "MARK":
            marks.append(len(stack))
        elif name == "GLOBAL":
            stack.append(Name(argument))
        elif name == "STACK_GLOBAL":
            attribute, module = stack.pop(), stack.pop()
            stack.append(Name(f"{module} {attribute}"))
        elif name in TUPLES:
            size = TUPLES[name]
            stack[-size:] = [tuple(stack[-size:])]
        elif name == "TUPLE":
            start = marks.pop()
            stack[start:] = [tuple(stack[start:])]
        elif name == "APPENDS":
            start = marks.pop()
            stack[start - 1].extend(stack[start:])
            del stack[start:]
        elif name == "APPEND":
            value = stack.pop()
            stack[-1].append(value)
        elif name == "REDUCE":
            arguments = stack.pop()
            stack.append(called(stack.pop(), arguments))
        elif name == "BUILD":
            state = stack.pop()
            if not isinstance(stack[-1], ElementType | Array):
                raise Refused("a state of something else than an array")
            stack[-1].build(state)
        elif name == "STOP":
            break
        elif name not in ("PROTO", "FRAME"):
            raise Refused(f"the instruction {name}")
    (whole,) = stack
    if not isinstance(whole, Array) or not isinstance(whole.value, list):
        raise Refused("something else than an array of arrays")
    return whole.value


def holds_objects(path: Any) -> bool:
    """Whether all arrays of a .npz file are made of objects, by their headers."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            return bool(members) and all(_is_of_objects(archive, member) for member in members)
    except Exception:  # of a damaged file, whatever the parsers raise
        return False


def _is_of_objects(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    with archive.open(member) as content:
        return read_header(content)[2].kind == "O"


def object_arrays(path: Any, where: str) -> dict[str, list[Any]]:
    """Read the arrays of objects of a .npz file by name."""
    arrays: dict[str, list[Any]] = {}
    allowed = Allowance(where, size_of(path))
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                allowed.hold(PICKLE_RATIO * member.file_size, f"{name!r}")
                with archive.open(member) as content:
                    read_header(content)
                    arrays[name] = read_pickled(content.read())
                for element in arrays[name]:  # one may stand there again and again
                    allowed.hold(getattr(element, "nbytes", 0))
    except DataError:
        raise
    except Refused as error:
        raise refused(where, str(error)) from None
    except Exception:  # a damaged file fails in any of the steps above
        raise refused(where, "what is not an array of arrays of numbers") from None
    return arrays


def refused(where: str, what: str) -> DataError:
    return DataError(
        "holds pickled objects, which could run any code; of these only arrays of arrays of numbers"
        " are read",
        where=where,
        got=what,
        remedy="save numbers: ragged series as x (all steps, channels) and lengths",
    )
