"""A stored trace: trace.json in, a `Trace` out, to be drawn.

Of a long text the file has a window of its tokens (docs/trace.md), and so has what is read here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from unspool.errors import DataError
from unspool.insight.trace import VERSION, Alternative, Choice, Recorded, Trace
from unspool.tasks.translation import Candidate

AGAIN = "make one with unspool look RUN TEXT --pictures DIR"


def stored_trace(path: Path) -> Trace:
    """The trace of a file; a DataError where it is none, or of another version."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        version = stored["version"]
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=path, remedy=AGAIN) from None
    except (ValueError, TypeError, KeyError):
        raise DataError("not a trace", where=path, remedy=AGAIN) from None
    if version != VERSION:
        raise DataError(
            f"a trace of another version; this unspool reads version {VERSION}",
            where=path,
            got=version,
            remedy=AGAIN,
        )
    try:
        return _trace(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"a damaged trace ({type(error).__name__}: {error})", where=path, remedy=AGAIN
        ) from None


def _trace(stored: dict[str, Any]) -> Trace:
    first, size = stored["window"]["first"], stored["window"]["tokens"]
    window = slice(first, first + size)
    choices = [
        Choice(
            own["asked"],
            own["answer"],
            own["probability"],
            [Alternative(**other) for other in own["alternatives"]],
            own.get("measure", "probability"),
        )
        for own in stored["choices"]
    ]
    return Trace(
        stored["task"],
        stored["model"],
        stored["text"],
        list(stored["tokens"][window]),
        list(stored["written"][window]),
        stored["whole"],
        choices if len(choices) == 1 else choices[window],
        [Candidate(**own) for own in stored["candidates"]],
        [_recorded(own) for own in stored["arrays"]],
        np.zeros((0, 0)),
    )


def _recorded(own: dict[str, Any]) -> Recorded:
    axes = tuple(own["axes"])
    values = np.array(own["values"], dtype=float)
    if values.ndim != len(axes):
        raise ValueError(f"{own['path']} has {values.ndim} axes, not {', '.join(axes)}")
    return Recorded(
        own["path"], own["kind"], own["part"], own["layer"], own["direction"], axes, values
    )
