"""Tags for texts: an iterable of texts, or of lists of words, in, one tagged text each out.

A text is split into words by the tokenizer of the model; places are counted in characters of the
text as it was given, so that text[start:end] is the word or the span. Words that are given as a
list are joined by spaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from unspool.data.read.conll import solid
from unspool.data.schemes import find_spans
from unspool.data.tagged import sentences_part
from unspool.errors import DataError
from unspool.tasks.tag import Tag, Tags
from unspool.text.tokenizers import WordTokenizer
from unspool.text.words import Place, places

CHUNK = 2048  # texts held at once, so that a file of any length streams through


class TaggedWord(NamedTuple):
    """text[start:end] is the word."""

    start: int
    end: int
    word: str
    tag: str
    probability: float


class TaggedSpan(NamedTuple):
    """text[start:end] is the span."""

    start: int
    end: int
    text: str
    label: str
    probability: float


class TaggedText(NamedTuple):
    """A text with a tag for each word, and the spans that the tags mark, if they mark any."""

    text: str
    words: list[TaggedWord]
    spans: list[TaggedSpan] | None

    def to_json(self) -> dict[str, Any]:
        found = {"text": self.text, "words": [word._asdict() for word in self.words]}
        if self.spans is not None:
            found["spans"] = [span._asdict() for span in self.spans]
        return found

    def __str__(self) -> str:
        """`[ORG EU] rejects ...`, or `EU/PROPN rejects/VERB ...` where tags mark no spans."""
        if self.spans is None:
            return " ".join(f"{word.word}/{word.tag}" for word in self.words)
        shown, done = [], 0
        for span in self.spans:
            inside = f"{span.label} {span.text}".strip()
            shown += [self.text[done : span.start], f"[{inside}]"]
            done = span.end
        return " ".join(("".join(shown) + self.text[done:]).split())


def tag(task: Tag, model: nn.Module, texts: Iterable[str | Sequence[str]]) -> Iterator[TaggedText]:
    """Tag in chunks; batching never changes an answer, so order and chunk are free."""
    stream = iter(texts)
    while chunk := list(islice(stream, CHUNK)):
        pairs = [_words(task, text) for text in chunk]
        full = [words for _, words in pairs if words]
        sentences = [[solid(word.token) for word in words] for words in full]
        found: Iterator[Tags] = iter(())
        if sentences:
            part = sentences_part(sentences, task.tokenizer, task.spelling, task.labels)
            found = iter(task.tags(model, part))
        for text, words in pairs:
            yield _tagged(task, text, words, next(found)) if words else _nothing(task, text)


def _words(task: Tag, given: str | Sequence[str]) -> tuple[str, list[Place]]:
    """The text and its words."""
    if isinstance(given, str):
        assert isinstance(task.tokenizer, WordTokenizer)
        return given, places(given, split=task.tokenizer.split)
    found, start = [], 0
    for word in given:
        if not word.strip():
            raise DataError(
                "a word is empty", got=" ".join(given), remedy="leave it out of the list"
            )
        found.append(Place(word, start, start + len(word)))
        start += len(word) + 1
    return " ".join(given), found


def _nothing(task: Tag, text: str) -> TaggedText:
    return TaggedText(text, [], None if task.marks is None else [])


def _tagged(task: Tag, text: str, words: list[Place], found: Tags) -> TaggedText:
    enter, walk, leave = (part.double().numpy() for part in found.along)
    chances = np.exp(enter + leave).clip(0, 1)
    tagged = [
        TaggedWord(word.start, word.stop, word.token, task.labels[number], float(p))
        for word, number, p in zip(words, found.tags, chances)
    ]
    if task.marks is None:
        return TaggedText(text, tagged, None)
    spans = []
    for first, stop, kind in zip(*find_spans(task.marks.at(found.tags), np.array([0]))):
        last = stop - 1
        start, end = words[first].start, words[last].stop
        chance = np.exp(enter[first] + walk[last] - walk[first] + leave[last]).clip(0, 1)
        spans.append(TaggedSpan(start, end, text[start:end], task.marks.names[kind], float(chance)))
    return TaggedText(text, tagged, spans)
