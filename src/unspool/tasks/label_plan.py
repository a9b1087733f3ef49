"""Plan the labels of texts (one in a cell, several, or a column of 0 and 1 each) or their numbers.

The settings decide, then the look of the values. What was taken for what stands in the line that is
printed, with the flag that decides otherwise.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from unspool.config import DataConfig
from unspool.data.plan import Conversion, Plan, Values
from unspool.data.profile import LONGEST_LABEL, flag, repeats
from unspool.data.read import Column, Shape, Table, joined
from unspool.data.read.columns import LABEL_NAMES, PLURAL_NAMES, known, listed_names
from unspool.data.read.json_lines import json_label, json_text
from unspool.data.values import is_missing
from unspool.errors import DataError, Option
from unspool.tasks.pair_plan import pair_inputs, paired
from unspool.tasks.plan import (
    OF_TEXTS,
    TEXT_AND_LABEL,
    choose_text,
    describe,
    documents,
    refuse_columns,
    rivals,
    text_and_label,
)

NUMBER_NAMES = (
    "number", "numbers", "score", "scores", "value", "rating", "ratings", "stars", "price", "grade",
    *LABEL_NAMES,
)  # fmt: skip
NUMBERS_FIT = 2
SEPARATORS = (",", ";", "|")
SHARE = 0.1  # of the cells that hold a separator, from which on it may be one


class Look(NamedTuple):
    """Signs of several labels in a cell.

    separator   that many of them hold
    lists       whether they hold lists
    clear       whether they are labels by their look: their parts come again in other cells
    """

    separator: str | None = None
    lists: bool = False
    clear: bool = False


def look_at(values: Sequence[Any], separators: Sequence[str] = SEPARATORS) -> Look:
    """Look for several labels in the first values of a column."""
    lists = sum(as_list(value) is not None for value in values)
    if lists > len(values) / 2:
        return Look(lists=True, clear=True)
    cells = [value for value in values if isinstance(value, str) and value]
    best, most = Look(), SHARE * len(cells)
    for sign in separators:
        split = [cell for cell in cells if sign in cell]
        look = Look(sign, clear=are_labels(cells, sign))
        if split and len(split) >= most and (look.clear or not best.clear):
            best, most = look, len(split)
    return best


def are_labels(cells: Sequence[str], separator: str) -> bool:
    """Whether parts of cells are short and repeat in different cells, unlike `Smith, John`."""
    parts = [split_cell(cell, separator) for cell in cells]
    every = [part for row in parts for part in row]
    if not every or sum(map(len, every)) > LONGEST_LABEL * len(every) or not repeats(every):
        return False
    if separator == "," and all(part.isdigit() for part in every):
        return False
    homes: dict[str, set[str]] = defaultdict(set)
    for cell, row in zip(cells, parts):
        for part in row if len(row) > 1 else ():
            homes[part].add(cell)
    elsewhere = {part[0] for part in parts if len(part) == 1}
    several = [part for part, home in homes.items() if len(home) > 1 or part in elsewhere]
    return bool(homes) and len(several) > len(homes) / 2


def split_cell(cell: str, separator: str) -> list[str]:
    return [part.strip() for part in cell.split(separator) if part.strip()]


def as_list(value: Any) -> list[Any] | None:
    """A list, or a string that spells one as JSON or Python do; otherwise None."""
    if isinstance(value, list | tuple):
        return list(value)
    if not (isinstance(value, str) and value.startswith("[") and value.endswith("]")):
        return None
    for read in (json.loads, ast.literal_eval):  # neither executes anything
        try:
            values = read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return values if isinstance(values, list) else None
    return None


def in_cells(separator: str | None, *, typed: bool) -> Conversion:
    """A text and the list of its labels; an empty cell has none, those of None are not known."""

    def convert(values: Values, names: tuple[str, ...], where: str) -> Values:
        text = json_text(values[0], names[0], where).strip() if typed else values[0]
        cell = values[1]
        if cell is None or cell != cell:
            return text, None
        labels = as_list(cell)
        if labels is None and isinstance(cell, str):
            labels = split_cell(cell, separator) if separator else [cell] if cell else []
        elif labels is None:
            labels = [cell]
        return text, [json_label(label, names[1], where) for label in labels]

    return Conversion(f"text and labels, separator {separator!r}", convert)


def in_columns(columns: Sequence[Column], *, typed: bool) -> Conversion:
    """A text and the names of the columns that hold 1."""

    def convert(values: Values, names: tuple[str, ...], where: str) -> Values:
        text = json_text(values[0], names[0], where).strip() if typed else values[0]
        labels = []
        for column, value in zip(columns, values[1]):
            has = flag(value)
            if is_missing(value):
                return text, None
            if has is None:
                raise DataError(
                    f"column {column.name!r} holds neither 0 nor 1",
                    where=where,
                    got=value,
                    remedy=("name columns of 0 and 1, one a label, with ", Option("label")),
                )
            if has:
                labels.append(column.name)
        return text, labels

    return Conversion(f"text and labels {[column.name for column in columns]}", convert)


def plan_labels(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """A text, or two, with one label or several; None where there are no labels."""
    if not outputs:
        return pair_inputs(task, table, data)
    if len(table.columns) < 3 and data.text_pair is None:  # two texts and a label are more
        return text_labels(task, table, data)
    return paired(table, data, partial(text_labels, task))


def text_labels(task: str, table: Table, data: DataConfig) -> Plan | None:
    """A text with one label or several; None where there are no labels."""
    table = documents(table, task)
    if data.multilabel is False and data.label_separator is not None:
        raise DataError(
            "cells cannot be split into labels where each is one label",
            where=table.name,
            got=f"label_separator={data.label_separator}",
            remedy=("leave out ", Option("label_separator"), " or ", Option(multilabel=False)),
        )
    columns = label_columns(table, data)
    if columns:
        return columns_plan(task, table, data, columns)
    text, label = text_and_label(table, data)
    if data.multilabel is not False and not is_named(table, data):
        others = [column for column in table.columns if column not in text.members]
        plural = known(others, PLURAL_NAMES)
        label = of_cells([plural] if plural else [], data) or label or of_cells(others, data)
    return None if label is None else cells_plan(task, table, data, text, label)


def is_named(table: Table, data: DataConfig) -> bool:
    """Whether the label has a column that is asked for, or called so."""
    return (
        table.shape in OF_TEXTS
        or data.label is not None
        or (table.header and known(table.columns, LABEL_NAMES) is not None)
    )


def label_columns(table: Table, data: DataConfig) -> list[Column]:
    """The columns of 0 and 1 that --label names; else those that look so, if no rival does."""
    if table.shape in OF_TEXTS:
        return []
    names = listed_names(data.label)
    if len(names) > 1 and not any(column.name == data.label for column in table.columns):
        if data.multilabel is False:
            raise DataError(
                "one label a row has one column",
                where=table.name,
                got=data.label,
                remedy=(
                    "give ",
                    Option("label"),
                    " one column, or leave out ",
                    Option(multilabel=False),
                ),
            )
        return table.several(",".join(names), option="label")
    if data.multilabel is False or data.label_separator or is_named(table, data):
        return []
    if not table.header:
        return []
    text = choose_text(table, data.text)
    others = [column for column in table.columns if column not in text.members]
    flags = [column for column in others if column.profile.is_flags]
    rivals = [c for c in others if c not in flags and c.profile.is_label]
    fine = len(flags) > 1 and not rivals and not any("," in column.name for column in flags)
    return flags if fine else []


def of_cells(columns: Sequence[Column], data: DataConfig) -> Column | None:
    """The first column whose cells look like several labels."""
    signs = SEPARATORS if data.label_separator is None else (data.label_separator,)
    return next((column for column in columns if look_at(column.sample, signs).clear), None)


def columns_plan(task: str, table: Table, data: DataConfig, columns: list[Column]) -> Plan:
    labels = joined(columns)
    text = choose_text(table, data.text, label=labels)
    names = [column.name for column in columns]
    brief = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    summary = describe(table, text, labels._replace(name=brief), what="labels") + " of 0 and 1"
    if data.label is None:
        summary += f" ({Option(label='COLUMN')} for one of them)"
    return Plan(
        task,
        table,
        {"text": text, "label": labels},
        1,
        f"{summary} -> {task}",
        in_columns(columns, typed=table.typed),
        {"data.multilabel": True},
    )


def cells_plan(task: str, table: Table, data: DataConfig, text: Column, label: Column) -> Plan:
    typed = table.typed
    separator = data.label_separator
    look = look_at(label.sample) if separator is None else Look(separator, clear=True)
    several = separator is not None or data.multilabel is True
    if data.multilabel is None and not several:
        several = look.clear
    hint, convert = "", TEXT_AND_LABEL if typed else None
    decided: dict[str, Any] = {"data.multilabel": several}
    if several:
        convert = in_cells(look.separator, typed=typed)
        decided |= {} if look.separator is None else {"data.label_separator": look.separator}
        hint = " in lists" if look.lists else ""
        hint = f" separated by {look.separator!r}" if look.separator else hint
        if data.multilabel is None and separator is None:
            hint += f" ({Option(multilabel=False)}: one label a cell)"
    elif data.multilabel is None and look.separator is not None:
        hint = f" (one a cell; {Option(label_separator=look.separator)} splits them)"
    what = "labels" if several else "label"
    hint = rivals(table, data, text, label) + hint
    summary = f"{describe(table, text, label, what=what)}{hint} -> {task}"
    return Plan(task, table, {"text": text, "label": label}, 1, summary, convert, decided)


def _text_and_numbers(values: Values, names: tuple[str, ...], where: str) -> Values:
    return json_text(values[0], names[0], where).strip(), *values[1:]


TEXT_AND_NUMBERS = Conversion("text and numbers", _text_and_numbers)


def asked_column(table: Table, names: str) -> Column:
    """The column that --label names, or several with commas between them."""
    return joined(table.several(names, option="label"))


def has_scale(table: Table, data: DataConfig) -> bool:
    """Whether the label, or a column called like a number, holds many different numbers."""
    if not table.header or table.shape == Shape.FOLDER:
        return False
    text, label = text_and_label(table, data)
    if label is None:
        others = [column for column in table.columns if column not in text.members]
        label = known(others, NUMBER_NAMES)
    return label is not None and label.profile.is_scale


def number_column(table: Table, text: Column) -> Column:
    """The one with a known name, or the only one with numbers."""
    columns = [
        column for column in table.columns if column != text and column.profile.mostly_numbers
    ]
    number = known(columns, NUMBER_NAMES) if table.header else None
    if number is None and len(columns) == 1:
        number = columns[0]
    if number is not None:
        return number
    if columns:
        raise DataError(
            "several columns hold numbers: " + ", ".join(column.name for column in columns),
            where=table.name,
            remedy=("name the one to predict with ", Option("label"), ", or several with commas"),
        )
    raise DataError(
        "holds no column of numbers, which regress needs",
        where=table.name,
        remedy=(
            "name it with ",
            Option("label"),
            ", or use ",
            Option(task="classify"),
            " for labels",
        ),
    )


def plan_numbers(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """One or two texts, and numbers: many different ones, unless the task is named."""
    if not outputs:
        return pair_inputs(task, table, data)
    if len(table.columns) < 3 and data.text_pair is None:
        return text_numbers(task, table, data, named=named)
    return paired(table, data, partial(text_numbers, task, named=named))


def text_numbers(task: str, table: Table, data: DataConfig, *, named: bool) -> Plan | None:
    if not named and not has_scale(table, data):
        return None
    table = documents(table, task)
    if table.shape in OF_TEXTS:
        refuse_columns(table, data)
    requested = None if data.label is None else asked_column(table, data.label)
    text = choose_text(table, data.text, label=requested)
    numbers = number_column(table, text) if requested is None else requested
    convert = TEXT_AND_NUMBERS if table.typed else None
    what = "numbers" if numbers.parts else "number"
    summary = f"{describe(table, text, numbers, what=what)} -> {task}"
    if not named:
        summary += f" ({Option(task='classify')} makes classes of them)"
    return Plan(task, table, {"text": text, "number": numbers}, NUMBERS_FIT, summary, convert)
