"""The files of a run folder: written whole or not at all, read only as they were written.

`hashes.json` lists the SHA-256 of every file that is loaded, so that a flipped bit or a file of
another run is noticed. Not listed are README.md and pictures, which people change; the tensors of
models and checkpoints, which have a hash inside; and a log that still grows.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from unspool.errors import RunError

MOST = 1 << 28  # bytes of a file that is read at once: a vocabulary of millions
DEEPEST = 64  # lists and objects within each other
KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: Path, mode: str = "rb", buffering: int = -1) -> BinaryIO:
    """`open`, of bytes, with an OSError for all that is not a regular file."""
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


def open_pipe(path: Path) -> BinaryIO:
    """`open`, with an OSError for devices but for a terminal: they never end."""
    file = open(path, "rb")  # noqa: SIM115  waits for the other end
    if not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode) and not file.isatty():
        file.close()
        raise OSError(errno.EINVAL, "not a regular file but a device", path)
    return file


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
    """Return whether lists and dicts lie within each other more than `DEEPEST` levels."""
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


AGAIN = "copy the run folder again, or train from scratch"
HASHES = "hashes.json"


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Give errors of the system, of which some have none, the name of the file."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write another file, flush to the disk, rename: readers see the old file or the new one."""
    # A card may name a file whose name is not UTF-8.
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with naming(path), open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of file systems that cannot, such as some of networks
            raise
    finally:
        os.close(descriptor)


def write_hashed(path: Path, content: bytes | str) -> None:
    """`write_atomic` of a file that is listed in hashes.json.

    Its new hash is listed first, beside that of the file it replaces: whenever the process is
    killed, the file that is there is a listed one.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    known = [hash_of(path)] if path.is_file() else []
    _list(path, [*known, hashlib.sha256(data).hexdigest()])
    write_atomic(path, data)


def read_hashed(path: Path) -> bytes:
    """The content of a file of a run; a RunError where it is missing or not what was written."""
    try:
        content = read_regular(path)
    except FileNotFoundError:
        raise RunError("missing from the run folder", where=path, remedy=AGAIN) from None
    except OSError as error:
        raise RunError(f"cannot be read ({error.strerror})", where=path, remedy=AGAIN) from None
    check_hash(path, content)
    return content


def check_hash(path: Path, content: bytes, *, growing: bool = False) -> None:
    """Refuse content that hashes.json does not list; a file that is `growing` need not be listed.

    A folder without hashes.json, as runs of old have none, is read unchecked; `load` says so.
    """
    hashes = read_hashes(path.parent)
    if hashes is None or (growing and path.name not in hashes):
        return
    if path.name not in hashes:
        problem = f"not a file of this run: {HASHES} does not list it"
    elif hashlib.sha256(content).hexdigest() not in hashes[path.name]:
        problem = f"damaged: its SHA-256 is not the one that {HASHES} lists"
    else:
        return
    remedy = f"{AGAIN}; if you changed it on purpose, remove {HASHES}"
    raise RunError(problem, where=path, remedy=remedy)


def in_run(path: Path) -> bool:
    """Return whether a run has a file that not every run has; a RunError where it has lost it."""
    if path.exists():
        return True
    if path.name in (read_hashes(path.parent) or {}):
        raise RunError("missing from the run folder", where=path, remedy=AGAIN)
    return False


def read_hashes(folder: Path) -> dict[str, list[str]] | None:
    """{file: its SHA-256s, two if it was replaced}; None where the folder has no such list."""
    path = folder / HASHES
    remedy = f"{AGAIN}, or remove it: nothing is checked then"
    try:
        hashes = parse_json(read_regular(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"cannot be read ({error.strerror})", where=path, remedy=remedy) from None
    except ValueError as error:
        raise RunError(f"damaged: {error}", where=path, remedy=remedy) from None
    if not isinstance(hashes, dict) or not all(isinstance(x, list) for x in hashes.values()):
        raise RunError("damaged: no list of hashes", where=path, remedy=remedy)
    return hashes


def list_hash(path: Path) -> None:
    """List a file as it is: one that has stopped growing."""
    _list(path, [hash_of(path)])


def unlist_hash(path: Path) -> None:
    """A file that grows again."""
    _list(path, [])


def list_all(folder: Path) -> None:
    """Begin the list of a folder that has none, with the files that are there."""
    if not (folder / HASHES).exists():
        files = [path for end in ("json", "npy", "csv") for path in sorted(folder.glob(f"*.{end}"))]
        _write_hashes(folder, {path.name: [hash_of(path)] for path in files})


def _list(path: Path, digests: list[str]) -> None:
    before = read_hashes(path.parent) or {}
    hashes = {name: known for name, known in before.items() if name != path.name}
    if digests:
        hashes[path.name] = list(dict.fromkeys(digests))
    if hashes != before:
        _write_hashes(path.parent, hashes)


def _write_hashes(folder: Path, hashes: dict[str, list[str]]) -> None:
    write_atomic(folder / HASHES, json.dumps(hashes, indent=1, sort_keys=True) + "\n")


def hash_of(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    try:
        content = text.encode()
    except UnicodeEncodeError:  # the name of a file that is not UTF-8 is written as \udc..
        content = (json.dumps(value, indent=1) + "\n").encode()
    write_hashed(path, content)


def read_json(path: Path) -> Any:
    """The value of a JSON file of a run folder; a RunError where it is missing or damaged."""
    content = read_hashed(path)
    try:
        return parse_json(content)
    except ValueError as error:
        raise RunError(f"damaged: {error}", where=path, remedy=AGAIN) from None


@contextmanager
def stored_state(path: Path, message: str) -> Iterator[Any]:
    """The JSON of a file of a run folder; a RunError where it is not what the caller expects."""
    stored = read_json(path)
    try:
        yield stored
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        raise RunError(message, where=path, remedy=AGAIN) from None
