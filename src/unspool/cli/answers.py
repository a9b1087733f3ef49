"""Answers as they are written by `unspool predict`: text, tables, JSON lines, further formats."""

from __future__ import annotations

import json
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from unspool.cli.show import note
from unspool.cli.tables import BINARY, ENDINGS, TypedTable, table_writer
from unspool.data.plan import Plan
from unspool.data.read.delimited import Cells
from unspool.errors import DataError, choose, visible
from unspool.tasks import Answer
from unspool.tasks.answer import counted


def check_ending(out: Path | None, kind: type[Answer]) -> None:
    """Refuse a name whose ending stands for no format of these answers."""
    if out is not None:
        endings = [*ENDINGS, ".jsonl", ".txt", *kind.formats, *kind.binary]
        choose("ending of the output file", out.suffix.lower(), endings, where=out)


class SourceRows(NamedTuple):
    """The columns of the table that the items came from, to be kept next to the answers.

    rows        the values of all columns, of each item in turn; it grows as items are read
    delimiter   of its cells, where it has one
    """

    names: list[str]
    rows: deque[tuple[Any, ...]]
    delimiter: str | None = None

    def unique_name(self, name: str) -> str:
        """Name of a column of the answers that differs from these."""
        return f"predicted_{name}" if name in self.names else name


def rows_of(plan: Plan) -> tuple[Iterator[Any], SourceRows]:
    """The inputs of a plan, and what its table has next to each."""
    names = [column.name for column in plan.table.columns]
    reader = plan.table.reader
    dialect = reader.dialect if isinstance(reader, Cells) else None
    source = SourceRows(names, deque(), None if dialect is None else dialect.delimiter)

    def items() -> Iterator[Any]:
        for values, row in plan.whole_rows():
            source.rows.append(row)
            yield values[0]

    return items(), source


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
    count, warnings = 0, Counter[str]()
    answer, answers = None, iter(answers)
    first = next(answers, None)
    if out is not None and first is not None and ending in first.binary:
        write_alone(first, next(answers, None), out)
        return
    answers = answers if first is None else chain([first], answers)
    with destination(out, binary=ending in BINARY) as file:
        table = table_writer(out, file, None if source is None else source.delimiter)
        for count, answer in enumerate(answers, start=1):
            if answer.note is not None:
                warnings[answer.note] += 1
            if ending == ".jsonl":
                shown = json.dumps(as_object(answer, source), ensure_ascii=False, default=str)
                file.write(f"{shown}\n")
            elif ending in ENDINGS:
                table.writerows(as_rows(answer, count, source, names or {}))
            else:
                to_lines = answer.formats.get(ending)
                lines = answer.lines(count) if to_lines is None else to_lines(answer)
                file.writelines(f"{line}\n" for line in lines)
        if isinstance(table, TypedTable):
            table.finish(file)
    for line in counted(warnings):
        note(line)
    if out is not None:
        note(f"{count} {answer.plural if answer is not None else 'predictions'} in {out}")


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


def as_object(answer: Answer, source: SourceRows | None) -> dict[str, Any]:
    fields = answer.to_json()
    if source is None:
        return fields
    row = dict(zip(source.names, source.rows.popleft()))
    new = {name: value for name, value in fields.items() if value not in row.values()}
    return {**row, **{source.unique_name(name): value for name, value in new.items()}}


def as_rows(
    answer: Answer, number: int, source: SourceRows | None, called: Mapping[str, str]
) -> list[list[Any]]:
    """The rows of an answer, before those of the first one their header. What was given stands
    before each, and alone where there is no answer, as in a text without spans."""
    plain, rows = answer.header(), answer.rows(number)
    header = [called.get(name, name) for name in plain]
    if source is None:
        return [header, *rows] if number == 1 else rows
    kept = [i for i, name in enumerate(plain) if name != answer.repeats]
    row = ["" if value is None else value for value in source.rows.popleft()]
    table = [[*row, *(cells[i] for i in kept)] for cells in rows] or [[*row, *[""] * len(kept)]]
    names = [*source.names, *(source.unique_name(header[i]) for i in kept)]
    return [names, *table] if number == 1 else table


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
        partial.replace(out)
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror})", where=out, remedy="give another --out"
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink()
