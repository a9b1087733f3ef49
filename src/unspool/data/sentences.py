"""Sentences to examples: the words of a sentence, or its tags, between spaces.

CoNLL columns, CoNLL-U, JSON lines of tokens and tags, JSON lines of texts and spans. A reader gets
the `Layout` of one side: the words, or the tags. Tags are a source of their own, as the other side
of pairs is, so that both are read, stored and cached like any text; token n belongs to tag n.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from unspool.data.read.files import Report, TextFile
from unspool.data.rows import (
    Example,
    Layout,
    json_field,
    json_label,
    json_rows,
    whole_characters,
)
from unspool.data.schemes import B, E, I, S, tag_name
from unspool.errors import DataError
from unspool.text.words import Place, places

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
DOCUMENT_MARK = "-DOCSTART-"
_COMMENT = re.compile(r"#\s*\w[\w. ]*=")  # as in `# sent_id = 3`
_SPACES = re.compile(r"[ \t]+")
_INNER_SPACE = re.compile(r"\s+")


class Row(NamedTuple):
    """One token of a file of columns."""

    line: int
    fields: list[str]


def solid(word: str) -> str:
    """A word without white space, which would make it two."""
    return _INNER_SPACE.sub("_", word)


def cut_fields(line: str, delimiter: str) -> list[str]:
    if delimiter == "\t":
        return line.rstrip("\n").split("\t")
    return _SPACES.split(line.strip(" \t\n"))


def is_comment(line: str, fields: list[str], width: int) -> bool:
    """A line that begins with # and has not the columns of a token; # may be a word itself."""
    return line.startswith("#") and (len(fields) != width or bool(_COMMENT.match(line)))


def column_rows(
    file: TextFile, layout: Layout, report: Report | None = None
) -> Iterator[list[Row]]:
    """The tokens of each sentence: a blank line or a mark of a document ends one."""
    sentence: list[Row] = []
    for number, line in enumerate(file.lines(report), start=1):
        fields = cut_fields(line, layout.delimiter)
        blank = not line.strip()
        if blank or fields[0] == DOCUMENT_MARK:
            if sentence:
                yield sentence
            sentence = []
            continue
        if is_comment(line, fields, layout.width):
            continue
        if len(fields) != layout.width:
            raise DataError(
                f"expected {layout.width} columns, found {len(fields)}",
                where=f"{file.name}:{number}",
                remedy="mend the row; a blank line ends a sentence",
            )
        if layout.format == "conllu" and not fields[0].isdigit():
            continue  # 1-2 is written as one word and counted as two, 1.1 is not written
        sentence.append(Row(number, fields))
    if sentence:
        yield sentence


def read_columns(file: TextFile, layout: Layout, report: Report | None) -> Iterator[Example]:
    column = layout.text
    assert isinstance(column, int)
    for sentence in column_rows(file, layout, report):
        values = [solid(fields[column].strip()) for _, fields in sentence]
        if "" in values:
            raise DataError(
                f"column {column + 1} is empty",
                where=f"{file.name}:{sentence[values.index('')].line}",
                remedy="fill it in, or remove the row",
            )
        yield Example(" ".join(values), None, sentence[0].line)


def read_tokens(file: TextFile, layout: Layout, report: Report | None) -> Iterator[Example]:
    """Lists of strings. `layout.label`, of tags, is the field with their words, of which there must
    be as many."""
    assert isinstance(layout.text, str)
    for line, fields in json_rows(file, report):
        where = f"{file.name}:{line}"
        values = json_list(fields, layout.text, where)
        if layout.label is not None:
            words = json_list(fields, str(layout.label), where)
            if len(words) != len(values):
                raise DataError(
                    f"{len(words)} {layout.label} have {len(values)} {layout.text}",
                    where=where,
                    remedy="give every token one tag",
                )
        strings = [solid(json_label(value, layout.text, where)) for value in values]
        if "" in strings:
            raise DataError(
                f"field {layout.text!r} holds an empty string",
                where=where,
                remedy="fill it in, or remove it together with its tag",
            )
        yield Example(" ".join(strings), None, line)


def json_list(fields: dict[str, Any], name: str, where: str) -> list[Any]:
    values = json_field(fields, name, where)
    if not isinstance(values, list):
        raise DataError(
            f"field {name!r} is no list of strings",
            where=where,
            got=values if values is not None else "null",
            remedy='write {"tokens": ["Peter", "slept"], "tags": ["B-PER", "O"]}',
        )
    if not values:
        raise DataError("the sentence is empty", where=where, remedy="remove the row")
    return values


def read_spans(file: TextFile, layout: Layout, report: Report | None) -> Iterator[Example]:
    """Texts, split into words; or, where `layout.label` names the field of the spans, their tags in
    IOBES."""
    assert isinstance(layout.text, str)
    for line, fields in json_rows(file, report):
        where = f"{file.name}:{line}"
        text = json_field(fields, layout.text, where)
        if not isinstance(text, str):
            raise DataError(
                f"field {layout.text!r} is not a string",
                where=where,
                got=text if text is not None else "null",
                remedy="name the field of the text with --text",
            )
        text = whole_characters(text, where)
        words = places(text, split="punctuation")
        if not words:
            raise DataError("the sentence is empty", where=where, remedy="remove the row")
        if layout.label is None:
            yield Example(" ".join(word.token for word in words), None, line)
        else:
            spans = json_field(fields, str(layout.label), where)
            yield Example(" ".join(tags_of(words, spans, text, where)), None, line)


class CharacterSpan(NamedTuple):
    start: int
    end: int
    label: str


def tags_of(words: list[Place], spans: Any, text: str, where: str) -> list[str]:
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
                "a span holds no word", where=where, got=shown, remedy="mend start and end"
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


def line_of_token(file: TextFile, layout: Layout, row: int, token: int) -> int:
    """The line of a token of a sentence, for a message: the file is read once more."""
    if layout.format in ("conll", "conllu"):
        return next(islice(column_rows(file, layout), row, None))[token].line
    return next(islice(json_rows(file), row, None))[0]


SENTENCE_READERS: dict[str, Callable[[TextFile, Layout, Report | None], Iterable[Example]]] = {
    "conll": read_columns,
    "conllu": read_columns,
    "tokens": read_tokens,
    "spans": read_spans,
}
