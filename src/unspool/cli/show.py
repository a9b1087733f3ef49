"""What commands print: results on stdout, as text or JSON; messages and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def result(value: Any, *, as_json: bool) -> None:
    """Print something that has `lines()` and `to_json()`."""
    if as_json:
        print(json.dumps(value.to_json(), ensure_ascii=False, indent=1))
    else:
        for line in value.lines():
            print(line)


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def console() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@contextmanager
def reading() -> Iterator[Callable[[str, float], None]]:
    """A progress callback (stage, share done) for the reading of data; silent off a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage, share: None
        return
    from rich.progress import Progress

    bars: dict[str, Any] = {}
    progress = Progress(console=console(), transient=True)

    def show(stage: str, share: float) -> None:
        if stage not in bars:
            progress.start()
            bars[stage] = progress.add_task(stage, total=1.0)
        progress.update(bars[stage], completed=share)
        if share >= 1:
            progress.remove_task(bars.pop(stage))
            if not bars:
                progress.stop()

    try:
        yield show
    finally:
        progress.stop()  # an error in the middle must not leave the cursor hidden
