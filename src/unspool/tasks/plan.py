"""Shared parts of plans: the columns of texts and labels, and their description.

The user's settings decide, then known names, then the look of the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from unspool.config import DataConfig
from unspool.data.plan import Conversion, Plan, Values, split_column
from unspool.data.read import Column, Shape, Table, joined
from unspool.data.read.columns import LABEL_NAMES, TEXT_NAMES, known, listed_names, longest, plain
from unspool.data.read.files import TEXTS as ENDINGS
from unspool.data.read.json_lines import json_label, json_text
from unspool.data.read.media import MUSIC
from unspool.data.read.reader import SAMPLE
from unspool.errors import DataError, Message, Option, Setting
from unspool.text.words import NEWLINE

DEEP_SAMPLE = 100_000  # rows looked at to see whether a column changes in a sorted file
INSIDE = 0.2  # of the texts, at most, hold the name of a label
LABEL_WORDS = {"pos", "neg", "positive", "negative", "neutral", "spam", "ham", "true", "false"}
OF_TEXTS = (Shape.TEXTS, Shape.FOLDER)  # columns are called text and label


def _texts(values: Values, names: tuple[str, ...], where: str) -> Values:
    return tuple(json_text(value, name, where).strip() for value, name in zip(values, names))


def _text_and_label(values: Values, names: tuple[str, ...], where: str) -> Values:
    text = json_text(values[0], names[0], where).strip()
    return text, json_label(values[1], names[1], where)


def _lines(values: Values, names: tuple[str, ...], where: str) -> Values:
    return tuple(f"{text}{NEWLINE}" for text in _texts(values, names, where))


TEXTS = Conversion("texts", _texts)
LINES = Conversion("lines", _lines)
TEXT_AND_LABEL = Conversion("text and label", _text_and_label)


def may_be_documents(table: Table, data: DataConfig) -> bool:
    """Whether nothing speaks for sentences or pairs, where the task is not named."""
    apart = table.shape in (Shape.SENTENCES, Shape.PAIRS)
    return not apart and not (data.source or data.target)


def documents(table: Table, task: str) -> Table:
    """The table for a task that reads documents, whatever else it may look like."""
    if table.shape == Shape.PAIRS:
        raise DataError(
            f"two files are pairs for translate, not data for {task}",
            where=table.path,
            remedy=("name one file, or use ", Option(task="translate")),
        )
    table = table.as_documents()
    if table.shape == Shape.SENTENCES:
        raise DataError(
            f"was read as {table.reader.title}, which holds no documents for {task}",
            where=table.path,
            remedy=("leave out ", Option("format"), ", or use ", Option(task="tag")),
        )
    return table


def refuse_names(table: Table, column: Column) -> None:
    """Raise a DataError where what would be read as texts are names of files beside a table."""
    names = [str(value) for value in column.sample if value not in (None, "")]
    one_word = all(len(name.split()) == 1 for name in names)
    if not table.files or not one_word or len(set(names)) < max(2, len(names)):
        return
    index = table.file_index
    for folder in (index.root, *index.subfolders(index.root)):
        if all(any(index.contains(folder, name + end) for end in ENDINGS) for name in names):
            raise DataError(
                f"column {column.name!r} holds names of texts in {folder}",
                where=table.name,
                got=names[0],
                remedy=(
                    f"name the folder of both, {table.folder}, or write the names with their"
                    " endings; ",
                    Option(text=column.name),
                    " reads the names themselves",
                ),
            )
        if all("." in name and index.contains(folder, name) for name in names):
            raise DataError(
                f"column {column.name!r} holds names of files in {folder}, which are not read as"
                " texts",
                where=table.name,
                got=names[0],
                remedy=(
                    "say what they are, for example ",
                    Setting(input="video"),
                    ", put them into folders by label, or use ",
                    Option(text=column.name),
                    " to read the names themselves",
                ),
            )


def refuse_columns(table: Table, data: DataConfig) -> None:
    """Plain text has no columns that the settings could name."""
    if table.shape == Shape.TEXTS and (data.text or data.label):
        raise DataError(
            f"was read as {table.reader.title}, which has no columns to choose from",
            where=table.path,
            remedy=("leave out ", Option("text", "label"), ", or use ", Option(format="csv")),
        )


def choose_text(
    table: Table,
    requested: str | None,
    *,
    label: Column | None = None,
    names: Sequence[str] = TEXT_NAMES,
    leftmost: bool = False,
) -> Column:
    """The column of the texts: the one asked for, one with a known name, the longest.

    label      the column of the labels, if that was asked for
    leftmost   of a table without known names, the first column instead of the longest
    """
    if table.shape in OF_TEXTS:
        return next(column for column in table.columns if column.name == "text")
    text = None if requested is None else joined(table.several(requested, option="text"), glue=" ")
    if text is None:
        taken = () if label is None else label.members
        others = [column for column in table.columns if column not in taken]
        if table.typed:
            others = [column for column in others if column.profile.has_strings]
        text = known(others, names) if table.header else None
        if text is None:
            numbers = [column for column in others if column.profile.is_numbers]
            others = [column for column in others if column not in numbers]
            if len(numbers) > 1 and all(column.profile.is_label for column in others):
                others = []  # features of a label
            first = leftmost and not table.typed
            text = others[0] if first and others else longest(others)
        if text is None and len(table.columns) > len(taken) and not table.typed:
            raise DataError(
                "no column holds texts",
                where=table.name,
                remedy=("name a column to be read as text with ", Option("text")),
            )
    if text is None and table.typed:
        raise DataError(
            "no field holds a text among"
            f" {', '.join(column.name for column in table.columns) or 'none'}",
            where=table.where(table.reader.first_line),
            remedy=("name the field of the text with ", Option("text")),
        )
    if text is None or (label is not None and set(own_numbers(text)) & set(own_numbers(label))):
        raise DataError(
            f"the text and the label are the same column {table.columns[0].name!r}"
            if label is None
            else f"the text and the label are the same column {label.name!r}",
            where=table.where(table.reader.first_line),
            remedy=("name two different columns with ", Option("text", "label")),
        )
    return text


def own_numbers(column: Column) -> list[int]:
    return [member.number for member in column.members]


class Document(NamedTuple):
    """The columns of texts and of labels; None where there are no labels."""

    text: Column
    label: Column | None


def text_and_label(table: Table, data: DataConfig) -> Document:
    if table.shape in OF_TEXTS:
        refuse_columns(table, data)
        label = next((column for column in table.columns if column.name == "label"), None)
        return Document(choose_text(table, None), label)
    label = None if data.label is None else table.column(data.label, option="label")
    text = choose_text(table, data.text, label=label)
    if label is None:
        taken = (*text.members, split_column(table, data))
        others = [column for column in table.columns if column not in taken]
        label = known(others, LABEL_NAMES) if table.header else None
        label = label or _likely_label(table, others)
    return Document(text, label)


def _likely_label(table: Table, columns: Sequence[Column]) -> Column | None:
    """The label-like column with the fewest values, the leftmost of equals.

    A file sorted by label may show only one value at first, so columns that have been constant so
    far are followed further down.
    """
    kinds = {
        column.number: column.profile.classes
        for column in columns
        if column.profile.is_label and not column.profile.is_dates  # dates are no classes
    }
    constant = [column for column in columns if kinds.get(column.number) == 1]
    if constant and len(constant[0].sample) >= SAMPLE - 1:
        for row in islice(table.rows(constant), SAMPLE, DEEP_SAMPLE):
            for column, value in zip(constant, row.values):
                if value != column.sample[0]:
                    kinds[column.number] = 2
            if all(kinds[column.number] > 1 for column in constant):
                break
    varied = {i: n for i, n in kinds.items() if n > 1} or kinds
    best = min(varied, key=lambda i: (varied[i], i), default=None)
    return next((column for column in columns if column.number == best), None)


def rivals(table: Table, data: DataConfig, text: Column, label: Column) -> str:
    """` (or 'coder2': --label)`: other columns that look like labels, where nothing has decided."""
    named = data.label is not None or plain(label.name) in LABEL_NAMES
    if named or table.shape == Shape.TEXTS:
        return ""
    taken = (*text.members, *label.members, split_column(table, data))
    names = [
        repr(column.name) if table.header else f"column {column.name}"
        for column in table.columns
        if column not in taken and column.name and column.profile.is_class
    ]
    if not names:
        return ""
    return f" (or {', '.join(names[:3])}{', ...' * (len(names) > 3)}: {Option('label')})"


def describe(
    table: Table, text: Column, label: Column | None = None, *, what: str = "label"
) -> str:
    """`reviews.csv: CSV, text in column 'review', label in 'sentiment'`; `what`: the label is"""
    if table.shape == Shape.TEXTS:
        return table.summary
    if table.shape == Shape.FOLDER:
        labelled = f", {what} = {table.reader.label_source}"
        return table.summary + (labelled if label is not None else "")
    if not table.header:
        summary = f"{table.summary}, text in column{'s' * bool(text.parts)} {text.name}"
        return summary + (f", {what} in column {label.name}" if label is not None else "")
    noun = table.reader.noun
    noun, name = (f"{noun}s", text.name) if text.parts else (noun, repr(text.name))
    summary = f"{table.summary}, text in {noun} {name}"
    return summary + (f", {what} in {label.name!r}" if label is not None else "")


def document_plan(task: str, table: Table, data: DataConfig) -> Plan:
    """Documents to learn from, of which no label is read; a folder is one of lines."""
    if is_labelled(table) and not table.certain and labels_apart(table):
        table = replace(table, certain=True)
    if table.shape == Shape.FOLDER and not table.reader.one_row:
        table = table.reread("lines")
    plan = input_plan(task, table, data)
    if not is_labelled(plan.table):
        return plan
    names = sorted({str(name) for name in table.columns[0].sample})
    left_out = (
        f"labels such as {', '.join(names[:3])} left out, {Option(format='lines')} keeps them"
    )
    return replace(plan, summary=f"{plan.table.summary}, {left_out} -> {task}")


def is_labelled(table: Table) -> bool:
    """Whether lines of text begin with labels."""
    return table.shape == Shape.TEXTS and len(table.columns) > 1


def labels_apart(table: Table) -> bool:
    """Whether what looks like labels before texts can be nothing else: the first words of lines may
    also be few because the texts are simple. A tab stands behind each, or they are spelled as
    words are not, and hardly occur in the texts."""
    labels, texts = (set(column.sample) for column in table.columns)
    if table.reader.options.get("delimiter") == "\t":
        return True
    inside = sum(not labels.isdisjoint(text.split()) for text in texts)
    return inside <= INSIDE * len(texts) and all(
        label.isupper() or label.lower() in LABEL_WORDS or not label.isalpha() for label in labels
    )


def input_plan(
    task: str,
    table: Table,
    data: DataConfig,
    *,
    field: str = "text",
    names: Sequence[str] = TEXT_NAMES,
    leftmost: bool = False,
) -> Plan:
    """Texts alone, a document a line where they are plain, as for prediction."""
    table = documents(table, task)
    requested, hint = data.text or data.source, ""
    columns = {column.name for column in table.columns}
    has_columns = table.shape == Shape.TABLE and columns.issuperset(listed_names(requested))
    if not table.certain and not has_columns:
        if is_labelled(table):
            hint = f" ({Option(format='labelled')} where each begins with a label)"
        table = table.reread("lines")
    text = choose_text(table, requested, names=names, leftmost=leftmost)
    convert = TEXTS if table.typed else None
    summary = f"{describe(table, text)}{hint} -> {task}"
    return Plan(task, table, {field: text}, 0, summary, convert)


def refuse_media(table: Table, task: str) -> None:
    """Files whose names are all the text that there is, where texts are learnt."""
    medium = table.reader.medium
    if medium is None:
        return
    remedy: Message = "name a file of texts"
    if medium == MUSIC:
        remedy = (Option(task="compose"), " continues music")
    raise DataError(
        f"holds {medium.noun}, and {task} learns texts", where=table.name, remedy=remedy
    )


def plan_whole_text(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """Plain text as a whole, or the rows of a table in turn; to predict, each is a prompt."""
    if not outputs:
        return input_plan(task, table, data)
    if named:
        refuse_media(table, task)
        table = documents(table, task)
        if not table.certain and not (data.text or data.label):
            table = table.reread("text")
    refuse_columns(table, data)
    whole = table.shape in OF_TEXTS and not table.reader.marked
    if whole:
        table = table.reread("text")
    text = choose_text(table, data.text)
    convert = None if whole else LINES
    others = [repr(column.name) for column in table.columns if column not in text.members]
    unread = others if table.header and not named and data.text is None else []
    if unread and plain(text.name) not in TEXT_NAMES and text.profile.is_codes:
        return None
    hint = (
        f" (not read: {', '.join(unread[:3])}{', ...' * (len(unread) > 3)};"
        f" {Option('label')} learns one)"
    )
    summary = f"{describe(table, text)}{hint if unread else ''} -> {task}"
    return Plan(task, table, {"text": text}, 0, summary, convert)


def plan_documents(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """Documents, of which no label is read."""
    return document_plan(task, table, data)
