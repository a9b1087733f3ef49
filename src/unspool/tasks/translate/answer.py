"""From texts to their translations: tokens in, a search (`search/`), readable text out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.text import TextField
from unspool.data.part import Part
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.search import Hypothesis
from unspool.search.batched import BatchedSearch
from unspool.search.decoding import Decoding
from unspool.tasks.answer import Answer, empty, one_line
from unspool.text.tokenizers import SubwordTokenizer, WordTokenizer
from unspool.text.vocab import BEGIN_ID, END, PAD_ID, UNK_ID
from unspool.text.words import join


class Candidate(NamedTuple):
    """One translation of a search; `score` is the log probability over the length penalty."""

    translation: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class Translation(Answer):
    """The best translation of a text, and the others that were asked for.

    alignment   (tokens, source_tokens): where each token looked; None where nothing looks, or
                nobody asked
    cut         the text was longer than the model reads
    """

    plural: ClassVar[str] = "translations"

    text: str
    translation: str
    score: float
    nbest: list[Candidate]
    source_tokens: list[str]
    tokens: list[str]
    alignment: np.ndarray | None = None
    cut: bool = False

    def __str__(self) -> str:
        return one_line(self.translation)

    def lines(self, number: int) -> list[str]:
        """The translation; of several, a line each with number, score and text."""
        if len(self.nbest) == 1:
            return [str(self)]
        return ["\t".join(map(str, row[:3])) for row in self.rows(number)]

    def header(self) -> list[str]:
        return ["number", "score", "translation", "text"]

    def rows(self, number: int) -> list[list[Any]]:
        return [
            [number, f"{each.score:.4f}", one_line(each.translation), self.text]
            for each in self.nbest
        ]

    @property
    def warning(self) -> str | None:
        return "longer than the model reads, and cut" if self.cut else empty(self.text)

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "text": self.text,
            "translation": self.translation,
            "score": self.score,
            "nbest": [candidate._asdict() for candidate in self.nbest],
            "source_tokens": self.source_tokens,
            "tokens": self.tokens,
        }
        if self.alignment is not None:
            found["alignment"] = np.round(self.alignment.astype(float), 4).tolist()
        return found


class Translator:
    """A model as it is now, with the fields of both sides.

    aligns      whether its decoder looks at the source
    most        tokens that it can write at all; None: no limit
    """

    def __init__(
        self,
        model: Seq2Seq,
        source: TextField,
        target: TextField,
        *,
        aligns: bool,
        most: int | None = None,
    ) -> None:
        self.searcher, self.most = BatchedSearch(model), most
        self.field, self.aligns = source, aligns
        self.source, self.target = source.fitted, target.fitted

    def __call__(self, texts: Sequence[str], decoding: Decoding) -> list[Translation]:
        """In the order of the texts; batching changes no answer, except of sampling."""
        numbers = [i for i, text in enumerate(texts) if text.strip()]
        found = {
            i: Translation(text, "", 0.0, [Candidate("", 0.0, 0.0)], [END], [])
            for i, text in enumerate(texts)
            if not text.strip()
        }
        if numbers:
            name = self.field.name
            part = Part.of({name: self.field}, **{name: [texts[i] for i in numbers]})
            tokens = part[name]
            for row, hypotheses in self.search(part, decoding):
                i, cut = numbers[row], tokens.is_shortened(row)
                ids = tokens[row].tolist()
                found[i] = self._present(texts[i], ids, hypotheses, decoding, cut=cut)
        return [found[i] for i in range(len(texts))]

    def search(self, part: Part, decoding: Decoding) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Of each source, in some order: its row, and what was found, best first."""
        unknown, framing = self._copies(decoding) or decoding.keep_unknown, self.field.frame.size
        return self.searcher(
            part,
            self.field.name,
            decoding,
            forbidden=(PAD_ID, BEGIN_ID) if unknown else (PAD_ID, BEGIN_ID, UNK_ID),
            aligned=self.aligns and (decoding.alignment or self._copies(decoding)),
            limit=lambda tokens: decoding.limit(tokens - framing, most=self.most),
            generator=torch.Generator().manual_seed(decoding.seed),
        )

    def _copies(self, decoding: Decoding) -> bool:
        """Whether unknown words are to be replaced by those of the source they look at."""
        unknowns = not isinstance(self.target, SubwordTokenizer)
        return self.aligns and unknowns and not decoding.keep_unknown

    def _present(
        self,
        text: str,
        ids: list[int],
        hypotheses: list[Hypothesis],
        decoding: Decoding,
        *,
        cut: bool,
    ) -> Translation:
        pieces = self.source.pieces(text)
        spelt = [self._spell(h, pieces, decoding) for h in hypotheses]
        best = hypotheses[0]
        seen = None
        if decoding.alignment and best.alignment is not None:
            seen = best.alignment[:, : len(ids)].float().cpu().numpy()
        return Translation(
            text,
            spelt[0],
            best.score,
            [Candidate(t, h.score, h.log_probability) for t, h in zip(spelt, hypotheses)],
            self.source.shown(ids),
            self.target.shown(best.tokens),
            seen,
            cut,
        )

    def _spell(self, found: Hypothesis, pieces: list[str], decoding: Decoding) -> str:
        """The text of a hypothesis; where a word is unknown, the word of the source it looks at."""
        if UNK_ID not in found.tokens or found.alignment is None or not self._copies(decoding):
            return self.target.decode(found.tokens)
        looks = strongest(found.alignment, len(pieces))
        words = [
            pieces[looks[t]] if token == UNK_ID else self.target.vocab[token]
            for t, token in enumerate(found.tokens)
        ]
        if isinstance(self.target, WordTokenizer):
            return join(words, split=self.target.split)
        return "".join(words)


def strongest(alignment: Tensor, length: int) -> list[int]:
    """Of each token the position in the source, its end left out, with the largest weight."""
    return alignment[:, :length].argmax(1).tolist()
