"""Rules of every search, unfinished sentences, and finished hypotheses.

All searches are written over one interface of a decoder:

    logits, state = decoder.step(ids, state)      # (B,) -> (B, V)
    state = decoder.select(state, rows)           # some rows of the batch, which may repeat

A state may have an `alignment` (B, S): of the latest step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from unspool.errors import RunError
from unspool.native.arrays import empty

LEAST = -1e9  # the log probability of an impossible end that is the only way out


class StepDecoder(Protocol):
    def step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]: ...
    def select(self, state: Any, rows: Tensor) -> Any: ...


class Hypothesis(NamedTuple):
    """A sentence without its end.

    log_probability  of its tokens and its end, as the model gives it, whatever the search did
    score            what a search ranks by: log_probability, for `beam` over the length penalty
    alignment        (tokens, S), or None where the decoder gives none
    """

    tokens: tuple[int, ...]
    score: float
    log_probability: float
    alignment: Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class SearchRules:
    """Constraints on every sentence.

    end              the token that ends a sentence; after max_length tokens it must come
    max_length       most tokens, the end not counted; or of each sentence the most
    min_length       fewest tokens, the end not counted
    no_repeat_ngram  no n tokens in a row come twice; 0: they may
    forbidden        tokens that never come, such as padding

    Where the rules leave nothing, the sentence ends.
    """

    end: int
    max_length: int | tuple[int, ...]
    min_length: int = 0
    no_repeat_ngram: int = 0
    forbidden: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        least = self.max_length if isinstance(self.max_length, int) else min(self.max_length)
        if least < 1:
            raise ValueError(f"max_length must be 1 or more; got {least}")
        if not 0 <= self.min_length <= least:
            raise ValueError(
                f"min_length must lie between 0 and max_length = {least}; got {self.min_length}"
            )
        if self.no_repeat_ngram < 0:
            raise ValueError(f"no_repeat_ngram must be 0 (off) or more; got {self.no_repeat_ngram}")
        if self.end in self.forbidden:
            raise ValueError(f"the end, token {self.end}, may not be forbidden")

    def limit(self, example: int) -> int:
        """The most tokens of a sentence."""
        return self.max_length if isinstance(self.max_length, int) else self.max_length[example]

    def apply(self, log_p: Tensor, sentences: Sequence[Sentence]) -> Tensor:
        """log_p (R, V), changed in place: -inf for what may not follow each of R sentences, which
        have the same length."""
        steps = len(sentences[0].tokens)
        end = log_p[:, self.end].clamp(min=LEAST)
        if self.forbidden:
            log_p[:, list(self.forbidden)] = -torch.inf
        full = [row for row, s in enumerate(sentences) if steps >= self.limit(s.example)]
        if full:
            log_p[full] = -torch.inf
        if steps < self.min_length:
            log_p[:, self.end] = -torch.inf
        if self.no_repeat_ngram:
            for row, sentence in enumerate(sentences):
                log_p[row, repeats(sentence.tokens, self.no_repeat_ngram)] = -torch.inf
        if full or self.no_repeat_ngram or log_p.shape[-1] <= len(self.forbidden) + 1:
            stuck = log_p.amax(-1) == -torch.inf
            log_p[stuck, self.end] = end[stuck]
        return log_p


def repeats(tokens: tuple[int, ...], n: int) -> list[int]:
    """The tokens that would make an n-gram that `tokens` already has."""
    begun = tokens[len(tokens) - n + 1 :]  # the n - 1 latest
    return [tokens[i + n - 1] for i in range(len(tokens) - n + 1) if tokens[i : i + n - 1] == begun]


class Sentence(NamedTuple):
    """One that has not ended: which example of the batch it is for, and how it began."""

    example: int
    tokens: tuple[int, ...] = ()
    log_probability: float = 0.0
    alignment: tuple[Tensor, ...] = ()

    def longer(self, token: int, log_probability: float, seen: Tensor | None) -> Sentence:
        """With one more token, the log probability of all, and what the step looked at."""
        alignment = self.alignment if seen is None else (*self.alignment, seen)
        return Sentence(self.example, (*self.tokens, token), log_probability, alignment)

    def end(self, log_probability: float, *, penalty: float = 1.0) -> Hypothesis:
        alignment = torch.stack(self.alignment) if self.alignment else None
        return Hypothesis(self.tokens, log_probability / penalty, log_probability, alignment)


def step(
    decoder: StepDecoder, ids: Tensor, state: Any, rules: SearchRules, live: Sequence[Sentence]
) -> tuple[Tensor, Any]:
    """Log probabilities (R, V), in single precision at least, of what the rules allow."""
    logits, state = decoder.step(ids, state)
    # A decoder that copies gives log probabilities.
    log_p = logits if getattr(decoder, "copying", False) else log_softmax(logits)
    if log_p[:, 0].isnan().any():  # one NaN makes the whole row NaN
        raise RunError(
            "the decoder gave scores that are not numbers (NaN or infinite)",
            remedy="copy the run folder again, or train again with a smaller lr",
        )
    return rules.apply(log_p, live), state


def log_softmax(logits: Tensor) -> Tensor:
    """Over the tokens, in single precision at least."""
    number = torch.promote_types(logits.dtype, torch.float)
    if logits.device.type != "cpu":
        return logits.log_softmax(-1, dtype=number)
    # Each step wants a large array of the same size again.
    return torch.log_softmax(logits, -1, dtype=number, out=empty(*logits.shape, dtype=number))


def seen(state: Any, rows: int) -> Sequence[Tensor | None]:
    """Attention of the latest step of each row, (S,)."""
    alignment = getattr(state, "alignment", None)
    return [None] * rows if alignment is None else alignment.unbind()


def select(decoder: StepDecoder, state: Any, rows: list[int], size: int) -> Any:
    """The state of `rows` out of `size`; untouched where these are all, or none is left."""
    same = not rows or rows == list(range(size))
    return state if same else decoder.select(state, torch.tensor(rows))


def check_first(first: Tensor) -> None:
    if first.dim() != 1 or first.is_floating_point():
        raise ValueError(f"first must be integers (batch,), one a sentence; got {first.tolist()}")
