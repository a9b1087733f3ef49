"""Which columns or fields of a file are words and tags.

The user's settings decide; otherwise the name of the file (.conll, .conllu, .iob), the names of its
JSON fields, or the look of its first lines: rows of one width, broken by blank lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from unspool.config import DataConfig
from unspool.data.read.columns import find_column, known, label_like
from unspool.data.read.files import TextFile
from unspool.data.rows import Layout, json_field, json_rows
from unspool.data.schemes import WrongTag, guess_letters
from unspool.data.sentences import CONLLU, DOCUMENT_MARK, Row, column_rows, cut_fields
from unspool.data.tables import SAMPLE, refuse_empty
from unspool.errors import DataError

SUFFIXES = {".conll": "conll", ".iob": "conll", ".iob2": "conll", ".bio": "conll"}
SUFFIXES |= {".conllu": "conllu", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
TOKEN_NAMES = ("tokens", "words", "forms")
TAG_NAMES = ("tags", "ner_tags", "pos_tags", "chunk_tags", "labels", "ner", "pos")
TEXT_NAMES = ("text", "sentence")
SPAN_NAMES = ("spans", "entities")


class Tagged(NamedTuple):
    """How the words and the tags are laid out, and the line that says so."""

    words: Layout
    tags: Layout | None
    says: str


def infer_tagged(
    files: Sequence[TextFile], name: str, data: DataConfig, task: str | None, *, labelled: bool
) -> Tagged | None:
    """The words and tags of a file; None where it holds something else, and nobody has said `tag`.

    Without `labelled`, as for prediction, the words alone: a text without them is None too.
    """
    sure = task == "tag"
    if (not sure and task is not None) or Path(name).is_dir():
        if sure:
            raise DataError("a folder holds no tagged sentences", where=name, remedy="name a file")
        return None
    file = files[0]
    format = data.format if data.format != "auto" else SUFFIXES.get(_suffix(file))
    if format == "jsonl":
        return _from_fields(file, data, sure=sure and labelled, labelled=labelled)
    if format in ("conll", "conllu") or (data.format == "auto" and _looks_tagged(file, data, task)):
        return _from_columns(file, format or "conll", data, labelled=labelled)
    if sure and labelled:
        if data.format == "auto":
            return _from_columns(file, "conll", data, labelled=labelled)
        raise DataError(
            f"was read as {data.format}, which holds no tags",
            where=name,
            remedy="give CoNLL columns or JSON lines, or leave out --format",
        )
    return None


def _suffix(file: TextFile) -> str:
    return Path(file.path.name.removesuffix(".gz")).suffix.lower()


def _looks_tagged(file: TextFile, data: DataConfig, task: str | None) -> bool:
    """Whether the first lines are rows of one width, with tags at their ends.

    Tags that mark spans are enough; others must repeat, and blank lines must break the rows.
    """
    if task is None and _suffix(file) in (".csv", ".tsv", ".tab"):
        return False
    lines = list(islice(file.lines(), SAMPLE))
    layout = _columns(lines)
    if layout is None or layout.width < 2:
        return False
    cut = (cut_fields(line, layout.delimiter) for line in lines if line.strip())
    rows = [fields for fields in cut if len(fields) == layout.width]
    ends = [fields[-1] for fields in rows if fields[0] != DOCUMENT_MARK]
    if ends and layout.delimiter == "\t" and _is_conllu("\t".join(rows[0])):
        return True
    broken = any(not line.strip() for line in lines[: max(1, len(lines) - 1)])
    if not ends:
        return False
    try:
        spans = guess_letters(list(dict.fromkeys(ends))) != "none"
    except WrongTag:
        return broken
    return spans or (broken and len(ends) > 10 and label_like(ends) and not data.text)


def _columns(lines: Sequence[str]) -> Layout | None:
    """How rows are cut, if all of the first lines are rows of one width."""
    rows = [line for line in lines if line.strip() and not line.startswith(("#", DOCUMENT_MARK))]
    if not rows:
        return None
    delimiter = "\t" if all("\t" in row for row in rows) else " "
    widths = {len(cut_fields(row, delimiter)) for row in rows}
    return Layout("conll", delimiter=delimiter, width=widths.pop()) if len(widths) == 1 else None


def _from_columns(file: TextFile, format: str, data: DataConfig, *, labelled: bool) -> Tagged:
    refuse_empty(file)
    first = _first_row(file)
    if format == "conll" and data.format == "auto" and _is_conllu(first):
        format = "conllu"
    delimiter = "\t" if format == "conllu" or "\t" in first else " "
    width = len(CONLLU) if format == "conllu" else len(cut_fields(first, delimiter))
    layout = Layout(format, delimiter=delimiter, width=width)
    sentence = next(column_rows(file, layout), [Row(1, [""] * width)])
    names = list(CONLLU) if format == "conllu" else [str(i + 1) for i in range(width)]
    where = f"{file.name}:{sentence[0].line}"
    if labelled and width < 2:
        raise DataError(
            "there is one column, and words with tags are two",
            where=where,
            got=first.strip(),
            remedy="write a word and its tag in each row, and a blank line after each sentence",
        )
    usual = ("form", "upos") if format == "conllu" else (names[0], names[-1])
    words = find_column(data.text or usual[0], names, option="--text", where=where)
    label = (data.label if labelled else None) or usual[1]
    tags = find_column(label, names, option="--label", where=where)
    if labelled and words == tags:
        raise DataError(
            f"the words and the tags are the same column {names[words]}",
            where=where,
            remedy="name two different columns with --text and --label",
        )
    kind = "CoNLL-U" if format == "conllu" else "CoNLL columns"
    says = f"{file.name}: {kind}, words in column {names[words]}"
    says += f", tags in {names[tags]} -> tag" if labelled else ""
    layout = replace(layout, text=words)
    return Tagged(layout, replace(layout, text=tags) if labelled else None, says)


def _first_row(file: TextFile) -> str:
    """The first line that is no comment; where all look like one, the first of them."""
    lines = [line for line in file.head(SAMPLE) if not line.startswith(DOCUMENT_MARK)]
    rows = [line for line in lines if not line.startswith("#")]
    if not lines:
        raise DataError(
            "holds no sentence", where=file.name, remedy="name a file with words and their tags"
        )
    return (rows or lines)[0]


def _is_conllu(first: str) -> bool:
    """Ten columns between tabs; the first counts words from 1, the seventh names another word."""
    fields = first.split("\t")
    if len(fields) != len(CONLLU):
        return False
    return fields[0].split("-")[0] == "1" and (fields[6].isdigit() or fields[6] == "_")


def _from_fields(file: TextFile, data: DataConfig, *, sure: bool, labelled: bool) -> Tagged | None:
    line, first = next(islice(json_rows(file), 1), (1, {}))
    if not first:
        refuse_empty(file)
    where = f"{file.name}:{line}"
    for asked in (data.text, data.label if labelled else None):
        if asked is not None and sure:
            json_field(first, asked, where)
    lists = {name: name for name, value in first.items() if isinstance(value, list)}
    strings = {name: name for name, value in first.items() if isinstance(value, str)}
    words = data.text if data.text in lists else known(lists, TOKEN_NAMES)
    text = data.text if data.text in strings else known(strings, TEXT_NAMES)
    if words is not None and data.text in (None, words):
        others = {name: name for name in lists if name != words}
        tags = data.label if data.label in others else known(others, TAG_NAMES)
        if not labelled or (tags is not None and data.label in (None, tags)):
            says = f"{file.name}: JSON lines, words in field {words!r}"
            if not labelled:
                return Tagged(Layout("tokens", words), None, says)
            says += f", tags in {tags!r} -> tag"
            return Tagged(Layout("tokens", words), Layout("tokens", tags, words), says)
    spans = data.label if data.label in lists else known(lists, SPAN_NAMES)
    if labelled and text is not None and spans is not None and (sure or _are_spans(first[spans])):
        says = f"{file.name}: JSON lines, text in field {text!r}, spans in {spans!r} -> tag"
        return Tagged(Layout("spans", text), Layout("spans", text, spans), says)
    if not sure:
        return None
    raise DataError(
        f"no fields of words and tags among {', '.join(first) or 'none'}",
        where=where,
        remedy='write {"tokens": [...], "tags": [...]} or {"text": ..., "spans": [...]}, or name'
        " the fields with --text and --label",
    )


def _are_spans(value: list[Any]) -> bool:
    """No spans, or something that is meant as one: what is wrong with it the reader tells."""
    return all(isinstance(span, dict) for span in value)
