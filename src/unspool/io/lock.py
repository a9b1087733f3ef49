"""One owner of a folder: a folder in, held until the end of a `with` block.

The lock is the operating system's, on the file `.lock`: flock, or where there is none (Windows) a
locked byte. So it ends with its process, however that ends, and what a dead process leaves behind
is taken over. The text of the file says who holds it.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from unspool.errors import Option, RunError
from unspool.io.files import open_regular, parse_json, read_regular

LOCK = ".lock"
TRIES, PAUSE = 10, 0.02  # seconds
OTHER = ("give another ", Option("out"))
UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # by some network file systems


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Hold a folder that is there; a RunError names the process that holds it already."""
    path = folder / LOCK
    try:
        file = _acquire(path)
    except BlockingIOError:
        raise held_error(folder) from None
    except OSError as error:
        raise RunError(
            f"cannot be written into ({error.strerror})", where=folder, remedy=OTHER
        ) from None
    try:
        for pattern in (".*.part", "checkpoints/.*.part"):  # of a process that was killed
            for path_left in folder.glob(pattern):
                shutil.rmtree(path_left) if path_left.is_dir() else path_left.unlink()
        yield
    finally:
        with suppress(OSError):
            if _is_same(file, path):
                path.unlink()
        file.close()


def _acquire(path: Path) -> BinaryIO:
    """The locked file, with who we are; a BlockingIOError where it is another's."""
    tries = TRIES
    while True:
        file = open_regular(path, "a+b", buffering=0)
        try:
            lock_file(file.fileno(), path)
            if _is_same(file, path):  # otherwise its last owner has removed it meanwhile
                file.truncate(0)
                file.write(_about_me())
                return file
            file.close()
        except BaseException as error:
            file.close()
            tries -= 1
            if not isinstance(error, BlockingIOError) or not tries:
                raise
            time.sleep(PAUSE)  # `refuse_held` of another holds it for a moment


def refuse_held(folder: Path) -> None:
    """A RunError where another process holds the folder; nothing is written."""
    path = folder / LOCK
    try:
        with open_regular(path, "r+b", buffering=0) as file:
            lock_file(file.fileno(), path)
    except BlockingIOError:
        raise held_error(folder) from None
    except OSError:  # no lock, or none that could be taken: `owned` will say more
        return


def held_error(folder: Path) -> RunError:
    holder = _holder(folder / LOCK)
    who = "another process"
    if holder:
        who = f"process {holder['pid']} on {holder['host']}, since {holder['since']}"
    return RunError(
        f"is held by {who}", where=folder, remedy=("wait until it has ended, or ", *OTHER)
    )


def _about_me() -> bytes:
    since = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    return json.dumps({"pid": os.getpid(), "host": platform.node(), "since": since}).encode()


def _holder(path: Path) -> dict[str, object]:
    """Content of the lock file; {} where it is empty, as just after it was made."""
    try:
        record = parse_json(read_regular(path, most=4096))
        return {name: record[name] for name in ("pid", "host", "since")}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _is_same(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def lock_file(descriptor: int, path: Path) -> None:
        """A byte far behind the text, which others may then read."""
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None
else:
    import fcntl

    def lock_file(descriptor: int, path: Path) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # Where the file system knows no locks, the text of the file has to do.
            if error.errno not in UNSUPPORTED:
                raise
            if _lives(_holder(path)):
                raise BlockingIOError from None

    def _lives(holder: dict[str, object]) -> bool:
        """Return whether the process is there; of another machine's it is believed."""
        if not holder or holder["host"] != platform.node():
            return bool(holder)
        try:
            os.kill(int(str(holder["pid"])), 0)
        except (ProcessLookupError, ValueError, OverflowError):
            return False
        except PermissionError:
            return True
        return True
