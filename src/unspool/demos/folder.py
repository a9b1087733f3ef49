"""Where a demo puts its run."""

from __future__ import annotations

from pathlib import Path


def free_folder(name: str) -> Path:
    """runs/NAME, or with a number behind it where that is taken."""
    base = Path("runs") / name
    path, number = base, 1
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path
