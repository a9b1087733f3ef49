"""Plan pairs: a source that is read, and a target that is written.

The user's settings decide; otherwise known names (`source` and `target`, two languages), otherwise
that there are just two columns. Unless the task is named only names make a table one of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import Column, Shape, Table
from unspool.data.read.columns import (
    KNOWN_NAMES,
    LANGUAGES,
    SOURCE_NAMES,
    TARGET_NAMES,
    TEXT_NAMES,
    is_column_number,
    known_pair,
    plain,
)
from unspool.data.read.reader import SAMPLE
from unspool.errors import DataError, Option, Setting
from unspool.tasks.plan import TEXTS, input_plan

FIT = 2
REMEDY = ("name them with ", Option("source", "target"), ", or give two files as a.en,a.de")
NAMES = KNOWN_NAMES | LANGUAGES | {*SOURCE_NAMES, *TARGET_NAMES}


def plan_translation(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """A source and its target."""
    return plan_pairs(table, data, named=named) if outputs else plan_sources(table, data)


def plan_sources(table: Table, data: DataConfig, *, task: str = "translate") -> Plan:
    """Plan the sources alone."""
    if table.shape == Shape.PAIRS:
        summary = f"{table.summary} -> {task}"
        return Plan(task, table, {"source": table.columns[0]}, FIT, summary)
    names = (*SOURCE_NAMES, *TEXT_NAMES)
    return input_plan(task, table, data, field="source", names=names, leftmost=True)


def plan_pairs(
    table: Table, data: DataConfig, *, named: bool, task: str = "translate"
) -> Plan | None:
    if named and table.shape == Shape.TEXTS and len(table.files) == 2:  # texts and their labels
        table = table.reread("parallel")
    if table.shape == Shape.PAIRS:
        columns = dict(zip(("source", "target"), table.columns))
        return Plan(task, table, columns, FIT, f"{table.summary} -> {task}")
    sure = named or bool(data.source or data.target)
    if not sure and (data.text or data.label):
        return None
    if table.shape == Shape.FOLDER and sure:
        raise DataError("a folder holds no pairs", where=table.path, remedy=REMEDY)
    if named:
        table = table.as_documents()
    plain_text = table.shape == Shape.TEXTS and not table.certain
    if sure and plain_text and _has_tabs(table):
        table = table.reread("tsv")
    if table.shape != Shape.TABLE:
        if named or (sure and table.shape != Shape.SENTENCES):
            raise DataError(
                f"holds no pairs: {task} needs two columns or two files",
                where=table.path,
                remedy=REMEDY,
            )
        return None
    if sure and data.header is None and not table.typed and not _names_columns(table, data):
        table = table.reread(table.format, header=False)
    pair = known_pair([column.name for column in table.columns]) if table.header else None
    alike = not sure and pair is None
    if alike and not looks_like_pairs(table):
        return None
    source, target = _choose(table, data, pair)
    noun = f"{table.reader.noun}s"
    names = (f"{column.name!r}" if table.header else column.name for column in (source, target))
    summary = f"{table.summary}, pairs of {noun} {' and '.join(names)} -> {task}"
    settings = {}
    if source.profile.is_single_words or target.profile.is_single_words:
        settings = {"tokenizer.kind": "char"}
        summary += (
            f", by characters, as they are single words ({Setting(kind='bpe')} for byte pairs)"
        )
    if alike:
        summary += f" ({Option(task='generate')} reads one column)"
    columns = {"source": source, "target": target}
    convert = TEXTS if table.typed else None
    return Plan(task, table, columns, FIT, summary, convert, settings)


def looks_like_pairs(table: Table) -> bool:
    """Two columns without known names, of texts that are about as long and hardly come again: a
    label would, and one is a number or a code if it identifies the other."""
    if len(table.columns) != 2 or table.shape != Shape.TABLE or table.typed:
        return False
    if table.header and any(plain(column.name) in KNOWN_NAMES for column in table.columns):
        return False
    lengths = []
    for column in table.columns:
        values = [value for value in column.profile.texts if value]
        codes = sum(any(char.isdigit() for char in value) and " " not in value for value in values)
        if len(values) < 10 or len(set(values)) < 0.8 * len(values) or codes > 0.5 * len(values):
            return False
        lengths.append(sum(map(len, values)) / len(values))
    return max(lengths) < 4 * min(lengths)


def _has_tabs(table: Table) -> bool:
    return all("\t" in line for line in table.files[0].head(SAMPLE))


def _names_columns(table: Table, data: DataConfig) -> bool:
    """Whether a header has known names, or those asked for, or stands above what is unlike it; the
    look of a column of labels, which makes a header elsewhere, means nothing here."""
    requested = [name for name in (data.source, data.target) if name]
    return table.header and (
        any(plain(column.name) in NAMES for column in table.columns)
        or not any(column.profile.is_label for column in table.columns)
        or any(
            plain(name) in {plain(column.name) for column in table.columns} for name in requested
        )
        or any(not is_column_number(name) for name in requested)
    )


def _choose(table: Table, data: DataConfig, pair: tuple[int, int] | None) -> tuple[Column, Column]:
    """Source and target column, where at most some were asked for."""
    where = table.where(table.reader.first_line)
    requested = [
        None if name is None else table.column(name, option=option)
        for name, option in ((data.source, "source"), (data.target, "target"))
    ]
    source, target = requested
    if source is None or target is None:
        first, second = _usual(table, pair, requested, where)
        if source is None:
            source = first if first != target else second
        if target is None:
            target = second if second != source else first
    if source.number == target.number:
        raise DataError(
            "the source and the target are the same column",
            where=where,
            remedy=("name two different columns with ", Option("source", "target")),
        )
    return source, target


def _usual(
    table: Table, pair: tuple[int, int] | None, requested: Sequence[Column | None], where: str
) -> tuple[Column, Column]:
    """The columns with known names, or the only two; of JSON, the only two that hold strings."""
    if pair is not None:
        return table.columns[pair[0]], table.columns[pair[1]]
    columns = [
        column
        for column in table.columns
        if not table.typed or column.profile.has_strings or column in requested
    ]
    if len(columns) != 2:
        raise DataError(
            f"there are {len(columns)} columns, and it is not clear which are the pairs"
            if len(columns) > 1
            else "there is one column, and pairs need two",
            where=where,
            remedy=REMEDY,
        )
    return columns[0], columns[1]
