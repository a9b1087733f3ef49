"""The answer of a language model that reads along: how expected each token was, and what is
expected next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from unspool.tasks.answer import Answer, one_line
from unspool.text.tokenizers import Tokenizer

TOP = 5


@dataclass(frozen=True)
class NextTokens(Answer):
    """Some tokens and the one that comes after them, with their probabilities.

    tokens   that came
    nats     -ln p of each, given all before it; None of the first of all
    next     the most probable tokens after them, with their probabilities
    """

    plural: ClassVar[str] = "chunks"

    text: str
    tokens: list[str]
    nats: list[float | None]
    next: dict[str, float]

    @property
    def loss(self) -> float | None:
        """The mean in nats; None where there is none."""
        known = [x for x in self.nats if x is not None]
        return sum(known) / len(known) if known else None

    def __str__(self) -> str:
        loss = "" if self.loss is None else f"{self.loss:.4f}"
        following = ", ".join(f"{token!r} {p:.3f}" for token, p in self.next.items())
        return f"{loss}\t{following}\t{one_line(self.text)}"

    def header(self) -> list[str]:
        return ["number", "token", "loss", "text"]

    def rows(self, number: int) -> list[list[Any]]:
        both = zip(self.tokens, self.nats)
        return [[number, t, "" if x is None else f"{x:.6f}", self.text] for t, x in both]

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "tokens": self.tokens,
            "nats": self.nats,
            "loss": self.loss,
            "next": self.next,
        }


def next_tokens(text: str, ids: Tensor, logs: Tensor, tokenizer: Tokenizer) -> NextTokens:
    """From token ids (T,) and log-probabilities (T + 1, V) or, of a text that begins with them,
    (T, V)."""
    first = len(ids) + 1 - len(logs)  # 1 where nothing came before
    losses: list[float | None] = [None] * first
    if len(ids) > first:
        losses += (-logs[:-1].gather(1, ids[first:, None])[:, 0]).tolist()
    best = logs[-1].exp().topk(min(TOP, logs.shape[1]))
    pairs = zip(tokenizer.shown(best.indices.tolist()), best.values.tolist())
    return NextTokens(text, tokenizer.shown(ids.tolist()), losses, dict(pairs))
