"""How the commands speak: lines for people on stderr, results on stdout, JSON where asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from unspool.tasks import Report


def result(value: Any, *, as_json: bool) -> None:
    """Print something that has `lines()` and `to_json()`."""
    if as_json:
        print(json.dumps(value.to_json(), ensure_ascii=False, indent=1))
    else:
        for line in value.lines():
            print(line)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class TrainResult:
    """What `unspool train` prints: the report, where anything was held out to report on."""

    path: Path
    part: str | None
    report: Report | None

    def to_json(self) -> dict[str, Any]:
        report = self.report.to_json() if self.report is not None else {}
        return {"run": str(self.path), "part": self.part, **report}

    def lines(self) -> list[str]:
        return self.report.lines() if self.report is not None else []


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
