"""The answer of a model to one item: it prints itself as text, as rows of a table and as JSON."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Self


class Answer(ABC):
    """One answer; each task has a subclass, a frozen dataclass.

    plural    what several answers are called in a message
    repeats   the column of `rows` that repeats the item
    formats   what can be written besides text, tables and JSON: the ending of a file, and the
              function that gives the lines of an answer in it
    binary    the same of files that are no text, of which each holds one answer: their bytes
    """

    plural: ClassVar[str] = "predictions"
    repeats: ClassVar[str | None] = "text"
    formats: ClassVar[Mapping[str, Callable[[Any], list[str]]]] = {}
    binary: ClassVar[Mapping[str, Callable[[Any], bytes]]] = {}

    @abstractmethod
    def __str__(self) -> str: ...

    def lines(self, number: int) -> list[str]:
        """The answer as text; `number`: its number, from 1."""
        return [str(self)]

    def remarks(self) -> list[str]:
        """Remarks for people about an answer that is in a file."""
        return []

    @abstractmethod
    def header(self) -> list[str]:
        """The columns of `rows`."""

    @abstractmethod
    def rows(self, number: int) -> list[list[Any]]:
        """For a table; `number`: of the answer, from 1."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]: ...

    cut: int = 0  # tokens that were read of an item that has more

    @property
    def warning(self) -> str | None:
        """The problem with the item, to follow `3 texts were ...`."""
        return None

    @property
    def note(self) -> str | None:
        """Its warning, or that its item was cut."""
        cut = f"cut to the first {self.cut:,} tokens" if self.cut else None
        return self.warning or cut

    def of_cut(self, tokens: int) -> Self:
        """The same, of an item of which so many tokens were read."""
        object.__setattr__(self, "cut", tokens)
        return self


class Answers(list[Any]):
    """A list of answers of one task that shows itself as lines, and as a table in a notebook."""

    def warnings(self) -> list[str]:
        """Problems with items, counted."""
        return counted(Counter(answer.note for answer in self if answer.note is not None))

    def to_frame(self) -> Any:
        """The answers as a pandas data frame, with the columns of `predict --out`."""
        import pandas

        return pandas.DataFrame(self.table(), columns=self[0].header() if self else [])

    def to_csv(self, path: str | Path) -> None:
        """Write the answers as a CSV file, with the columns of `predict --out`."""
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([self[0].header()] if self else [])
            writer.writerows(self.table())

    def table(self) -> list[list[Any]]:
        """The rows of all answers."""
        return [row for number, answer in enumerate(self, 1) for row in answer.rows(number)]

    def __repr__(self) -> str:
        lines = [line for number, answer in enumerate(self, 1) for line in answer.lines(number)]
        return "\n".join([*lines, *(f"({warning})" for warning in self.warnings())])

    def _repr_html_(self) -> str:
        if not self:
            return html_table([], [])
        notes = "".join(f"<p>{escape(warning)}</p>" for warning in self.warnings())
        return html_table(self[0].header(), self.table()) + notes


def empty(text: str) -> str | None:
    """The warning of an answer to nothing: it is what the model gives where no word speaks."""
    return None if text.strip() else "empty"


def counted(warnings: Mapping[str, int]) -> list[str]:
    """`3 texts were empty`"""
    return [
        f"{times:,} text{'s were' if times > 1 else ' was'} {warning}"
        for warning, times in warnings.items()
    ]


def html_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The table as HTML, whatever the cells contain."""
    lines = [("th", header), *(("td", row) for row in rows)]
    cells = ("".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in row) for tag, row in lines)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def one_line(text: str) -> str:
    return " ".join(text.split())
