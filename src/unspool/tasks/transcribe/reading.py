"""Views of a recording and its transcript: tokens and blanks of CTC, or text by a decoder."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor

from unspool.nn.ctc import BLANK, align
from unspool.nn.reduction import StackedFrames
from unspool.search.ctc import greedy_ctc
from unspool.tasks.reading import AnswerText, AnswerView, StepLattice
from unspool.tasks.reading_answers import WrittenView
from unspool.tasks.reading_inputs import SeriesView, strides
from unspool.tasks.transcribe.answer import GREEDY, Transcript
from unspool.tasks.transcribe.attention import AttentionSearch
from unspool.tasks.transcribe.search import CtcSearch

SILENCE, SPACE = "∅", "␣"  # how a blank and a space are shown


class ReducedView(SeriesView):
    """A recording of which the network reads `stride` steps as one."""

    def __init__(self, task: Any, model: Any, item: Any) -> None:
        super().__init__(task, model, item)
        self.stride = int(model.stride)
        self.tokens = self.tokens[:: model.patch]
        self.full_length = -(-self.full_length // model.patch)
        if not isinstance(model.reduction, StackedFrames):
            self.elements = ()  # units of convolutions have no names

    @property
    def token_spans(self) -> list[tuple[int, int]]:
        return strides(len(self.vectors), self.stride)

    def without(self, token: int) -> Self:
        vectors = self.vectors.copy()
        vectors[token * self.stride : (token + 1) * self.stride] = self.mean()
        return self.changed(vectors=vectors)


class CtcView(AnswerView):
    """At each step that the network reads a token or a blank."""

    per_token = True

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(*batch).log_p

    def name(self, answer: int) -> str:
        if answer == BLANK:
            return SILENCE
        (token,) = self.task.target_tokenizer.shown([answer])
        return {" ": SPACE}.get(token, token)

    def default_step(self) -> int:
        """The first at which a token is written."""
        with torch.inference_mode():
            best = self.chosen(self.run()[0])
        return next((step for step, token in enumerate(best) if token != BLANK), len(best) - 1)

    def summary(self, scores: Tensor) -> AnswerText:
        best = self.transcript(scores)
        return AnswerText(best.text, f"confidence {best.confidence:.4f}" if best.text else "")

    def transcript(self, scores: Tensor, nbest: int = 1) -> Transcript:
        """The transcript from the log probabilities (P, V) of the steps."""
        search = CtcSearch(self.task.target_tokenizer, self.task.options(nbest=nbest))
        (hypotheses,) = search(scores[None].cpu(), torch.tensor([len(scores)]))
        return self.task.answered(self.input.item.name, hypotheses)

    def lattice(self, scores: Tensor | None = None) -> StepLattice:
        """The probabilities of tokens over time, and the text of the best path."""
        if scores is None:
            with torch.inference_mode():
                scores = self.run()[0]
        (ids,) = greedy_ctc(scores[None], torch.tensor([len(scores)]))
        return StepLattice(
            [self.name(i) for i in range(scores.shape[1])],
            scores.exp().double().cpu().numpy(),
            self.task.target_tokenizer.decode(ids),
            [(self.name(i), *steps) for i, steps in zip(ids, align(scores, ids))],
            self.task.input_field.source.duration * self.input.stride,
        )


class TranscriptView(WrittenView):
    """At each step the next token of the text that a greedy search finds, after those before it."""

    def __init__(self, input: ReducedView) -> None:
        model, tokenizer = input.model, input.task.target_tokenizer
        x, lengths = input.batch([input])
        with torch.inference_mode():
            search = AttentionSearch(model, tokenizer, GREEDY)
            (hypotheses,) = search(model.encode(x, lengths), model.steps(lengths))
        super().__init__(input, tokenizer, hypotheses.texts[0].ids)

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(*batch, self.decoder_input(len(batch[-1]))).logits
