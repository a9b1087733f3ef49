"""Answers as they are written by `unspool predict`: text, tables, JSON lines, further formats."""

from __future__ import annotations

import json
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from unspool.cli.show import note
from unspool.cli.tables import BINARY, ENDINGS, convert_rows, require_writer, table_writer
from unspool.data.plan import Plan
from unspool.data.read.delimited import Cells as DelimitedReader
from unspool.data.read.files import Report
from unspool.errors import DataError, choose, visible
from unspool.tasks import Answer
from unspool.tasks.answer import counted

Cells = tuple[Any, ...]  # of a row


def check_ending(out: Path | None, kind: type[Answer]) -> None:
    """Refuse a name whose ending stands for no format of these answers."""
    if out is not None:
        endings = [*ENDINGS, ".jsonl", ".txt", *kind.formats, *kind.binary]
        choose("ending of the output file", out.suffix.lower(), endings, where=out)
        require_writer(out)


class SourceRows(NamedTuple):
    """The columns of the table that the items came from, to be kept next to the answers.

    rows        the values of all columns, of each item in turn; it grows as items are read
    delimiter   of its cells, where it has one
    """

    names: list[str]
    rows: deque[Cells]
    delimiter: str | None = None


def rows_of(plan: Plan, report: Report = None) -> tuple[Iterator[Any], SourceRows]:
    """The inputs of a plan, and what its table has next to each; `report` gets the share of the
    table that has been read."""
    names = [column.name for column in plan.table.columns]
    reader = plan.table.reader
    dialect = reader.dialect if isinstance(reader, DelimitedReader) else None
    source = SourceRows(names, deque(), None if dialect is None else dialect.delimiter)

    def items() -> Iterator[Any]:
        for values, row in plan.whole_rows(report):
            source.rows.append(row)
            yield values[0]

    return items(), source


@dataclass(frozen=True)
class AnswerFormat:
    """How answers are written into a file, or to stdout.

    ending      of the file
    columns     those of the table that the items came from; None: of none
    delimiter   of its cells, where it has one
    names       what columns of the answers are called in a table
    """

    ending: str
    columns: list[str] | None = None
    delimiter: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def write(
        self, answers: Iterable[Answer], file: Any, rows: deque[Cells] | None = None, first: int = 1
    ) -> WrittenAnswers:
        """Write answers, the first of which has a number, after the cells of their rows."""
        table = table_writer(self.ending, file, self.delimiter)
        count, plural, warnings = 0, "predictions", Counter[str]()
        kept: list[int] | None = None
        for count, answer in enumerate(answers, start=1):
            number, plural = first + count - 1, answer.plural
            row = None if rows is None else rows.popleft()
            if (note := answer.note) is not None:
                warnings[note] += 1
            if self.ending == ".jsonl":
                shown = json.dumps(self.as_object(answer, row), ensure_ascii=False, default=str)
                file.write(f"{shown}\n")
            elif self.ending in ENDINGS:
                if count == 1:
                    names, kept = self.header(answer)
                    table.writerows([names] if first == 1 else [])
                table.writerows(self.as_rows(answer, number, row, kept))
            else:
                to_lines = answer.formats.get(self.ending)
                lines = answer.lines(number) if to_lines is None else to_lines(answer)
                file.writelines(f"{line}\n" for line in lines)
        return WrittenAnswers(count, plural, warnings)

    def as_object(self, answer: Answer, row: Cells | None) -> dict[str, Any]:
        fields = answer.to_json()
        if row is None or self.columns is None:
            return fields
        cells = dict(zip(self.columns, row))
        new = {name: value for name, value in fields.items() if value not in cells.values()}
        return {**cells, **{self._unique(name): value for name, value in new.items()}}

    def header(self, answer: Answer) -> tuple[list[str], list[int] | None]:
        """The names of the columns, and which columns of answers follow those of the table: all
        but the one that repeats the item; None: all, there is no table."""
        plain = answer.header()
        names = [self.names.get(name, name) for name in plain]
        if self.columns is None:
            return names, None
        kept = [i for i, name in enumerate(plain) if name != answer.repeats]
        return [*self.columns, *(self._unique(names[i]) for i in kept)], kept

    def as_rows(
        self, answer: Answer, number: int, row: Cells | None, kept: list[int] | None
    ) -> list[list[Any]]:
        """The rows of an answer, after what was given, which stands alone where there is no
        answer, as in a text without spans."""
        rows = answer.rows(number)
        if row is None or kept is None:
            return rows
        cells = ["" if value is None else value for value in row]
        return [[*cells, *[new[i] for i in kept]] for new in rows] or [[*cells, *[""] * len(kept)]]

    def _unique(self, name: str) -> str:
        """Name of a column of the answers that differs from those of the table."""
        return f"predicted_{name}" if name in (self.columns or ()) else name


