"""The occurrences of words in a corpus that are nearest to a word in its context, by contextual
vectors: texts and a word in, of each text the nearest occurrences out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from unspool.config.resolve import reading_changed
from unspool.data.corpus import encode_table
from unspool.data.part import Part
from unspool.data.store.columns import Progress
from unspool.errors import ConfigError, nearest
from unspool.tasks import Task
from unspool.tasks.abilities import GivesVectors, no_vectors
from unspool.tasks.planner import open_plan
from unspool.tasks.task import as_array

AROUND = 5  # words to each side that are shown of an occurrence


class Occurrence(NamedTuple):
    """A word of the corpus, where it stands, and how near its vector is (cosine)."""

    word: str
    similarity: float
    line: int
    context: str


class NearestOccurrences(NamedTuple):
    """The occurrences nearest to a word of a text."""

    text: str
    word: str
    found: list[Occurrence]

    def to_json(self) -> dict[str, Any]:
        near = [occurrence._asdict() for occurrence in self.found]
        return {"text": self.text, "word": self.word, "neighbours": near}

    def lines(self) -> list[str]:
        width = max((len(o.word) for o in self.found), default=0)
        return [
            f"{self.word!r} in {self.text!r}",
            *(
                f"  {o.similarity:.4f}  {o.word:<{width}}  line {o.line}: {o.context}"
                for o in self.found
            ),
        ]


class _Query(NamedTuple):
    """One query: the vector to be near to, and the nearest so far, by word and context, so that
    what stands twice in a corpus counts once."""

    text: str
    word: str
    vector: np.ndarray  # (2P,) of length 1
    best: dict[tuple[str, str], Occurrence]

    def floor(self, top: int) -> float:
        """Similarity that a new occurrence must exceed."""
        return min(o.similarity for o in self.best.values()) if len(self.best) == top else -np.inf

    def add(self, occurrence: Occurrence) -> None:
        known = self.best.get((occurrence.word, occurrence.context))
        if known is None or occurrence.similarity > known.similarity:
            self.best[occurrence.word, occurrence.context] = occurrence

    def keep(self, top: int) -> None:
        """Only the `top` nearest, nearest first."""
        order = sorted(self.best.items(), key=lambda item: -item[1].similarity)[:top]
        self.best.clear()
        self.best.update(order)


def nearest_occurrences(
    task: Task,
    model: nn.Module,
    texts: Sequence[str],
    word: str,
    data: str | Path,
    *,
    top: int = 10,
    layer: int | None = None,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> list[NearestOccurrences]:
    """The words of a file whose vectors are nearest to that of `word` in each text.

    layer    0 (the word by itself) to L; None: the top layer, which knows most of the context
    reading  overrides how the file is read: text=, format=, ...
    """
    if not isinstance(task, GivesVectors):
        raise no_vectors(task)
    settings = reading_changed(task.config, reading).data
    plan = open_plan(data, settings, task.name)
    if note is not None:
        note(plan.summary)
    corpus, _ = encode_table(plan, task.fields, progress)
    layer = task.config.model.layers if layer is None else layer
    if not 0 <= layer <= task.config.model.layers:
        raise ConfigError(
            f"the model has layers from 0 to {task.config.model.layers}",
            got=f"layer {layer}",
            remedy="give one of these, or none",
        )
    queries = []
    for text, read in zip(texts, task.vectors(model, texts)):
        vector = read.layers[layer, _find(read.words, word, text)]
        queries.append(_Query(text, word, vector / np.linalg.norm(vector), {}))
    length = task.config.data.max_length
    pieces = corpus.in_pieces(task.input, length)[task.input]
    for batch, layers in task.read(model, corpus, length=length):
        vectors = layers[layer]  # (B, T, 2P)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
        inside = np.arange(vectors.shape[1]) < as_array(batch[task.input].lengths)[:, None]
        for query in queries:
            near = vectors @ query.vector  # (B, T)
            for i, t in zip(*np.nonzero(inside & (near > query.floor(top)))):
                row = batch.rows[i]
                position = int(pieces.starts[row] + t)
                document = int(pieces.origin[row])
                query.add(_occurrence(corpus, task.input, document, position, float(near[i, t])))
            query.keep(top)
    return [NearestOccurrences(q.text, q.word, list(q.best.values())) for q in queries]


def _find(words: list[str], word: str, text: str) -> int:
    if word in words:
        return words.index(word)
    near = nearest(word, words)
    raise ConfigError(
        "the text has no such word",
        where=repr(text),
        got=word,
        remedy=f"did you mean {near!r}?" if near else f"its words are {', '.join(words)}",
    )


def _occurrence(
    corpus: Part, field: str, document: int, position: int, similarity: float
) -> Occurrence:
    tokens = corpus[field]
    words = [tokens.types[i] for i in tokens.words(document)]
    around = words[max(0, position - AROUND) : position + AROUND + 1]
    return Occurrence(words[position], similarity, int(corpus.lines[document]), " ".join(around))
