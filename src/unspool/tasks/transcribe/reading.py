"""What `look` shows of a transcript: tokens and blanks of CTC, or the attention of a decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from unspool.nn.ctc import BLANK, align
from unspool.nn.reduction import StackedFrames
from unspool.search.ctc import greedy_ctc
from unspool.tasks.reading import AnswerText, StepLattice
from unspool.tasks.series_readings import SeriesInput
from unspool.tasks.token_readings import WrittenReading
from unspool.tasks.transcribe.answer import GREEDY, Transcript
from unspool.tasks.transcribe.attention import AttentionSearch
from unspool.tasks.transcribe.search import CtcSearch

if TYPE_CHECKING:
    from unspool.tasks.task import Task

SILENCE, SPACE = "∅", "␣"  # how a blank and a space are shown


class ReducedInput(SeriesInput):
    """A recording of which a step that the network reads is `stride` of its own."""

    def __init__(
        self, task: Task, model: Any, item: Any, vectors: np.ndarray | None = None
    ) -> None:
        super().__init__(task, model, item, vectors)
        self.stride = int(model.stride)
        self.tokens = self.tokens[:: model.patch]
        self.whole = -(-self.whole // model.patch)
        if not isinstance(model.reduction, StackedFrames):
            self.elements = ()  # units of convolutions have no names


class TranscribeReading(ReducedInput):
    """At each step that the network reads a token or a blank."""

    def together(self, readings: Sequence[Any]) -> Tensor:
        found: Tensor = self.model(*self.batch(readings)).log_p
        return found

    def chosen(self, scores: Tensor) -> list[int]:
        return [int(best) for best in scores.argmax(-1)]

    def name(self, answer: int) -> str:
        if answer == BLANK:
            return SILENCE
        tokenizer: Any = self.task.target_tokenizer
        (found,) = tokenizer.shown([answer])
        return {" ": SPACE}.get(found, found)

    def default_step(self) -> int:
        """The first at which a token is written."""
        with torch.inference_mode():
            best = self.chosen(self.run()[0])
        return next((step for step, own in enumerate(best) if own != BLANK), len(best) - 1)

    @property
    def token_spans(self) -> list[tuple[int, int]]:
        end = len(self.vectors)
        return [(at, min(end, at + self.stride)) for at in range(0, end, self.stride)]

    def answer_text(self, scores: Tensor) -> AnswerText:
        found = self.transcript(scores)
        return AnswerText(found.text, f"confidence {found.confidence:.4f}" if found.text else "")

    def transcript(self, scores: Tensor, nbest: int = 1) -> Transcript:
        """The lattice of the part that is read, from the log probabilities (P, V) of its steps."""
        task: Any = self.task
        options = task.options(nbest=nbest)
        search = CtcSearch(task.target_tokenizer, options)
        (found,) = search(scores[None].cpu(), torch.tensor([len(scores)]))
        return task.answered(self.item.name, found)

    def lattice(self, scores: Tensor | None = None) -> StepLattice:
        """The probabilities of tokens over time, and the text of the best path."""
        if scores is None:
            with torch.inference_mode():
                scores = self.run()[0]
        (ids,) = greedy_ctc(scores[None], torch.tensor([len(scores)]))
        tokenizer: Any = self.task.target_tokenizer
        return StepLattice(
            [self.name(i) for i in range(scores.shape[1])],
            scores.exp().double().cpu().numpy(),
            tokenizer.decode(ids),
            [(self.name(i), *place) for i, place in zip(ids, align(scores, ids))],
            self.task.input_field.source.duration * self.stride,
        )

    def without(self, token: int) -> Self:
        vectors = self.vectors.copy()
        vectors[token * self.stride : (token + 1) * self.stride] = self.mean()
        return type(self)(self.task, self.model, self.item, vectors)


class AttentionReading(ReducedInput, WrittenReading):
    """At each step the next token of the text, after those before it; `target` are its ids, None:
    the text that a greedy search finds."""

    def __init__(
        self,
        task: Task,
        model: Any,
        item: Any,
        vectors: np.ndarray | None = None,
        target: list[int] | None = None,
    ) -> None:
        super().__init__(task, model, item, vectors)
        tokenizer: Any = task.target_tokenizer
        if target is None:
            x, lengths = self.batch([self])
            with torch.inference_mode():
                search = AttentionSearch(model, tokenizer, GREEDY)
                (found,) = search(model.encode(x, lengths), model.steps(lengths))
            target = found.texts[0].ids
        self.write(tokenizer, target)

    @property
    def token_spans(self) -> list[tuple[int, int]]:
        end = len(self.vectors)
        return [(at, min(end, at + self.stride)) for at in range(0, end, self.stride)]

    def together(self, readings: Sequence[Any]) -> Tensor:
        found: Tensor = self.model(*self.batch(readings), self.inputs(readings)).logits
        return found

    def without(self, token: int) -> Self:
        vectors = self.vectors.copy()
        vectors[token * self.stride : (token + 1) * self.stride] = self.mean()
        return type(self)(self.task, self.model, self.item, vectors, self.target)

    def blank(self) -> Self:
        vectors = np.tile(self.mean(), (len(self.vectors), 1))
        return type(self)(self.task, self.model, self.item, vectors, self.target)
