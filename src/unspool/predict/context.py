"""Words in their context as vectors: texts in, a vector for each of their words out; and what is
near to one of them in a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch

from unspool.data.batching import Documents
from unspool.data.parts import TextPart
from unspool.data.pieces import PiecesPart
from unspool.errors import ConfigError, nearest
from unspool.nn.models.elmo import ElmoModel
from unspool.tasks.elmo import ElmoTask
from unspool.tasks.task import walk

CHUNK = 1024  # texts held at once
AROUND = 5  # words to each side that are shown of an occurrence


class WordsInContext(NamedTuple):
    """The words of a text, and what each layer of the model makes of them."""

    words: list[str]
    layers: np.ndarray  # (1 + L, T, 2P); layer 0 does not look around

    def vectors(self, layer: int | None = None) -> np.ndarray:
        """(T, 2P): of one layer, or the mean of all."""
        return self.layers.mean(0) if layer is None else self.layers[layer]


class Occurrence(NamedTuple):
    """A word of the corpus, where it stands, and how near its vector is (cosine)."""

    word: str
    similarity: float
    line: int
    context: str


class NearInContext(NamedTuple):
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


def in_context(task: ElmoTask, model: ElmoModel, texts: Iterable[str]) -> Iterator[WordsInContext]:
    """Each text is read by itself and as a whole, so company and order change nothing."""
    stream = iter(texts)
    while chunk := list(islice(stream, CHUNK)):
        words = [task.tokenizer.pieces(text) or [""] for text in chunk]
        part = TextPart([np.zeros(len(each), dtype=np.int64) for each in words], words)
        found: list[Any] = [None] * len(part)
        for batch, layers in _read(task, model, part, length=0):
            for i, row in enumerate(batch.rows.tolist()):
                found[row] = WordsInContext(words[row], layers[:, i, : len(words[row])])
        yield from found


class _Asked(NamedTuple):
    """One question: the vector to be near to, and the nearest so far, by word and company, so that
    what stands twice in a corpus counts once."""

    text: str
    word: str
    vector: np.ndarray  # (2P,) of length 1
    best: dict[tuple[str, str], Occurrence]

    def floor(self, top: int) -> float:
        """What a new occurrence must be above."""
        return min(o.similarity for o in self.best.values()) if len(self.best) == top else -np.inf

    def add(self, found: Occurrence) -> None:
        known = self.best.get((found.word, found.context))
        if known is None or found.similarity > known.similarity:
            self.best[found.word, found.context] = found

    def keep(self, top: int) -> None:
        """Only the `top` nearest, nearest first."""
        order = sorted(self.best.items(), key=lambda item: -item[1].similarity)[:top]
        self.best.clear()
        self.best.update(order)


def near_in_context(
    task: ElmoTask,
    model: ElmoModel,
    texts: Sequence[str],
    word: str,
    corpus: Any,
    *,
    top: int = 10,
    layer: int | None = None,
) -> list[NearInContext]:
    """The words of a part of a corpus whose vectors are nearest to that of `word` in each text.

    layer   0 (the word by itself) to L; None: the top layer, which knows most of the context
    """
    layer = task.config.model.layers if layer is None else layer
    if not 0 <= layer <= task.config.model.layers:
        raise ConfigError(
            f"the model has layers from 0 to {task.config.model.layers}",
            got=f"layer {layer}",
            remedy="give one of these, or none",
        )
    asked = []
    for text, read in zip(texts, in_context(task, model, texts)):
        vector = read.layers[layer, _find(read.words, word, text)]
        asked.append(_Asked(text, word, vector / np.linalg.norm(vector), {}))
    length = task.config.data.max_length
    pieces = PiecesPart(corpus, length)
    for batch, layers in _read(task, model, corpus, length=length):
        vectors = layers[layer]  # (B, T, 2P)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
        inside = np.arange(vectors.shape[1]) < batch.lengths.numpy()[:, None]
        for question in asked:
            near = vectors @ question.vector  # (B, T)
            for i, t in zip(*np.nonzero(inside & (near > question.floor(top)))):
                row = batch.rows[i]
                place = int(pieces.starts[row] + t)
                document = int(pieces.documents[row])
                question.add(_occurrence(corpus, document, place, float(near[i, t])))
            question.keep(top)
    return [NearInContext(q.text, q.word, list(q.best.values())) for q in asked]


@torch.inference_mode()
def _read(
    task: ElmoTask, model: ElmoModel, part: Documents, *, length: int
) -> Iterator[tuple[Any, np.ndarray]]:
    """Each batch, and (1 + L, B, T, 2P) of its words."""
    for batch in walk(task.batches(part, training=False, length=length)):
        assert batch.words is not None
        yield batch, torch.stack(model.encoder.vectors(*batch.words)).numpy()


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


def _occurrence(corpus: Any, document: int, place: int, similarity: float) -> Occurrence:
    words = [corpus.types[i] for i in corpus.words(document)]
    around = words[max(0, place - AROUND) : place + AROUND + 1]
    return Occurrence(words[place], similarity, int(corpus.lines[document]), " ".join(around))
