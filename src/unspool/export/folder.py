"""The new folder of an export."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unspool.errors import ConfigError, Option
from unspool.io.files import sync_folder


def refuse_full(folder: Path) -> None:
    """Raise an error about a folder that holds something."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(
            "the folder is not empty", where=folder, remedy=("name another with ", Option("out"))
        )


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, which gets its name when all is in it; an error leaves nothing."""
    folder = folder.resolve()
    partial = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
    try:
        partial.mkdir(parents=True)
        yield partial
        partial.replace(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
