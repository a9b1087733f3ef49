"""Plan two columns of texts that are read together.

The settings decide (--text and --text-pair), then the names of the columns. What was taken is said,
and so is a column of texts that is not read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from unspool.config import DataConfig
from unspool.data.fields.pair import MARK
from unspool.data.plan import Conversion, Plan, Values, split_column
from unspool.data.read import Column, Shape, Table, joined
from unspool.data.read.columns import known, longest, plain
from unspool.data.read.json_lines import json_text
from unspool.errors import DataError, Option
from unspool.tasks.plan import OF_TEXTS, describe, documents, input_plan

# A text, and what belongs to it: the first pair of names that a table has.
PAIR_NAMES = (
    ("text", "text_pair"), ("premise", "hypothesis"), ("sentence1", "sentence2"),
    ("sentence_1", "sentence_2"), ("sentence_a", "sentence_b"), ("text1", "text2"),
    ("text_1", "text_2"), ("text_a", "text_b"), ("question1", "question2"),
    ("question_1", "question_2"), ("s1", "s2"), ("sent1", "sent2"),
    ("#1 string", "#2 string"), ("anchor", "target"),
    ("query", "passage"), ("query", "document"), ("question", "passage"), ("question", "sentence"),
    ("question", "answer"), ("claim", "evidence"), ("text", "target"), ("sentence", "target"),
    ("review", "target"), ("tweet", "target"), ("text", "aspect"), ("sentence", "aspect"),
    ("review", "aspect"), ("question", "context"),
)  # fmt: skip
# What is answered about two texts, before any other name of a label: corpora of pairs have genres,
# languages and sources beside it.
PAIR_LABELS = (
    "label", "labels", "gold_label", "class", "is_duplicate", "duplicate", "entailment",
    "entailment_label", "entailment_judgment", "polarity", "sentiment", "stance", "similarity",
    "similarity_score", "relatedness_score", "relevance", "score", "quality",
)  # fmt: skip
NONE = "none"

Planned = Callable[[Table, DataConfig], Plan | None]


class TwoTexts(NamedTuple):
    """`named`: by the settings, not by the names of the columns alone."""

    first: Column
    second: Column
    named: bool


def two_texts(table: Table, data: DataConfig) -> TwoTexts | None:
    """The columns of two texts; None where one text is read."""
    if data.text_pair == NONE or data.input not in ("auto", "pair"):
        return None
    named = data.text_pair is not None or data.input == "pair"
    if table.shape == Shape.TEXTS or not table.header:
        if data.text_pair is None and not (named and table.shape != Shape.TEXTS):
            return None
        if table.shape == Shape.TEXTS:
            raise DataError(
                f"was read as {table.reader.title}, which has no column for a second text",
                where=table.path,
                got=Option(text_pair=data.text_pair),
                remedy=("give a table, or name the format with ", Option(format="csv")),
            )
    if data.text_pair is not None:
        second = table.column(data.text_pair, option="text_pair")
        first = first_of(table, data, second)
        if first == second:
            raise DataError(
                f"the text and its pair are the same column {first.name!r}",
                where=table.name,
                remedy=("name two different columns with ", Option("text", "text_pair")),
            )
        return TwoTexts(first, second, named)
    requested = None if data.text is None else joined(table.several(data.text, option="text"))
    columns = {plain(column.name): column for column in reversed(table.columns)}
    for one, other in PAIR_NAMES:
        if one in columns and other in columns:
            first, second = columns[one], columns[other]
            label = None if data.label is None else plain(data.label)
            if requested in (None, first) and label not in (one, other):
                return TwoTexts(first, second, named)
    if named:
        raise DataError(
            "two texts are read together, and the table has no two columns that are called so",
            where=table.name,
            got=", ".join(column.name for column in table.columns),
            remedy=("name them with ", Option("text", "text_pair")),
        )
    return None


def first_of(table: Table, data: DataConfig, second: Column) -> Column:
    """The column of the first text, where that of the second is named."""
    if data.text is not None:
        return table.column(data.text, option="text")
    others = [column for column in table.columns if column != second]
    label = None if data.label is None else plain(data.label)
    others = [c for c in others if plain(c.name) != label and c.profile.has_strings]
    pairs = [one for one, other in PAIR_NAMES if other == plain(second.name)]
    first = known(others, pairs) or longest(others)
    if first is None:
        raise DataError(
            "there is no column for the first text",
            where=table.name,
            remedy=("name it with ", Option("text")),
        )
    return first


def paired(table: Table, data: DataConfig, plan: Planned) -> Plan | None:
    """Plan a table with both texts, where it has two.

    plan   of one text and what is to be answered
    """
    texts = two_texts(table, data)
    if texts is None:
        alone = plan(table, data)
        return alone if alone is None or data.text_pair == NONE or data.text else mentioning(alone)
    rest = without(table, texts.second)
    labels = pair_labels(rest, data, texts.first) if data.label is None else []
    label = {"label": labels[0]} if labels else {}
    planned = plan(rest, data.model_copy(update={"text": texts.first.name, **label}))
    if planned is None or "text" not in planned.columns:
        # Without the second text nothing is left to be answered: it is that.
        return planned if texts.named else plan(table, data)
    whole = both(planned, replace(planned.table, reader=table.reader), texts)
    others = ", ".join(map(repr, labels[1:]))
    return noted(whole, f" (or {others}: {Option('label')})") if others else whole


def pair_labels(table: Table, data: DataConfig, text: Column) -> list[str]:
    """The columns that are called by what is answered about two texts; or the only one there is."""
    if not table.header:
        return []
    taken = (text, split_column(table, data))
    others = [column for column in table.columns if column not in taken]
    names = {plain(column.name): column.name for column in reversed(others)}
    labels = [names[name] for name in PAIR_LABELS if name in names]
    return labels or [
        column.name for column in others if len(others) == 1 and column.profile.is_numbers
    ]


def both(plan: Plan, table: Table, texts: TwoTexts) -> Plan:
    """The plan of one text as one of two."""
    pair = joined([texts.first, texts.second])
    columns = {
        "pair" if name == "text" else name: pair if name == "text" else column
        for name, column in plan.columns.items()
    }
    alone = describe(table, texts.first)
    second = repr(texts.second.name) if table.header else texts.second.name
    hint = "" if texts.named else f" ({Option(text_pair='none')}: the first alone)"
    summary = plan.summary.replace(alone, f"{alone} and {second}{hint}", 1)
    return replace(
        plan,
        table=table,
        columns=columns,
        summary=summary,
        convert=of_pairs(plan.convert, typed=table.typed),
        settings={**plan.settings, "data.input": "pair"},
    )


def of_pairs(inner: Conversion | None, *, typed: bool) -> Conversion | None:
    """The conversion of one text and its answer as one of two texts."""
    if inner is None:
        return None

    def convert(values: Values, names: tuple[str, ...], where: str) -> Values:
        first, second = values[0]
        text, *rest = inner.function((first, *values[1:]), names, where)
        return [text, json_text(second, names[0], where).strip() if typed else second], *rest

    return Conversion(f"pair, {inner.name}", convert)


def _texts(values: Values, names: tuple[str, ...], where: str) -> Values:
    return ([json_text(value, names[0], where).strip() for value in values[0]],)


def pair_inputs(task: str, table: Table, data: DataConfig) -> Plan:
    """Texts alone, as for prediction; where a run reads two, both: of lines with a mark between."""
    if data.input != "pair":
        return input_plan(task, table, data)
    table = documents(table, task)
    if not table.certain:
        table = table.reread("lines")
    if table.shape == Shape.TEXTS or (data.text_pair is None and is_marked(table)):
        text = known(table.columns, ("text",))
        assert text is not None
        summary = f"{table.summary}, two texts with {MARK} or a tab between them -> {task}"
        return Plan(task, table, {"pair": text}, 0, summary)
    texts = two_texts(table, data)
    assert texts is not None
    pair = joined([texts.first, texts.second])
    summary = f"{describe(table, texts.first)} and {texts.second.name!r} -> {task}"
    convert = Conversion("pairs", _texts) if table.typed else None
    return Plan(task, table, {"pair": pair}, 0, summary, convert)


def is_marked(table: Table) -> bool:
    """Whether a column `text` has both texts of each row in one."""
    column = known(table.columns, ("text",))
    texts = [] if column is None else [value for value in column.sample if isinstance(value, str)]
    return bool(texts) and all(MARK in text or "\t" in text for text in texts)


def without(table: Table, column: Column) -> Table:
    reader = copy.copy(table.reader)
    reader.columns = [kept for kept in table.columns if kept != column]
    return replace(table, reader=reader)


def mentioning(plan: Plan) -> Plan:
    """The plan, whose summary says which other column of texts is not read."""
    taken = {member.number for column in plan.columns.values() for member in column.members}
    others = [column for column in plan.table.columns if column.number not in taken]
    texts = [column.name for column in others if column.profile.is_texts]
    if not texts or plan.table.shape in OF_TEXTS:
        return plan
    name = repr(texts[0]) if plan.table.header else f"column {texts[0]}"
    option = f'"{texts[0]}"' if " " in texts[0] else texts[0]
    return noted(plan, f"; {name} is not read ({Option(text_pair=option)} reads both)")


def noted(plan: Plan, note: str) -> Plan:
    """The plan, whose summary says more of what is read."""
    head, _, task = plan.summary.rpartition(" -> ")
    return replace(plan, summary=f"{head}{note} -> {task}")
