"""The files of the page, in web/."""

from __future__ import annotations

from functools import cache
from pathlib import Path

WEB = Path(__file__).parent / "web"
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
}


@cache
def assets() -> frozenset[str]:
    """Their names, such as views/training.js."""
    kinds = {".html", ".css", ".js"}
    return frozenset(p.relative_to(WEB).as_posix() for p in WEB.rglob("*") if p.suffix in kinds)


def asset(name: str) -> bytes:
    return (WEB / name).read_bytes()
