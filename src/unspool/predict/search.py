"""Reading a text out of a decoder, one token at a time.

A decoder is anything with `start(batch) -> state` and `step(ids, state) -> (logits, state)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from unspool.errors import ConfigError
from unspool.search.logits import keep_top_k, keep_top_p


class Decoder(Protocol):
    def start(self, batch: int) -> Any: ...
    def step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is drawn; temperature 0 takes the likeliest (greedy)."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    forbidden: tuple[int, ...] = ()  # tokens that never come: padding, unknown

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise ConfigError(
                "temperature must be 0 (always the likeliest token) or more", got=self.temperature
            )
        if not 0 <= self.seed < 2**63:
            raise ConfigError("seed must be 0 or more, and below 2^63", got=self.seed)
        if self.top_k < 0:
            raise ConfigError("top-k must be 0 (off) or more", got=self.top_k)
        if not 0 < self.top_p <= 1:
            raise ConfigError("top-p must be above 0 and at most 1", got=self.top_p)

    def draw(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """(B, V) -> (B,)"""
        logits = logits.double()
        if self.forbidden:
            logits[:, list(self.forbidden)] = -torch.inf
        if self.temperature == 0:
            return logits.argmax(-1)
        logits = keep_top_p(keep_top_k(logits / self.temperature, self.top_k), self.top_p)
        return torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]


def sample(decoder: Decoder, prompt: Sequence[int], sampling: Sampling) -> Iterator[int]:
    """An endless stream of tokens that continue the prompt (at least one token long)."""
    generator = torch.Generator().manual_seed(sampling.seed)
    state = decoder.start(1)
    with torch.inference_mode():
        for token in prompt[:-1]:
            _, state = decoder.step(torch.tensor([token]), state)
        token = prompt[-1]
        while True:
            logits, state = decoder.step(torch.tensor([token]), state)
            token = int(sampling.draw(logits, generator))
            yield token
