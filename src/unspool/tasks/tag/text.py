"""The answer of a tagger: a text, its words and the spans of them, with their tags.

A text is split into words by the tokenizer of the model; positions are counted in characters of the
text as it was given, so that text[start:end] is the word or the span. Words that are given as a
list are joined by spaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.data.schemes import Marks, Scheme, find_spans, from_iobes
from unspool.errors import DataError
from unspool.nn.crf import SpanScores
from unspool.tasks.answer import Answer, empty
from unspool.text.tokenizers import Tokenizer, WordTokenizer
from unspool.text.words import TokenSpan, token_spans


class SentenceTags(NamedTuple):
    """Tags of one sentence, by their numbers, and their probabilities."""

    tags: np.ndarray  # (T,)
    along: SpanScores  # (T,) each


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


def columns(answer: TaggedText) -> list[str]:
    """CoNLL columns: a line a word, and an empty one."""
    return [*(f"{'_'.join(word.word.split())} {word.tag}" for word in answer.words), ""]


@dataclass(frozen=True)
class TaggedText(Answer):
    """A text with a tag for each word, and the spans that the tags mark, if they mark any."""

    plural: ClassVar[str] = "texts"
    formats: ClassVar[Mapping[str, Callable[[Any], list[str]]]] = {".conll": columns}

    text: str
    words: list[TaggedWord]
    spans: list[TaggedSpan] | None

    @property
    def warning(self) -> str | None:
        return empty(self.text)

    def to_json(self) -> dict[str, Any]:
        values = {"text": self.text, "words": [word._asdict() for word in self.words]}
        if self.spans is not None:
            values["spans"] = [span._asdict() for span in self.spans]
        return values

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

    repeats = None  # its text is that of a span

    def header(self) -> list[str]:
        return ["number", "start", "end", "label", "probability", "text"]

    def rows(self, number: int) -> list[list[Any]]:
        """A row a span, or a word where tags mark no spans."""
        if self.spans is None:
            rows = [(w.start, w.end, w.tag, w.probability, w.word) for w in self.words]
        else:
            rows = [(s.start, s.end, s.label, s.probability, s.text) for s in self.spans]
        return [[number, i, j, label, f"{p:.6f}", text] for i, j, label, p, text in rows]


def words_of(item: str | Sequence[str], tokenizer: Tokenizer) -> tuple[str, list[TokenSpan]]:
    """The text of an item, and its words."""
    if isinstance(item, str):
        assert isinstance(tokenizer, WordTokenizer)
        return item, token_spans(item, split=tokenizer.split)
    words, start = [], 0
    for word in item:
        if not word.strip():
            raise DataError(
                "a word is empty", got=" ".join(item), remedy="leave it out of the list"
            )
        words.append(TokenSpan(word, start, start + len(word)))
        start += len(word) + 1
    return " ".join(item), words


def tagged_text(
    text: str,
    words: list[TokenSpan],
    tags: SentenceTags | None,
    labels: Sequence[str],
    marks: Marks | None,
    scheme: Scheme,
) -> TaggedText:
    """The answer from the tags of the words; `tags` is None where there are no words.

    marks    how the tags mark spans; None: none are joined, as in a piece of a text
    scheme   in which the tags are written
    """
    if tags is None:
        return TaggedText(text, [], None if marks is None else [])
    enter, walk, leave = (part.double().cpu().numpy() for part in tags.along)
    probabilities = np.exp(enter + leave).clip(0, 1)
    written = from_iobes([labels[tag] for tag in tags.tags], scheme, whole=marks is not None)
    tagged = [
        TaggedWord(word.start, word.stop, word.token, tag, float(p))
        for word, tag, p in zip(words, written, probabilities)
    ]
    if marks is None:
        return TaggedText(text, tagged, None)
    spans = []
    for first, stop, kind in zip(*find_spans(marks.at(tags.tags), np.array([0]))):
        last = stop - 1
        start, end = words[first].start, words[last].stop
        p = np.exp(enter[first] + walk[last] - walk[first] + leave[last]).clip(0, 1)
        spans.append(TaggedSpan(start, end, text[start:end], marks.names[kind], float(p)))
    return TaggedText(text, tagged, spans)


def tagged_line(
    words: Sequence[str], tags: np.ndarray, names: Sequence[str], marks: Marks | None
) -> str:
    """Words and the numbers of their tags as `str` of an answer shows them; without the tags that
    only say that there is none, O or a dash."""
    if marks is None:
        line = (names[tag] for tag in tags)
        shown = (f"/{tag}" if tag != "O" and any(map(str.isalnum, tag)) else "" for tag in line)
        return " ".join(word + tag for word, tag in zip(words, shown))
    parts, done = [], 0
    for first, stop, kind in zip(*find_spans(marks.at(tags), np.array([0]))):
        inside = " ".join([marks.names[kind], *words[first:stop]]).strip()
        parts += [*words[done:first], f"[{inside}]"]
        done = stop
    return " ".join([*parts, *words[done:]])
