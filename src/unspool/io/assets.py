"""Files of a page, which a server sends as they are: a folder in; names, bytes and types out."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
}


class Assets:
    """The files of a folder; others are never read, whatever their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def names(self) -> frozenset[str]:
        """Their names, such as views/training.js."""
        paths = (path for path in self.folder.rglob("*") if path.suffix[1:] in TYPES)
        return frozenset(path.relative_to(self.folder).as_posix() for path in paths)

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()
