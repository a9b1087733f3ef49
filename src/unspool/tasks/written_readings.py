"""What readings have in common whose model writes a text, token by token, from what it has read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from unspool.tasks.reading import AnswerText, Reading, longest_token
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN_ID, END, END_ID


class WrittenReading(Reading):
    """At each step the next token of the text, after those before it.

    target      ids of the text
    tokenizer   of it
    beyond      names of tokens that were copied and that the tokenizer does not have
    """

    target: list[int]
    tokenizer: Tokenizer
    beyond: Mapping[int, str]

    def write(
        self, tokenizer: Tokenizer, target: list[int], beyond: Mapping[int, str] | None = None
    ) -> None:
        """The text whose tokens are asked about; `beyond` are names of tokens that the tokenizer
        does not have."""
        self.tokenizer, self.target, self.beyond = tokenizer, target, beyond or {}
        self.written = [*(self.name(token) for token in target), END]

    @property
    def asked(self) -> Sequence[str]:
        return self.written

    def default_step(self) -> int:
        """The longest token that is written."""
        return longest_token(self.written)

    def chosen(self, scores: Tensor) -> list[int]:
        return [*self.target, END_ID]

    def name(self, answer: int) -> str:
        return self.beyond.get(answer) or self.tokenizer.shown([answer])[0] or " "

    def answer_text(self, scores: Tensor) -> AnswerText:
        if not self.candidates:
            return AnswerText(self.tokenizer.decode(self.target), f"{len(self.target)} tokens")
        best = self.candidates[0]
        return AnswerText(best.translation, f"log probability {best.log_probability:.4f}")

    @staticmethod
    def inputs(readings: Sequence[WrittenReading]) -> Tensor:
        """(R, T) what the decoder reads: <s>, and the texts."""
        return torch.tensor([[BEGIN_ID, *each.target] for each in readings])
