"""A folder of derived data, kept from run to run: a key and a way to build in, a sealed entry out.

An entry is built in a temporary folder and renamed into place, so that it is there whole or not
at all, whoever else is writing the same one. A manifest with sizes and checksums reveals a damaged
entry, which is built again.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from unspool.errors import DataError
from unspool.io.files import open_regular, parse_json, read_regular

VERSION = 3
MANIFEST = "manifest.json"
TEMPORARY = ".building-"
STALE_SECONDS = 2 * 24 * 3600
BLOCK = 1 << 20

T = TypeVar("T")


def cache_dir() -> Path:
    """$UNSPOOL_CACHE, or ~/.cache/unspool."""
    chosen = os.environ.get("UNSPOOL_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "unspool"


def cached(
    key: dict[str, Any], build: Callable[[Path], None], load: Callable[[Path], T]
) -> tuple[T, bool]:
    """The entry for `key`, and whether it was there already.

    `build` fills an empty folder; `load` opens a finished one. The key is anything JSON can write.
    """
    entry = _usable_dir() / _digest(key)
    if _is_whole(entry):
        return load(entry), True
    build_folder = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=entry.parent))
    try:
        build(build_folder)
        _seal(build_folder)
        _install(build_folder, entry)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise DataError(
            "no room in the cache",
            where=entry.parent,
            remedy="free some space, or set UNSPOOL_CACHE to a folder on a larger disk",
        ) from None
    finally:
        shutil.rmtree(build_folder, ignore_errors=True)
    return load(entry), False


def _digest(key: dict[str, Any]) -> str:
    content = json.dumps([VERSION, key], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _usable_dir() -> Path:
    """The cache folder; where it cannot be written, one that lasts as long as this process."""
    global _fallback
    folder = cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            _sweep(folder)
            return folder
    except OSError:
        pass
    if _fallback is None:
        _fallback = Path(tempfile.mkdtemp(prefix="unspool-cache-"))
        atexit.register(shutil.rmtree, _fallback, ignore_errors=True)
    return _fallback


_fallback: Path | None = None


def _sweep(folder: Path) -> None:
    """Remove what a killed process left behind long ago."""
    for left in folder.glob(TEMPORARY + "*"):
        try:
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
        except OSError:
            continue


def _seal(folder: Path) -> None:
    files = {path.name: _fingerprint(path) for path in sorted(folder.iterdir())}
    (folder / MANIFEST).write_text(json.dumps(files), encoding="utf-8")


def _is_whole(folder: Path) -> bool:
    try:
        files = parse_json(read_regular(folder / MANIFEST))
        return all(
            _fingerprint(folder / name) == fingerprint for name, fingerprint in files.items()
        )
    except (OSError, ValueError, AttributeError):
        return False


def _fingerprint(path: Path) -> list[int]:
    """[size, CRC-32 of the content]: SHA-256 takes twice as long, and only damage matters."""
    size, checksum = 0, 0
    with open_regular(path) as file:
        while data := file.read(BLOCK):
            size, checksum = size + len(data), zlib.crc32(data, checksum)
    return [size, checksum]


def _install(built: Path, entry: Path) -> None:
    """Rename `built` to `entry`; another process may have been quicker, or left a damaged one."""
    for _ in range(5):
        try:
            os.rename(built, entry)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        if _is_whole(entry):
            return
        grave = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=entry.parent))
        with contextlib.suppress(FileNotFoundError):
            os.rename(entry, grave / "damaged")
        shutil.rmtree(grave, ignore_errors=True)
    raise DataError(
        "the cache entry cannot be replaced", where=entry, remedy="delete it and start again"
    )
