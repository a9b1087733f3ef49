"""elmo: a corpus in, a run folder of a forward and a backward language model out.

The vectors are made anew for every text (`tasks/elmo.py`), so the folder holds a model and no list
of words. It is a run like any other: `unspool train --resume --out RUN` goes on with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unspool.api.train import train
from unspool.data.store.columns import Progress
from unspool.tasks import Report
from unspool.training.progress import Note, Printed


@dataclass(frozen=True)
class ElmoRun:
    """The folder, and the report on the part of the corpus that was held out."""

    path: Path
    report: Report | None

    def to_json(self) -> dict[str, Any]:
        return {"run": str(self.path), **(self.report.to_json() if self.report else {})}

    def lines(self) -> list[str]:
        return self.report.lines() if self.report else []


class _Lines:
    """The console of `Printed`, whose lines go to `note`."""

    is_terminal = False

    def __init__(self, note: Note) -> None:
        self.note = note

    def print(self, text: str, **_: Any) -> None:
        self.note(text)


def train_contextual(
    corpus: str,
    *,
    task: str,
    out: Path | None = None,
    settings: Mapping[str, Any],
    config_file: str | None = None,
    note: Note,
    progress: Progress | None = None,
) -> ElmoRun:
    """Train the language models of a task; everything about them lies in the folder `out`."""
    run = train(
        corpus,
        task=task,
        out=out,
        config=config_file,
        note=note,
        progress=progress,
        watcher=Printed(_Lines(note)),
        **settings,
    )
    return ElmoRun(run.path, run.report)
