"""Plan questions, contexts and answers; answers become spans."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unspool.config import DataConfig
from unspool.data.fields.pair import MARK
from unspool.data.fields.story import as_story
from unspool.data.plan import Conversion, Plan, Values
from unspool.data.profile import label_like, shown
from unspool.data.read import Column, Shape, Table, joined
from unspool.data.read.columns import known
from unspool.data.read.json_lines import json_text
from unspool.data.values import is_missing
from unspool.errors import DataError, Option
from unspool.tasks.pair_plan import is_marked

FIT = 4
QUESTIONS = ("question", "query")
CONTEXTS = (
    "context", "passage", "paragraph", "review", "document", "article", "story_text", "text",
    "story",
)  # fmt: skip
ANSWERS = ("answers.text", "answers", "answer", "answer_text")
STARTS = (
    "answers.answer_start", "start", "answer_start", "human_ans_indices", "answer_indices", "span",
    "spans", "answer_char_ranges", "answer_token_ranges",
)  # fmt: skip
ENDS = ("answer_end", "end", "end_index")  # beside a start, where no column has the answers
YES_NO = frozenset({"yes", "no", "maybe", "true", "false", "0", "1"})
RANGE = re.compile(r"(\d{1,9}):(\d{1,9})")  # as of NewsQA: 196:228, 196:202,217:228|None
NO_RANGE = re.compile(r"(None[|,]?)+")
ARRAY = re.compile(r"array\((\[.*?\])(?:,\s*dtype=[^)]*)?\)", re.DOTALL)
# At the end of a context: the answer where there is none.
MARKS = ("ANSWERNOTFOUND", "CANNOTANSWER")


def plan_answers(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """A story or a context, a question and its answer."""
    if data.input in ("auto", "story"):
        plan = plan_stories(table, data, outputs=outputs)
        if plan is not None and (outputs or data.input == "story"):
            return plan
    if data.input not in ("auto", "question"):
        return None
    return plan_questions(table, data, named=named, outputs=outputs)


def plan_questions(table: Table, data: DataConfig, *, named: bool, outputs: bool) -> Plan | None:
    """A question, its context and where its answer stands; None where there are none."""
    if table.shape == Shape.TEXTS:
        if not outputs:
            return marked_plan(table)
        return refuse(table, "questions and contexts are columns of a table") if named else None
    question = column_of(table, data.text_pair, "text_pair", QUESTIONS)
    context = column_of(table, data.text, "text", CONTEXTS)
    if question is None or context is None or question == context:
        if not outputs and is_marked(table):
            return marked_plan(table)
        what = "question" if question is None else "context"
        return refuse(table, f"has no column of the {what}s, which answer needs") if named else None
    columns = {"question": joined([question, context])}
    about = f"{table.summary}, questions in {question.name!r}, contexts in {context.name!r}"
    settings = {"data.input": "question"}
    if not outputs:
        convert = Conversion("questions", texts_alone)
        return Plan("answer", table, columns, FIT, f"{about} -> answer", convert, settings)
    answer = column_of(table, data.label, "label", ANSWERS)
    start = known([column for column in table.columns if column not in (question, context)], STARTS)
    if answer is None and start is None:
        return refuse(table, "has no column of the answers, which answer needs") if named else None
    if not named and answer is not None and start is None and are_classes(answer, context):
        return None  # two texts and a label
    answers = [column for column in (answer, start) if column is not None]
    answers = answers[:1] if len(answers) > 1 and answers[0] == answers[1] else answers
    end = known(table.columns, ENDS) if answer is None else None
    answers += [end] if end is not None else []
    names = " and ".join(repr(column.name) for column in answers)
    where = "" if start is not None or holds_starts(answers[0]) else ", where they first stand"
    mark = next((m for m in MARKS if ends_with(context, m)), None)
    hint = f"; contexts without {mark} at their end, which stands for no answer" if mark else ""
    return Plan(
        "answer",
        table,
        {**columns, "span": joined(answers)},
        FIT,
        f"{about}, answers in {names}{where}{hint} -> answer",
        Conversion(
            f"question and spans {[column.name for column in answers]}", spans(answers, start)
        ),
        settings,
    )


def column_of(
    table: Table, requested: str | None, option: str, names: Sequence[str]
) -> Column | None:
    if requested is not None:
        return table.column(requested, option=option)
    return known(table.columns, names) if table.header else None


def refuse(table: Table, what: str) -> Plan:
    raise DataError(
        what,
        where=table.name,
        remedy=("name question, context and answer with ", Option("text_pair", "text", "label")),
    )


def marked_plan(table: Table) -> Plan:
    """A question and its context in one text, a line each where it is plain."""
    if not table.certain:
        table = table.reread("lines")
    text = known(table.columns, ("text",))
    assert text is not None
    summary = f"{table.summary}, a question and its context with {MARK} between them -> answer"
    return Plan("answer", table, {"question": text}, 0, summary)


def ends_with(context: Column, mark: str) -> bool:
    texts = [value for value in context.sample if isinstance(value, str)]
    return bool(texts) and sum(text.rstrip().endswith(mark) for text in texts) > len(texts) / 2


def holds_starts(column: Column) -> bool:
    """Whether answers say where they stand."""
    return any(
        isinstance(value, dict | list) and "start" in str(value)
        for value in map(value_of, column.sample)
    )


def are_classes(answer: Column, context: Column) -> bool:
    """Whether answers are yes and no, or a few others that stand in no context."""
    values = [value for value in answer.sample if not is_missing(value)]
    names = {str(value).strip().lower() for value in values}
    if not names or names <= YES_NO:
        return bool(names)
    contexts = "\n".join(map(str, context.sample)).lower()
    return label_like(shown(values)) and not any(name in contexts for name in names)


def value_of(value: Any) -> Any:
    """A list, a tuple or a dict, or what a string spells as one, with the arrays of NumPy in it;
    anything else as it is."""
    if isinstance(value, str) and value[:1] in "([{":
        for read in (json.loads, ast.literal_eval):  # neither executes anything
            try:
                return read(ARRAY.sub(r"\1", value) if "array(" in value else value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value


def without_mark(context: str) -> str:
    for mark in MARKS:
        if context.rstrip().endswith(mark):
            return context.rstrip().removesuffix(mark)
    return context


def texts_alone(values: Values, names: tuple[str, ...], where: str) -> Values:
    question, context = (json_text(value, names[0], where) for value in values[0])
    context = without_mark(context)
    return ([question.strip(), context if context.strip() else ""],)


def spans(columns: Sequence[Column], start: Column | None) -> Any:
    """Return the conversion of cells to a question, a context and the spans of its answers."""
    both = len(columns) > 1

    def convert(values: Values, names: tuple[str, ...], where: str) -> Values:
        (pair,) = texts_alone(values[:1], names, where)
        whole = json_text(values[0][1], names[0], where)
        cells = values[1] if both else [values[1]]
        if start is not None and "token" in start.name.lower():
            raise DataError(
                "answers are ranges of tokens, and characters are counted here",
                where=where,
                got=cells[-1],
                remedy="give them as answer_char_ranges, or as start and end in characters",
            )
        if start is not None:
            answer = value_of(cells[0]) if both else None
            place = value_of(cells[-1])
            if len(columns) > 1 and columns[0] == start:  # a start and an end
                answer, place = None, [] if all(map(is_missing, cells)) else list(cells)
            spans = placed(answer, place, whole, where)
        else:
            spans = listed(value_of(cells[0]), whole, where)
        kept = [[a, b] for a, b in spans if a < len(pair[1]) and pair[1][a:b].strip()]
        return pair, [[a, min(b, len(pair[1]))] for a, b in kept]

    return convert


def placed(answer: Any, place: Any, context: str, where: str) -> list[list[int]]:
    """Answers with numbers of their own: (start, end), or the start of an answer's text."""
    if isinstance(place, str) and (RANGE.search(place) or NO_RANGE.fullmatch(place)):
        pairs = [(int(a), int(b)) for a, b in RANGE.findall(place)]
        return [checked(a, b, context, where) for a, b in dict.fromkeys(pairs)]
    several = isinstance(answer, list | tuple)  # of which each number is the start of one
    pair = isinstance(place, list | tuple) and len(place) == 2 and all(map(is_whole, place))
    if pair and not several:
        return [checked(int(place[0]), int(place[1]), context, where)]
    starts = place if isinstance(place, list | tuple) else [place]
    texts = answer if isinstance(answer, list | tuple) else [answer]
    if all(is_missing(start) for start in starts):
        return []
    spans = []
    for text, start in zip(texts, starts):
        if not is_whole(start) or not isinstance(text, str):
            raise DataError(
                "the start of an answer is a number of characters, and its text a string",
                where=where,
                got=start,
                remedy="give both, or (start, end)",
            )
        if int(start) < 0:
            continue
        spans.append(spelled(text, int(start), context, where))
    return spans


