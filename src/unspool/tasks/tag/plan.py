"""Plan the words of sentences and their tags.

The user's settings decide; otherwise the names of JSON fields, or that columns of CoNLL have the
word first and the tag last. Values of JSON are either lists of words and of tags, or a text, which
is split into words, and its spans, which become tags in IOBES.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from unspool.config import DataConfig
from unspool.data.plan import Conversion, Plan, Values
from unspool.data.read import Shape, Table
from unspool.data.read.columns import known
from unspool.data.read.conll import Conll, conll_format, looks_like_conll
from unspool.data.read.json_lines import json_label, json_text
from unspool.data.schemes import B, E, I, S, tag_name
from unspool.errors import DataError, Option
from unspool.tasks.plan import documents, input_plan
from unspool.text.words import TokenSpan, solid, token_spans

FIT = 3
TOKEN_NAMES = ("tokens", "words", "forms")
TAG_NAMES = ("tags", "ner_tags", "pos_tags", "chunk_tags", "labels", "ner", "pos")
TEXT_NAMES = ("text", "sentence")
SPAN_NAMES = ("spans", "entities")


def plan_tags(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """Words and tags; without `outputs` the words alone, or texts where they are not split."""
    if table.shape == Shape.FOLDER and named:
        raise DataError(
            "a folder holds no tagged sentences", where=table.path, remedy="name a file"
        )
    if table.typed:
        return _fields(table, data, named=named, outputs=outputs)
    if table.shape != Shape.SENTENCES:
        if not named:
            return None
        documents(table, "tag")
        file = table.files[0]
        if data.format != "auto" and outputs:
            raise DataError(
                f"was read as {data.format}, which holds no tags",
                where=table.path,
                remedy=("give CoNLL columns or JSON lines, or leave out ", Option("format")),
            )
        if data.format != "auto" or not (outputs or looks_like_conll(file, data)):
            return input_plan("tag", table, data)
        table = table.reread(conll_format(file))
    return _columns(table, data, outputs=outputs)


def _columns(table: Table, data: DataConfig, *, outputs: bool) -> Plan:
    where = table.where(table.reader.first_line)
    if outputs and len(table.columns) < 2:
        raise DataError(
            "there is one column, and words with tags are two",
            where=where,
            got=(table.columns[0].sample or [[""]])[0][0],
            remedy="write a word and its tag in each row, and a blank line after each sentence",
        )
    assert isinstance(table.reader, Conll)
    first, last = table.reader.word_and_tag
    words = table.column(data.text or first, option="text")
    summary = f"{table.summary}, words in column {words.name}"
    if not outputs:
        return Plan("tag", table, {"words": words}, FIT, summary)
    tags = table.column(data.label or last, option="label")
    if words.number == tags.number:
        raise DataError(
            f"the words and the tags are the same column {words.name}",
            where=where,
            remedy=("name two different columns with ", Option("text", "label")),
        )
    summary += f", tags in {tags.name} -> tag"
    return Plan("tag", table, {"words": words, "tags": tags}, FIT, summary)


def _fields(table: Table, data: DataConfig, *, named: bool, outputs: bool) -> Plan | None:
    sure = named and outputs
    if sure:
        for requested, option in ((data.text, "text"), (data.label, "label")):
            if requested is not None:
                table.column(requested, option=option)
    lists = [column for column in table.columns if isinstance(column.sample[0], list)]
    strings = [column for column in table.columns if isinstance(column.sample[0], str)]
    words = known(lists, TOKEN_NAMES if data.text is None else [data.text])
    if words is not None:
        if not outputs:
            summary = f"{table.summary}, words in field {words.name!r}"
            return Plan("tag", table, {"words": words}, FIT, summary, TOKENS)
        others = [column for column in lists if column != words]
        tags = known(others, TAG_NAMES if data.label is None else [data.label])
        if tags is not None:
            summary = f"{table.summary}, words in field {words.name!r}, tags in {tags.name!r}"
            columns = {"words": words, "tags": tags}
            return Plan("tag", table, columns, FIT, f"{summary} -> tag", TOKENS)
    text = known(strings, TEXT_NAMES if data.text is None else [data.text])
    spans = known(lists, SPAN_NAMES if data.label is None else [data.label])
    marked = spans is not None and (sure or _are_spans(spans.sample[0]))
    if outputs and marked and text is not None and spans is not None:
        summary = f"{table.summary}, text in field {text.name!r}, spans in {spans.name!r}"
        columns = {"words": text, "tags": spans}
        return Plan("tag", table, columns, FIT, f"{summary} -> tag", SPANS)
    if not sure:
        return input_plan("tag", table, data) if named else None
    raise DataError(
        f"no fields of words and tags among {', '.join(c.name for c in table.columns) or 'none'}",
        where=table.where(table.reader.first_line),
        remedy=(
            'write {"tokens": [...], "tags": [...]} or {"text": ..., "spans": [...]},',
            " or name the fields with ",
            Option("text", "label"),
        ),
    )


def _are_spans(value: list[Any]) -> bool:
    """No spans, or something that is meant as one: what is wrong with it is found on reading."""
    return all(isinstance(span, dict) for span in value)


def token_lists(values: Values, names: tuple[str, ...], where: str) -> Values:
    """Lists of strings, of words and perhaps of tags, of which there must be as many."""
    lists = [json_list(value, name, where) for value, name in zip(values, names)]
    if len({len(tokens) for tokens in lists}) > 1:
        raise DataError(
            f"{len(lists[0])} {names[0]} have {len(lists[1])} {names[1]}",
            where=where,
            remedy="give every token one tag",
        )
    strings = tuple(
        [solid(json_label(value, name, where)) for value in tokens]
        for tokens, name in zip(lists, names)
    )
    for name, tokens in zip(names, strings):
        if "" in tokens:
            raise DataError(
                f"field {name!r} holds an empty string",
                where=where,
                remedy="fill it in, or remove it together with its tag",
            )
    return strings


def json_list(value: Any, name: str, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise DataError(
            f"field {name!r} is not a list of strings",
            where=where,
            got=value if value is not None else "null",
            remedy='write {"tokens": ["Peter", "slept"], "tags": ["B-PER", "O"]}',
        )
    if not value:
        raise DataError("the sentence is empty", where=where, remedy="remove the row")
    return value


def words_and_spans(values: Values, names: tuple[str, ...], where: str) -> Values:
    """The words of a text, and in IOBES the tags of its spans."""
    text = json_text(values[0], names[0], where)
    words = token_spans(text, split="punctuation")
    if not words:
        raise DataError("the sentence is empty", where=where, remedy="remove the row")
    return [word.token for word in words], tags_of(words, values[1], text, where)


TOKENS = Conversion("tokens", token_lists)
SPANS = Conversion("spans", words_and_spans)


class CharacterSpan(NamedTuple):
    start: int
    end: int
    label: str


def tags_of(words: list[TokenSpan], spans: Any, text: str, where: str) -> list[str]:
    """The tags in IOBES of words in which some spans, by characters, are marked."""
    tags = ["O"] * len(words)
    stop = 0
    for start, end, label in sorted(check_spans(spans, len(text), where)):
        shown = text[start:end]
        if start < stop:
            raise DataError(
                "spans overlap",
                where=where,
                got=shown,
                remedy="each character belongs to one span at most: keep the longer one",
            )
        stop = end
        inside = [i for i, word in enumerate(words) if word.start < end and start < word.stop]
        if not inside:
            raise DataError(
                "a span holds no word", where=where, got=shown, remedy="correct start and end"
            )
        first, last = words[inside[0]], words[inside[-1]]
        if first.start < start or last.stop > end:
            split = first if first.start < start else last
            raise DataError(
                f"a span splits the word {split.token!r}",
                where=where,
                got=shown,
                remedy=f"let it reach from {first.start} to {last.stop}; start and end count"
                " characters from 0, and end is the one after the last",
            )
        for i in inside:
            ends = (i == inside[0]) + 2 * (i == inside[-1])
            tags[i] = tag_name((I, B, E, S)[ends], solid(label))
    return tags


def check_spans(spans: Any, length: int, where: str) -> Iterator[CharacterSpan]:
    example = 'write [{"start": 0, "end": 5, "label": "PER"}, ...]'
    if not isinstance(spans, list):
        raise DataError("the spans are no list", where=where, got=spans, remedy=example)
    for span in spans:
        fields = span if isinstance(span, dict) else {}
        start, end, label = (fields.get(name) for name in CharacterSpan._fields)
        if not (
            isinstance(start, int) and isinstance(end, int) and isinstance(label, str) and label
        ):
            raise DataError(
                "a span needs start, end and label", where=where, got=span, remedy=example
            )
        if not 0 <= start < end <= length:
            raise DataError(
                f"a span from {start} to {end} does not lie within the text of {length} characters",
                where=where,
                remedy="start and end count characters from 0, and end is the one after the last",
            )
        yield CharacterSpan(start, end, label)
