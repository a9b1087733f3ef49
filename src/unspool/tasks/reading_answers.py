"""Views of the answers that several tasks give: labels, numbers, tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from unspool.data.fields.number import NumberField
from unspool.tasks.reading import AnswerText, AnswerView, longest_token
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN_ID, END, END_ID


def with_window_note(text: AnswerText, windows: int) -> AnswerText:
    """Say which of several windows the answer is for."""
    if windows == 1:
        return text
    note = f"window 1 of {windows:,}, of which a prediction is the mean"
    return text._replace(note=f"{text.note}; {note}" if text.note else note)


class LabelView(AnswerView):
    """A label for the whole input. Scores are divided by the temperature of the run, so that values
    are the probabilities that `predict` gives."""

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(*batch)[:, None] / self.task.decision.temperature

    def name(self, answer: int) -> str:
        return self.task.labels[answer]

    def summary(self, scores: Tensor) -> AnswerText:
        return with_window_note(super().summary(scores), self.input.windows)


class LabelsView(LabelView):
    """Labels for the whole input, each by itself."""

    independent = True

    def best_answer(self, values: Tensor, answer: int) -> int:
        return answer

    def accepted(self, values: Tensor) -> list[int]:
        return self.task.decision.chosen(values.double().cpu().numpy())

    def summary(self, scores: Tensor) -> AnswerText:
        values = self.values(scores)[0]
        labels = self.accepted(values)
        figures = ", ".join(f"{float(values[label]):.4f}" for label in labels)
        names = ", ".join(map(self.name, labels))
        text = AnswerText(names, f"probability {figures}" if labels else "no label")
        return with_window_note(text, self.input.windows)


class NumberView(AnswerView):
    """A number for the whole input, or several."""

    measure = "number"

    @property
    def field(self) -> NumberField:
        field = next(field for field in self.task.fields.values() if field.is_target)
        assert isinstance(field, NumberField)
        return field

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(*batch)[:, None]

    def chosen(self, scores: Tensor) -> list[int]:
        return [0]

    def name(self, answer: int) -> str:
        return self.field.names[answer]

    def values(self, scores: Tensor) -> Tensor:
        """In the units of the file; `explained` is in standard deviations."""
        return torch.from_numpy(self.field.restore(scores.double().cpu().numpy()))

    def summary(self, scores: Tensor) -> AnswerText:
        values = self.values(scores)[0].tolist()
        numbers = ", ".join(f"{self.name(i)} {value:.6g}" for i, value in enumerate(values))
        return with_window_note(AnswerText(numbers), self.input.windows)

    def unit(self, answer: int) -> float:
        return float(self.field.std[answer])


class NextTokenView(AnswerView):
    """At each step the token that follows; after the last one the most probable."""

    per_token = causal = True

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(batch[0]).logits

    def chosen(self, scores: Tensor) -> list[int]:
        return [*self.input.ids[1:].tolist(), int(scores[-1].argmax())]

    def name(self, answer: int) -> str:
        return self.task.tokenizer.shown([answer])[0] or " "

    def summary(self, scores: Tensor) -> AnswerText:
        """The token that follows the text."""
        value, answer = self.values(scores[-1:])[0].max(0)
        note = f"most probable next, probability {float(value):.4f}"
        return AnswerText(self.name(int(answer)), note)


class WrittenView(AnswerView):
    """At each step the next token of the text, after those before it.

    target      ids of the text
    tokenizer   of the text
    beyond      names of copied tokens that the tokenizer does not have
    """

    def __init__(
        self,
        input: Any,
        tokenizer: Tokenizer,
        target: Sequence[int],
        *,
        candidates: Sequence[Any] = (),
        beyond: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__(input)
        self.tokenizer, self.target, self.beyond = tokenizer, list(target), beyond or {}
        self.candidates = candidates
        self.tokens = [*map(self.name, self.target), END]

    @property
    def steps(self) -> Sequence[str]:
        return self.tokens

    def default_step(self) -> int:
        """The longest token that is written."""
        return longest_token(self.tokens)

    def decoder_input(self, rows: int) -> Tensor:
        """(rows, T) <s> and the text"""
        return torch.tensor([[BEGIN_ID, *self.target]] * rows)

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(*batch, self.decoder_input(len(batch[-1])))

    def chosen(self, scores: Tensor) -> list[int]:
        return [*self.target, END_ID]

    def name(self, answer: int) -> str:
        return self.beyond.get(answer) or self.tokenizer.shown([answer])[0] or " "

    def summary(self, scores: Tensor) -> AnswerText:
        if not self.candidates:
            return AnswerText(self.tokenizer.decode(self.target), f"{len(self.target)} tokens")
        best = self.candidates[0]
        return AnswerText(best.translation, f"log probability {best.log_probability:.4f}")
