"""What a page is of: a run as the page needs it. `Run` makes one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from torch import nn

from unspool.errors import RunError
from unspool.insight.ngrams import NgramTable
from unspool.tasks.reading import Reading
from unspool.tasks import Task


class Subject(NamedTuple):
    """A task with its trained model and the files beside it.

    model    None while a run is training and has no weights yet
    log      metrics.jsonl, which may still grow
    example  a text to begin with
    table    of a cnn: the n-grams of a corpus, where one was given
    """

    task: Task
    model: nn.Module | None
    path: Path
    log: Path
    example: str
    table: NgramTable | None = None

    @property
    def trained(self) -> nn.Module:
        """The model; without one there is only the training to see."""
        if self.model is None:
            raise RunError(
                "the run has no trained weights yet",
                where=self.path,
                remedy="open the page again after its first epoch",
            )
        return self.model

    def read(self, text: str) -> Reading:
        return read(self.task, self.trained, text)
