"""Arguments that are paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unspool.errors import ConfigError


def path_of(value: Any, argument: str) -> Path:
    """The path; a ConfigError where it is none."""
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise ConfigError(
            f"{argument} is no path", got=value, remedy="give the name of a file or folder"
        )
    return Path(value)
