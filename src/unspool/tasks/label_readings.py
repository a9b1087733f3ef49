"""Readings of tasks that answer with labels, of a whole text or of each of its words, or with
numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.number import NumberField
from unspool.nn.crf import CRF, FORBIDDEN, LogPartition
from unspool.nn.models.tagger import Tagger
from unspool.tasks.reading import (
    AnswerText,
    Reading,
    longest,
    longest_token,
    marked,
    named,
    names_before,
    nothing,
    shown,
    token_batch,
    unknown,
)
from unspool.tasks.tag.text import tagged_line
from unspool.text.tokenizers import WordTokenizer
from unspool.text.vocab import UNK, UNK_ID
from unspool.text.words import solid, token_spans

if TYPE_CHECKING:
    from unspool.tasks.task import Task


class DocumentReading(Reading):
    """One step, the whole text; `before` are the names of vectors that stand before its tokens."""

    before: list[str]

    def __init__(
        self,
        task: Task,
        model: Any,
        text: str,
        ids: np.ndarray | None = None,
        pieces: list[str] | None = None,
    ) -> None:
        tokenizer, names = task.tokenizer, None
        if ids is None:
            ids = task.part(**{task.input: [text]})[task.input][0]
            own = tokenizer.pieces(text) or [""]
            if task.config.embedding.contextual is not None:  # which reads their characters
                pieces = own
            else:
                names = named(tokenizer, ids.tolist(), own, first=len(tokenizer.frame.before))
        self.task, self.model, self.ids = task, model, ids[: longest(model)]
        self.pieces = None if pieces is None else pieces[: len(self.ids)]
        self.before = names_before(model.encoder)
        names = names or self.pieces or shown(tokenizer, self.ids.tolist())
        super().__init__(text, [*self.before, *names[: len(self.ids)]], len(ids) + len(self.before))

    @property
    def asked(self) -> Sequence[str]:
        return [""]

    def together(self, readings: Sequence[DocumentReading]) -> Tensor:
        pieces = None if self.pieces is None else [each.pieces or [] for each in readings]
        field = self.task.fields[self.task.input]
        batch = token_batch(field, [each.ids for each in readings], pieces)
        return self.model(*batch.inputs)[:, None]

    def removable(self, step: int) -> list[int]:
        """The tokens of the text itself, as long as one is left."""
        frame = self.task.tokenizer.frame
        first, last = len(frame.before), len(self.ids) - len(frame.after)
        own = range(len(self.before) + first, len(self.before) + last)
        return list(own) if len(own) > 1 else []

    def moved(self, step: int, token: int) -> int:
        return step

    def without(self, token: int) -> Self:
        at = token - len(self.before)
        pieces = self.pieces and self.pieces[:at] + self.pieces[at + 1 :]
        return type(self)(self.task, self.model, self.text, np.delete(self.ids, at), pieces)

    def blank(self) -> Self:
        frame = self.task.tokenizer.frame
        ids = np.full_like(self.ids, unknown(self.task.tokenizer))
        ids = frame.around(ids[frame.size :]) if frame.size else ids
        pieces = self.pieces and [""] * len(self.pieces)
        return type(self)(self.task, self.model, self.text, ids, pieces)


class ClassifyReading(DocumentReading):
    """A label for the text. Scores are divided by the temperature of the run, so that values are
    the probabilities that `predict` gives."""

    def together(self, readings: Sequence[DocumentReading]) -> Tensor:
        task: Any = self.task
        return super().together(readings) / task.decision.temperature

    def chosen(self, scores: Tensor) -> list[int]:
        return [int(scores[0].argmax())]

    def name(self, answer: int) -> str:
        return self.task.labels[answer]


class MultilabelReading(ClassifyReading):
    """Labels for the text, each by itself; reasons are given for the score of one of them, which is
    its log odds."""

    def values(self, scores: Tensor) -> Tensor:
        return scores.float().sigmoid()

    def best(self, values: Tensor, answer: int) -> int:
        return answer

    def given(self, values: Tensor) -> list[int]:
        task: Any = self.task
        return task.decision.chosen(values.double().cpu().numpy())

    def answer_text(self, scores: Tensor) -> AnswerText:
        values = self.values(scores)[0]
        given = self.given(values)
        figures = ", ".join(f"{float(values[own]):.4f}" for own in given)
        names = ", ".join(map(self.name, given))
        return AnswerText(names, f"probability {figures}") if given else AnswerText("", "no label")

    def explained(self, scores: Tensor, step: int, answer: int) -> Tensor:
        return scores[:, step, answer].double()


class RegressReading(DocumentReading):
    """A number for the text, or several; reasons are given for the number itself."""

    measure = "number"
    least = -math.inf

    @property
    def field(self) -> NumberField:
        field = next(each for each in self.task.fields.values() if each.is_target)
        assert isinstance(field, NumberField)
        return field

    def chosen(self, scores: Tensor) -> list[int]:
        return [0]

    def name(self, answer: int) -> str:
        return self.field.names[answer]

    def values(self, scores: Tensor) -> Tensor:
        """In the units of the file."""
        return torch.from_numpy(self.field.restore(scores.double().cpu().numpy()))

    def best(self, values: Tensor, answer: int) -> int:
        return answer

    def answer_text(self, scores: Tensor) -> AnswerText:
        values = self.values(scores)[0].tolist()
        return AnswerText(", ".join(f"{self.name(i)} {own:.6g}" for i, own in enumerate(values)))

    def explained(self, scores: Tensor, step: int, answer: int) -> Tensor:
        """In standard deviations, so that one precision fits all numbers."""
        return scores[:, step, answer].double()

    def unit(self, answer: int) -> float:
        return float(self.field.std[answer])


class TagReading(Reading):
    """A step for each word, and a tag for it."""

    def __init__(self, task: Task, model: Any, text: str | Sequence[str]) -> None:
        if isinstance(text, str):
            assert isinstance(task.tokenizer, WordTokenizer)
            words = [word.token for word in token_spans(text, split=task.tokenizer.split)]
        else:
            words = list(text)
        if not words:
            raise nothing()
        self.task, self.model = task, model
        self.words = [solid(word) for word in words][: longest(model)]
        given = text if isinstance(text, str) else " ".join(text)
        ids = task.fields[task.input].encode([self.words])[0].tolist()
        spelled = task.config.embedding.contextual is not None
        names = [marked(w) if i == UNK_ID and not spelled else w for w, i in zip(self.words, ids)]
        super().__init__(given, names, len(words))

    def default_step(self) -> int:
        """The first word with a tag other than O, or where no tag is called so, other than the most
        frequent one; without any the longest."""
        with torch.no_grad():
            tags = [self.name(tag) for tag in self.chosen(self.run()[0])]
        common = "O" if "O" in self.task.labels else max(tags, key=tags.count)
        return next(
            (at for at, tag in enumerate(tags) if tag != common), longest_token(self.tokens)
        )

    def together(self, readings: Sequence[TagReading]) -> Tensor:
        field = self.task.fields[self.task.input]
        values = field.encode([each.words for each in readings])
        return self.model(*field.collate(values, np.arange(len(readings))).inputs)

    def chosen(self, scores: Tensor) -> list[int]:
        assert isinstance(self.model, Tagger)
        return self.model.output.best(scores[None], torch.tensor([len(scores)]))[0].tolist()

    def values(self, scores: Tensor) -> Tensor:
        """The marginals of a CRF, p(y_t = c | x): the slope of log Z in the score of c at t."""
        output = self.model.output
        if not isinstance(output, CRF):
            return super().values(scores)
        with torch.enable_grad():
            x = scores.detach().clone().double()[None].requires_grad_()
            total = LogPartition.apply(x, torch.tensor([len(scores)]), *output.chain())
            return torch.autograd.grad(total.sum(), x)[0][0]

    def explained(self, scores: Tensor, step: int, answer: int) -> Tensor:
        """The log odds of a tag in a CRF: log Z with it there, less log Z of all others."""
        output = self.model.output
        if not isinstance(output, CRF):
            return super().explained(scores, step, answer)
        lengths = torch.full((len(scores),), scores.shape[1])
        there = torch.zeros(scores.shape[1:], dtype=torch.bool)
        there[step] = True
        other = there.clone()
        other[:, answer] = False
        there &= ~other  # True at one step and one tag
        with_it, without = (
            LogPartition.apply(
                scores.double().masked_fill(mask, FORBIDDEN), lengths, *output.chain()
            )
            for mask in (other, there)
        )
        return with_it - without

    def name(self, answer: int) -> str:
        return self.task.labels[answer]

    def answer_text(self, scores: Tensor) -> AnswerText:
        task: Any = self.task
        tags = np.array(self.chosen(scores))
        return AnswerText(tagged_line(self.words, tags, task.labels, task.marks))

    def without(self, token: int) -> TagReading:
        words = self.words[:token] + self.words[token + 1 :]
        return TagReading(self.task, self.model, words)

    def blank(self) -> TagReading:
        return TagReading(self.task, self.model, [UNK] * len(self.words))
