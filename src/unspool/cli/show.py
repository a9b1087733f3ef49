"""Output of commands: results on stdout, as text or JSON; messages and progress on stderr."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unspool.errors import visible

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from unspool.api.run import Run


def result(value: Any, *, as_json: bool) -> None:
    """Print something that has `lines()` and `to_json()`."""
    if as_json:
        print(json.dumps(value.to_json(), ensure_ascii=False, indent=1))
    else:
        for line in value.lines():
            print(visible(line))


def shown(text: str) -> str:
    """A text for stdout, which as data for another program stays as it is."""
    return visible(text) if sys.stdout.isatty() else text


def note(text: str) -> None:
    print(visible(text), file=sys.stderr, flush=True)


def console() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@contextmanager
def reading() -> Iterator[Callable[[str, float], None]]:
    """A progress callback (stage, share done) for the reading of data; silent off a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage, share: None
        return
    from unspool.training.progress import reading as bars

    with bars(console()) as progress:
        yield progress


def loaded(run: Path) -> Run:
    """The model of a run folder; what is to be known about it goes to stderr.

    All that is imported for it stays, so nothing is collected meanwhile: each collection would walk
    through the whole of torch.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        from unspool.api.run import load

        return load(run, note=note)
    finally:
        if collecting:
            gc.enable()
