"""Files that end: a path in, the bytes of a regular file or a bounded JSON value out.

A pipe or a device in the place of a file would be waited for, or read, for ever.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, cast

MOST = 1 << 28  # bytes of a file that is read at once: a vocabulary of millions
DEEPEST = 64  # lists and objects within each other
KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: Path, mode: str = "rb", buffering: int = -1) -> BinaryIO:
    """`open`, of bytes, with an OSError for all that is no regular file."""
    if "\0" in str(path):  # for which `open` has another error
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return cast(BinaryIO, open(path, mode, buffering, opener=_open))


def _open(path: str, flags: int) -> int:
    # Without O_NONBLOCK the opening of a pipe waits for its other end. Windows has no such pipes.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind in KINDS:
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"not a regular file but {KINDS[kind]}", path)
    return descriptor


def check_regular(path: Path) -> None:
    """For libraries that open a file by themselves."""
    open_regular(path).close()


def read_regular(path: Path, most: int = MOST) -> bytes:
    """The bytes of a file; an OSError where there are more than `most`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"{size:,} bytes, more than such a file can have", path)
        return file.read(size)


def parse_json(content: bytes) -> Any:
    """The value of a JSON text; a ValueError in words where it is none, or without bounds."""
    try:
        value = json.loads(content.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON at line {error.lineno}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:  # of the conversion to an int
        raise ValueError("a number has too many digits") from None
    if is_deep(value):
        raise ValueError("nested too deeply")
    return value


def is_deep(value: Any) -> bool:
    """Whether lists and dicts lie within each other more than `DEEPEST` levels."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
