"""Values of JSON lines as sentences: lists of words, and of tags, one for each word.

Either both are lists already, or a text is split into words and its spans become tags in IOBES.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from unspool.data.plan import Conversion, Values
from unspool.data.read.conll import solid
from unspool.data.read.json_lines import json_label, json_text
from unspool.data.schemes import B, E, I, S, tag_name
from unspool.errors import DataError
from unspool.text.words import TokenSpan, token_spans


def token_lists(values: Values, names: tuple[str, ...], where: str) -> Values:
    """Lists of strings, of words and perhaps of tags, of which there must be as many."""
    lists = [json_list(value, name, where) for value, name in zip(values, names)]
    if len({len(found) for found in lists}) > 1:
        raise DataError(
            f"{len(lists[0])} {names[0]} have {len(lists[1])} {names[1]}",
            where=where,
            remedy="give every token one tag",
        )
    strings = tuple(
        [solid(json_label(value, name, where)) for value in found]
        for found, name in zip(lists, names)
    )
    for name, found in zip(names, strings):
        if "" in found:
            raise DataError(
                f"field {name!r} holds an empty string",
                where=where,
                remedy="fill it in, or remove it together with its tag",
            )
    return strings


def json_list(value: Any, name: str, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise DataError(
            f"field {name!r} is no list of strings",
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
