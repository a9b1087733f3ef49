"""A text that goes on and on, one token at a time, as a language model writes it.

In: a decoder with `start(batch) -> state` and `step(ids, state) -> (logits, state)`, and a prompt.
Out: a stream of tokens, without an end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from unspool.config.numbers import check_numbers
from unspool.errors import ConfigError
from unspool.search.logits import sample


class LanguageDecoder(Protocol):
    def start(self, batch: int) -> Any: ...
    def step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Sampling of the next token; temperature 0 takes the most probable (greedy)."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    forbidden: tuple[int, ...] = ()  # tokens that never come: padding, unknown

    def __post_init__(self) -> None:
        check_numbers(self)
        if not 0 <= self.temperature < math.inf:
            raise ConfigError(
                "temperature must be 0 (always the most probable token) or more",
                got=self.temperature,
            )
        if not 0 <= self.seed < 2**63:
            raise ConfigError("seed must be 0 or more, and below 2^63", got=self.seed)
        if self.top_k < 0:
            raise ConfigError("top-k must be 0 (off) or more", got=self.top_k)
        if not 0 < self.top_p <= 1:
            raise ConfigError("top-p must be above 0 and at most 1", got=self.top_p)

    def sample(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """(B, V) -> (B,)"""
        logits = logits.double()
        if self.forbidden:
            logits[:, list(self.forbidden)] = -torch.inf
        if self.temperature == 0:
            return logits.argmax(-1)
        return sample(
            logits,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            generator=generator,
        )


def stream(decoder: LanguageDecoder, prompt: Sequence[int], sampling: Sampling) -> Iterator[int]:
    """An endless stream of tokens that continue the prompt (at least one token long)."""
    generator = torch.Generator().manual_seed(sampling.seed)
    state = decoder.start(1)
    with torch.inference_mode():
        for token in prompt[:-1]:
            _, state = decoder.step(torch.tensor([token]), state)
        token = prompt[-1]
        while True:
            logits, state = decoder.step(torch.tensor([token]), state)
            token = int(sampling.sample(logits, generator))
            yield token
