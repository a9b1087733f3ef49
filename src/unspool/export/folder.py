"""The new folder of an export."""

from __future__ import annotations

from pathlib import Path

from unspool.errors import ConfigError, Option


def refuse_full(folder: Path) -> None:
    """Raise an error about a folder that holds something."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(
            "the folder is not empty", where=folder, remedy=("name another with ", Option("out"))
        )
