"""Which columns of a table are the words of sentences, and which are their tags.

The user's settings decide; otherwise the names of JSON fields, or that columns of CoNLL have the
word first and the tag last.
"""

from __future__ import annotations

from typing import Any

from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.read.columns import known
from unspool.data.read.conll import conll_format, looks_like_conll
from unspool.data.sentences import SPANS, TOKENS
from unspool.errors import DataError
from unspool.tasks.plan import FOLDERS, SENTENCES, documents, input_plan

FIT = 3
TOKEN_NAMES = ("tokens", "words", "forms")
TAG_NAMES = ("tags", "ner_tags", "pos_tags", "chunk_tags", "labels", "ner", "pos")
TEXT_NAMES = ("text", "sentence")
SPAN_NAMES = ("spans", "entities")


def plan_tags(table: Table, data: DataConfig, *, named: bool, outputs: bool) -> Plan | None:
    """Words and tags; without `outputs` the words alone, or texts where they are not split."""
    if table.format in FOLDERS and named:
        raise DataError(
            "a folder holds no tagged sentences", where=table.path, remedy="name a file"
        )
    if table.typed:
        return _fields(table, data, named=named, outputs=outputs)
    if table.format not in SENTENCES:
        if not named:
            return None
        documents(table, "tag")
        file = table.files[0]
        if data.format != "auto" and outputs:
            raise DataError(
                f"was read as {data.format}, which holds no tags",
                where=table.path,
                remedy="give CoNLL columns or JSON lines, or leave out --format",
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
    first, last = (
        ("form", "upos")
        if table.format == "conllu"
        else (table.columns[0].name, table.columns[-1].name)
    )
    words = table.column(data.text or first, option="--text")
    summary = f"{table.summary}, words in column {words.name}"
    if not outputs:
        return Plan("tag", table, {"words": words}, FIT, summary)
    tags = table.column(data.label or last, option="--label")
    if words.number == tags.number:
        raise DataError(
            f"the words and the tags are the same column {words.name}",
            where=where,
            remedy="name two different columns with --text and --label",
        )
    summary += f", tags in {tags.name} -> tag"
    return Plan("tag", table, {"words": words, "tags": tags}, FIT, summary)


def _fields(table: Table, data: DataConfig, *, named: bool, outputs: bool) -> Plan | None:
    sure = named and outputs
    if sure:
        for asked, option in ((data.text, "--text"), (data.label, "--label")):
            if asked is not None:
                table.column(asked, option=option)
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
        remedy='write {"tokens": [...], "tags": [...]} or {"text": ..., "spans": [...]}, or name'
        " the fields with --text and --label",
    )


def _are_spans(value: list[Any]) -> bool:
    """No spans, or something that is meant as one: what is wrong with it is found on reading."""
    return all(isinstance(span, dict) for span in value)
