"""Captions by a search (`search/`) over what the decoder writes, and what `look` shows of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from unspool.data.fields.texts import TextsField
from unspool.data.part import Part
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.search import Hypothesis
from unspool.search.batched import BatchedSearch
from unspool.search.decoding import Decoding
from unspool.tasks.answer import Answer, one_line
from unspool.tasks.reading_answers import WrittenView
from unspool.tasks.reading_inputs import SeriesView
from unspool.tasks.translate.answer import Candidate
from unspool.text.vocab import BEGIN_ID, PAD_ID, UNK_ID

if TYPE_CHECKING:
    pass


class CaptionView(WrittenView):
    """At each step the next token of the best caption, after those before it.

    Over the pixels of an image: `task.input_field.source.shape.spread(row, width)` of a row of
    `alignment()`. How much less probable the caption becomes without a step (`Reading.without`)
    tells what that step was needed for.
    """

    def __init__(self, input: SeriesView) -> None:
        task = input.task
        tokenizer, part = task.target_tokenizer, Part.of(task.fields, **{task.input: [input.item]})
        ((_, hypotheses),) = task.captioner(input.model).search(part, Decoding(nbest=5))
        candidates = [
            Candidate(tokenizer.decode(h.tokens), h.score, h.log_probability) for h in hypotheses
        ]
        super().__init__(input, tokenizer, hypotheses[0].tokens, candidates=candidates)

    def alignment(self) -> np.ndarray | None:
        """(T + 1, S): where each token of the caption, and its end, looked; None where the decoder
        has no attention."""
        encoder, decoder = self.model.encoder, self.model.decoder
        with torch.inference_mode():
            state = decoder.start(encoder(*self.input.batch([self.input])), aligned=True)
            rows = []
            for token in self.decoder_input(1)[0]:
                _, state = decoder.step(token[None], state)
                rows.append(state.alignment)
        if rows[0] is None:
            return None
        return torch.cat(rows).double().cpu().numpy()


@dataclass(frozen=True)
class Caption(Answer):
    """The best caption of an item, and the others that were asked for.

    name        of what is described
    tokens      of the caption
    alignment   (tokens, steps): where each token looked; None where nothing looks, or nobody asked
    """

    plural: ClassVar[str] = "captions"
    repeats: ClassVar[str | None] = "name"

    name: str
    caption: str
    score: float
    nbest: list[Candidate]
    tokens: list[str]
    alignment: np.ndarray | None = None

    def __str__(self) -> str:
        return one_line(self.caption)

    def lines(self, number: int) -> list[str]:
        """The caption; of several, a line each with number, score and caption."""
        if len(self.nbest) == 1:
            return [str(self)]
        return ["\t".join(map(str, row[:3])) for row in self.rows(number)]

    def header(self) -> list[str]:
        return ["number", "score", "caption", "name"]

    def rows(self, number: int) -> list[list[Any]]:
        return [
            [number, f"{candidate.score:.4f}", one_line(candidate.translation), self.name]
            for candidate in self.nbest
        ]

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "name": self.name,
            "caption": self.caption,
            "score": self.score,
            "nbest": [
                {
                    "caption": candidate.translation,
                    "score": candidate.score,
                    "log_probability": candidate.log_probability,
                }
                for candidate in self.nbest
            ],
            "tokens": self.tokens,
        }
        if self.alignment is not None:
            values["alignment"] = np.round(self.alignment.astype(float), 4).tolist()
        return values


class Captioner:
    """A model as it is now, with the fields of both sides.

    aligns   whether its decoder looks at the steps of what is read
    """

    def __init__(self, model: Seq2Seq, read: str, captions: TextsField, *, aligns: bool) -> None:
        self.model, self.searcher = model, BatchedSearch(model)
        self.read, self.aligns = read, aligns
        self.tokenizer, self.longest = captions.fitted, captions.longest

    def __call__(self, part: Part, names: Sequence[str], decoding: Decoding) -> list[Caption]:
        """In the order of the rows; batching changes no answer, except of sampling."""
        captions: list[Any] = [None] * len(part)
        for row, hypotheses in self.search(part, decoding):
            captions[row] = self._present(names[row], hypotheses, decoding)
        return captions

    def search(self, part: Part, decoding: Decoding) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The hypotheses of each row, in some order, best first. A caption has at most twice as
        many tokens as the longest that was learnt from."""
        unknown = () if decoding.keep_unknown else (UNK_ID,)
        most = decoding.max_length or max(2 * self.longest, decoding.min_length)
        return self.searcher(
            part.only(self.read),
            self.read,
            decoding,
            forbidden=(PAD_ID, BEGIN_ID, *unknown),
            aligned=self.aligns and decoding.alignment,
            limit=lambda steps: most,
            generator=torch.Generator().manual_seed(decoding.seed),
        )

    def _present(self, name: str, hypotheses: list[Hypothesis], decoding: Decoding) -> Caption:
        best, seen = hypotheses[0], None
        if decoding.alignment and best.alignment is not None:
            seen = best.alignment.float().cpu().numpy()
        kept = [
            Candidate(
                self.tokenizer.decode(hypothesis.tokens),
                hypothesis.score,
                hypothesis.log_probability,
            )
            for hypothesis in hypotheses
        ]
        tokens = self.tokenizer.shown(best.tokens)
        return Caption(name, kept[0].translation, best.score, kept, tokens, seen)
