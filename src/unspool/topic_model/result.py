"""Result of `topics`: each topic with its words and documents, and topics for new texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.tasks.answer import Answer, Answers, one_line
from unspool.tasks.task import chunks
from unspool.topic_model.methods import Assigned, TopicMethod
from unspool.topic_model.settings import TopicsConfig
from unspool.topic_model.times import OverTime
from unspool.topic_model.vectors import DocumentVectors

NAME_WORDS = 3  # of a topic, in its name
SHOWN = 110  # characters of a document
CHUNK = 1024  # texts that get topics at once


class NearDocument(NamedTuple):
    """A document of a topic: where it stands, how near it is, how it begins."""

    where: str
    nearness: float
    text: str


@dataclass(frozen=True)
class Topic:
    """number     from 1, the largest topic first
    words         with their weights of the class-based TF-IDF
    share         of all documents, the mean of its shares in them
    documents     how many have it as their largest
    coherence     NPMI of its words"""

    number: int
    words: list[tuple[str, float]]
    share: float
    documents: int
    coherence: float
    nearest: list[NearDocument] = field(default_factory=list)

    @property
    def name(self) -> str:
        return " ".join([str(self.number), *(word for word, _ in self.words[:NAME_WORDS])])

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "name": self.name,
            "words": [{"word": word, "weight": round(w, 6)} for word, w in self.words],
            "share": round(self.share, 6),
            "documents": self.documents,
            "coherence": round(self.coherence, 6),
            "nearest": [{**d._asdict(), "nearness": round(d.nearness, 6)} for d in self.nearest],
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Topic:
        return cls(
            stored["number"],
            [(item["word"], item["weight"]) for item in stored["words"]],
            stored["share"],
            stored["documents"],
            stored["coherence"],
            [NearDocument(**item) for item in stored["nearest"]],
        )


@dataclass(frozen=True)
class TopicAnswer(Answer):
    """The topic of a new text, and the shares of all, the largest first; no topic where the text
    has none of the words that topics are made of."""

    text: str
    topic: str | None
    share: float
    shares: dict[str, float]

    plural = "topics"

    def __str__(self) -> str:
        return self.lines(1)[0]

    def lines(self, number: int) -> list[str]:
        return [f"{self.topic or '-'}\t{self.share:.4f}\t{one_line(self.text)}"]

    def header(self) -> list[str]:
        return ["topic", "share", "text"]

    def rows(self, number: int) -> list[list[Any]]:
        return [[self.topic or "", f"{self.share:.6f}", self.text]]

    def to_json(self) -> dict[str, Any]:
        shares = {name: round(share, 6) for name, share in self.shares.items()}
        return {"text": self.text, "topic": self.topic, "share": self.share, "shares": shares}


class TriedCount(NamedTuple):
    """A number of topics, and the coherence that it gave."""

    topics: int
    coherence: float


class MapPoint(NamedTuple):
    """A document on the map: where, its topic (from 1; 0: none), how it begins."""

    x: float
    y: float
    topic: int
    text: str


@dataclass
class Topics:
    """K topics of a corpus.

    words     the vocabulary that counts of new texts are made with
    tried     numbers of topics that were tried, where none was given
    points    the map; none where it was not asked for
    """

    config: TopicsConfig
    method: TopicMethod
    words: list[str]
    topics: list[Topic]
    summary: str
    notes: list[str]
    rows: int
    empty: int
    without: int  # documents with none of the words
    tried: list[TriedCount] = field(default_factory=list)
    times: OverTime | None = None
    points: list[MapPoint] = field(default_factory=list)
    start: dict[str, str] | None = None  # the model that made the vectors
    seconds: float = 0.0
    path: Path | None = None
    vectors: DocumentVectors | None = None

    @property
    def coherence(self) -> float:
        """The mean over all topics."""
        return float(np.mean([topic.coherence for topic in self.topics]))

    @property
    def names(self) -> list[str]:
        return [topic.name for topic in self.topics]

    def __len__(self) -> int:
        return len(self.topics)

    def to_json(self) -> dict[str, Any]:
        return {
            "run": None if self.path is None else str(self.path),
            "method": self.config.topics.method,
            "rows": self.rows,
            "empty": self.empty,
            "without_words": self.without,
            "vocabulary": len(self.words),
            "coherence": round(self.coherence, 6),
            "tried": [count._asdict() for count in self.tried],
            "seconds": round(self.seconds, 2),
            "summary": self.summary,
            "notes": self.notes,
            "topics": [topic.to_json() for topic in self.topics],
            "times": None if self.times is None else self.times.to_json(),
        }

    def lines(self) -> list[str]:
        lines = [
            f"{len(self)} topics of {self.rows - self.empty:,} documents, coherence (NPMI)"
            f" {self.coherence:.4f}"
        ]
        for topic in self.topics:
            words = " ".join(word for word, _ in topic.words)
            lines += [
                "",
                f"{topic.number:>3}  {topic.share:6.1%}  NPMI {topic.coherence:.3f}  {words}",
            ]
            lines += [f"       {shown(document)}" for document in topic.nearest]
        if self.times is not None:
            lines += ["", *self._time_lines(self.times)]
        return lines

    def _time_lines(self, times: OverTime) -> list[str]:
        """The share of each topic in the first and the last period, and where it is largest."""
        width = max(map(len, self.names))
        first, last = times.periods[0], times.periods[-1]
        head = f"{'over time':<{width}}  {first:>10}  {last:>10}  largest in"
        rows = []
        for k, name in enumerate(self.names):
            shares = times.shares[:, k]
            peak = times.periods[int(shares.argmax())]
            rows.append(f"{name:<{width}}  {shares[0]:>10.1%}  {shares[-1]:>10.1%}  {peak}")
        undated = f"{times.undated:,} documents have no date" if times.undated else ""
        return [head, *rows, *([undated] if undated else [])]

    def assign(self, texts: list[str]) -> Assigned:
        """The topics of new texts."""
        from unspool.topic_model.fitting import count_texts

        if self.method.reads_vectors:
            assert self.vectors is not None
            return self.method.assign(self.vectors(texts))
        return self.method.assign(count_texts(texts, self.words, self.config.tokenizer))

    def predict_lazily(self, texts: Iterable[str]) -> Iterator[TopicAnswer]:
        """The topic of each text, in chunks."""
        for chunk in chunks(texts, CHUNK):
            assigned = self.assign(chunk)
            for text, topic, shares, near in zip(
                chunk, assigned.topic.tolist(), assigned.shares.tolist(), assigned.nearness.tolist()
            ):
                values = shares if self.method.measure == "share" else near
                order = sorted(range(len(self)), key=lambda k: -values[k])
                yield TopicAnswer(
                    text,
                    self.names[topic] if topic >= 0 else None,
                    values[topic] if topic >= 0 else 0.0,
                    {self.names[k]: values[k] for k in order} if topic >= 0 else {},
                )

    def predict(self, texts: str | Iterable[str]) -> Answers:
        """The topic of each text, and the shares of all topics in it."""
        return Answers(self.predict_lazily([texts] if isinstance(texts, str) else texts))

    def to_html(self) -> str:
        """All of it as a page that needs no other file."""
        from unspool.topic_model.page import page

        return page(self)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def shown(document: NearDocument) -> str:
    return f"{document.where}  {document.text}"


def beginning(text: str, limit: int = SHOWN) -> str:
    """The first characters of a text, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
