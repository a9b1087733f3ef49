"""What the corpus still reads: a plan as one or two sources of examples, each a text and a label.

To be deleted when the corpus reads the columns of a `Plan` itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from unspool.data.plan import Plan
from unspool.data.read import Report

UNLABELLED = ("pretrain", "elmo")  # tasks that read documents and no labels


class Example(NamedTuple):
    """One row: its text, its label where there is one, the line where it starts."""

    text: str
    label: str | None
    line: int


@dataclass(frozen=True)
class Source:
    """One field of a plan, with the labels if there are any. Iterate over it as often as needed.

    Sentences are their words (or tags) between spaces. `side` is the number of the field; the other
    field of pairs, or of words and tags, is `target`.
    """

    plan: Plan
    side: int = 0

    @property
    def path(self) -> str:
        return self.plan.table.path

    @property
    def task(self) -> str:
        return self.plan.task

    @property
    def name(self) -> str:
        table = self.plan.table
        return table.files[self.side].name if table.format == "parallel" else table.name

    @property
    def format(self) -> str:
        return self.plan.table.format

    @property
    def labelled(self) -> bool:
        return "label" in self.plan.columns

    @property
    def target(self) -> Source | None:
        pairs = len(self.plan.columns) == 2 and not self.labelled
        return Source(self.plan, 1) if pairs and self.side == 0 else None

    @property
    def sides(self) -> tuple[Source, ...]:
        return (self,) if self.target is None else (self, self.target)

    @property
    def key(self) -> dict[str, Any]:
        return {**self.plan.key, "side": self.side}

    def __iter__(self) -> Iterator[Example]:
        return self.read()

    def read(self, report: Report | None = None) -> Iterator[Example]:
        for values, line in self.plan.rows(report):
            value = values[self.side]
            text = value if isinstance(value, str) else " ".join(value)
            yield Example(text, values[1] if self.labelled else None, line)

    def where(self, line: int, label: str | None = None) -> str:
        column = list(self.plan.columns.values())[self.side]
        return self.plan.table.where(line, label=label, column=column)