def listed(answer: Any, context: str, where: str) -> list[list[int]]:
    """Texts alone, or with `answer_start` or `start`, as SQuAD has them: a dict each, or one of
    lists."""
    if isinstance(answer, dict) and isinstance(texts := answer.get("text"), list):
        starts = answer.get("answer_start", answer.get("start")) or [None] * len(texts)
        answer = [{"text": item, "start": at} for item, at in zip(texts, starts)]
    answers = answer if isinstance(answer, list | tuple) else [answer]
    spans = []
    for item in answers:
        if is_missing(item) or item in MARKS:
            continue
        if isinstance(item, dict):
            at = item.get("answer_start", item.get("start"))
            spans.append(spelled(str(item.get("text", "")), at, context, where))
        else:
            spans.append(spelled(str(item), None, context, where))
    return spans


def spelled(text: str, at: Any, context: str, where: str) -> list[int]:
    """The span of an answer's text, where it should stand or else first stands."""
    if at is not None and is_whole(at):
        span = checked(int(at), int(at) + len(text), context, where)
        if context[span[0] : span[1]] == text:
            return span
    first = context.find(text)
    if first < 0 or not text:
        near = context.lower().find(text.lower()) if len(text) > 2 else -1
        there = f" ({context[near : near + len(text)]!r})" if near >= 0 else ""
        raise DataError(
            "the answer does not stand in the context",
            where=where,
            got=text,
            remedy=f"give it as it is spelled there{there}, or leave it empty where there is none",
        )
    if at is not None:
        raise DataError(
            f"the answer does not stand at character {at} of the context, but at {first}",
            where=where,
            got=text,
            remedy="count characters from 0, or leave the start out",
        )
    return [first, first + len(text)]