class WrittenAnswers(NamedTuple):
    """How many answers were written, what they are called, and the problems with their items."""

    number: int
    plural: str
    warnings: Counter[str]

    def lines(self, out: Path | None) -> list[str]:
        return [
            *counted(self.warnings),
            *([] if out is None else [f"{self.number} {self.plural} in {out}"]),
        ]


def write_answers(
    answers: Iterable[Answer],
    out: Path | None,
    *,
    as_json: bool,
    source: SourceRows | None = None,
    names: Mapping[str, str] | None = None,
) -> None:
    """Write each answer as it comes, in the format that the ending of `out` names; to stdout as
    text, or as JSON lines. In a table and as JSON, what was given stands before the answer.

    names   what columns of the answers are called in a table
    """
    ending = out.suffix.lower() if out is not None else (".jsonl" if as_json else ".txt")
    answers = iter(answers)
    first = next(answers, None)
    if out is not None and first is not None and ending in first.binary:
        write_alone(first, next(answers, None), out)
        return
    answers = answers if first is None else chain([first], answers)
    shown = answer_format(ending, source, names)
    with destination(out) as file:
        written = shown.write(answers, file, None if source is None else source.rows)
    for line in written.lines(out):
        note(line)


def answer_format(
    ending: str, source: SourceRows | None, names: Mapping[str, str] | None
) -> AnswerFormat:
    if source is None:
        return AnswerFormat(ending, names=names or {})
    return AnswerFormat(ending, source.names, source.delimiter, names or {})


def write_alone(answer: Answer, other: Answer | None, out: Path) -> None:
    """A file that holds one answer."""
    if other is not None:
        raise DataError(
            f"a {out.suffix} file holds one answer, and there are several",
            where=out,
            remedy="give one item, or another ending",
        )
    content = answer.binary[out.suffix.lower()](answer)
    with destination(out, binary=True) as file:
        file.write(content)
    note(f"1 {answer.plural.removesuffix('s')} in {out}")


class Terminal:
    """stdout, on which control characters of data are shown rather than obeyed."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        sys.stdout.flush()


@contextmanager
def destination(out: Path | None, *, binary: bool = False) -> Iterator[Any]:
    """stdout, or a file that appears only when it is complete."""
    if out is None:
        yield Terminal() if sys.stdout.isatty() else sys.stdout
        return
    partial = out.with_name(f".{out.name}.part")
    try:
        options: Any = {} if binary else {"encoding": "utf-8", "newline": ""}
        with open(partial, "wb" if binary else "w", **options) as file:
            yield file
        finish(partial, out)
    except OSError as error:
        raise unwritable(out, error) from None
    finally:
        with suppress(OSError):
            partial.unlink()


def finish(partial: Path, out: Path) -> None:
    """Move what was written to its name; rows for Excel and Parquet become such a file first."""
    if out.suffix.lower() in BINARY:
        made = partial.with_name(f"{partial.name}{out.suffix}")
        try:
            convert_rows(partial, made, out)
            made.replace(out)
        finally:
            with suppress(OSError):
                made.unlink()
        partial.unlink()
    else:
        partial.replace(out)


def unwritable(out: Path, error: OSError) -> DataError:
    return DataError(
        f"cannot be written ({error.strerror})", where=out, remedy="give another --out"
    )
