"""Views of what a tagger reads and answers: words, or steps of a series, and a tag for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from unspool.nn.crf import CRF, FORBIDDEN, LogPartition
from unspool.nn.models.tagger import Tagger
from unspool.tasks.reading import (
    AnswerText,
    AnswerView,
    InputView,
    longest,
    longest_token,
    marked,
    nothing,
)
from unspool.tasks.reading_answers import with_window_note
from unspool.tasks.tag.series import TaggedSeries
from unspool.tasks.tag.text import tagged_line
from unspool.text.tokenizers import WordTokenizer
from unspool.text.vocab import UNK, UNK_ID
from unspool.text.words import solid, token_spans

STRETCHES = 12  # of an answer that are named


class WordsView(InputView):
    """The words of a sentence."""

    def __init__(self, task: Any, model: Any, text: str | Sequence[str]) -> None:
        words = text
        if isinstance(text, str):
            assert isinstance(task.tokenizer, WordTokenizer)
            words = [word.token for word in token_spans(text, split=task.tokenizer.split)]
        if not words:
            raise nothing()
        self.words = [solid(word) for word in words][: longest(model)]
        ids = task.input_field.encode([self.words])[0].tolist()
        spelled = task.config.embedding.contextual is not None
        names = [marked(w) if i == UNK_ID and not spelled else w for w, i in zip(self.words, ids)]
        shown = text if isinstance(text, str) else " ".join(text)
        super().__init__(task, model, shown, names, len(words))

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        field = self.task.input_field
        values = field.encode([view.words for view in inputs])
        return field.collate(values, np.arange(len(inputs))).inputs

    def without(self, token: int) -> Self:
        words = self.words[:token] + self.words[token + 1 :]
        return self.changed(words=words, tokens=self.tokens_without(token))

    def blank(self) -> Self:
        return self.changed(words=[UNK] * len(self.words))


class TagView(AnswerView):
    """A tag for each word."""

    per_token = True

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(*batch)

    def default_step(self) -> int:
        """The first word with a tag other than O, or where no tag is called so, other than the most
        frequent one; without any the longest."""
        with torch.no_grad():
            tags = [self.name(tag) for tag in self.chosen(self.run()[0])]
        common = "O" if "O" in self.task.labels else max(tags, key=tags.count)
        rare = (at for at, tag in enumerate(tags) if tag != common)
        return next(rare, longest_token(self.input.tokens))

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
        tag = torch.zeros(scores.shape[1:], dtype=torch.bool)
        tag[step, answer] = True
        rest = torch.zeros_like(tag)
        rest[step] = ~tag[step]
        with_it, without = (
            LogPartition.apply(
                scores.double().masked_fill(mask, FORBIDDEN), lengths, *output.chain()
            )
            for mask in (rest, tag)
        )
        return with_it - without

    def name(self, answer: int) -> str:
        return self.task.labels[answer]

    def summary(self, scores: Tensor) -> AnswerText:
        tags = np.array(self.chosen(scores))
        return AnswerText(tagged_line(self.input.words, tags, self.task.labels, self.task.marks))


class StepTagView(TagView):
    """A label for each step of a series."""

    def summary(self, scores: Tensor) -> AnswerText:
        labels = [self.name(tag) for tag in self.chosen(scores)]
        stretches = TaggedSeries("", self.input.tokens, labels, [1.0] * len(labels)).stretches
        names = ", ".join(f"{s.label} {s.first} to {s.last}" for s in stretches[:STRETCHES])
        text = AnswerText(names + ", ..." * (len(stretches) > STRETCHES))
        return with_window_note(text, self.input.windows)