def checked(start: int, stop: int, context: str, where: str) -> list[int]:
    if not 0 <= start <= stop <= len(context):
        raise DataError(
            f"the answer lies outside of its context of {len(context):,} characters",
            where=where,
            got=f"{start} to {stop}",
            remedy="count characters from 0; the end is that after the last",
        )
    return [start, stop]


def is_whole(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and float(value) == int(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def plan_stories(table: Table, data: DataConfig, *, outputs: bool) -> Plan | None:
    """A story, a question, an answer."""
    settings = {"data.input": "story", "data.multilabel": False}
    if not outputs and (table.shape == Shape.TEXTS or is_marked(table)):
        plan = marked_plan(table)
        return replace(plan, columns={"story": plan.columns["question"]})
    names = {column.name: column for column in table.columns}
    if not {"story", "question"} <= set(names):
        return None
    story = joined([names["story"], names["question"]])
    about = f"{table.summary}, stories in 'story', questions in 'question'"
    if not outputs:
        convert = Conversion("stories", told)
        return Plan("answer", table, {"story": story}, FIT, f"{about} -> answer", convert, settings)
    if "answer" not in names:
        raise DataError(
            "has no column 'answer', which answer needs", where=table.name, remedy="give one"
        )
    columns = {"story": story, "label": names["answer"]}
    summary = f"{about}, answers in 'answer' -> answer"
    return Plan("answer", table, columns, FIT, summary, Conversion("stories", told), settings)


def told(values: Values, names: tuple[str, ...], where: str) -> Values:
    return tuple(as_story(values[0], where)), *values[1:]
