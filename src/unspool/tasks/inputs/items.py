"""Items that are to be answered, as recordings of a field, some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def named_recordings(
    field: Any, items: Iterable[Any], *, most: int
) -> Iterator[tuple[list[str], list[Any]]]:
    """The names and the recordings of items as they come, as many as have `most` steps together."""
    names, recordings, size = list[str](), list[Any](), 0
    for number, item in enumerate(items, 1):
        names.append(field.shown(item))
        recordings.append(field.recording(item, f"item {number}"))
        size += len(recordings[-1])
        if size >= most:
            yield names, recordings
            names, recordings, size = [], [], 0
    if recordings:
        yield names, recordings
