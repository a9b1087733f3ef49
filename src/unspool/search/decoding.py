"""The options of decoding, and the search that they ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from unspool.config.numbers import check_numbers, refuse_too_large
from unspool.errors import ConfigError, Option
from unspool.search.beam import beam
from unspool.search.rules import Hypothesis, SearchRules, StepDecoder
from unspool.search.walk import greedy, sample

SCORES = 12  # bytes of a token that may come next: its score, log probability and rank
TOKEN = 16  # bytes of one that has come: itself and where it came from


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Beam search, unless one of temperature, top_k and top_p asks for sampling.

    beam             width of the beam; 1: greedy, always the most probable token
    nbest            how many sentences are given
    length_penalty   α of Wu et al. (2016): 0 prefers short sentences, more longer ones
    max_length       most tokens of a sentence; 0: twice the source and 10 more
    min_length       fewest tokens
    no_repeat_ngram  no n tokens in a row come twice; 0: they may
    temperature      of sampling: below 1 safer, above 1 more varied
    top_k, top_p     sample from the most probable tokens only: so many, or so much probability
    keep_unknown     show an unknown word as <unk>, not the source's word it is aligned with
    alignment        give the alignment, too
    int8             int8 products: faster, nearly the same; a Transformer with native kernels
    """

    beam: int = 5
    nbest: int = 1
    length_penalty: float = 1.0
    max_length: int = 0
    min_length: int = 0
    no_repeat_ngram: int = 0
    temperature: float | None = None
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    keep_unknown: bool = False
    alignment: bool = False
    int8: bool = False

    def __post_init__(self) -> None:
        check_numbers(self)
        positive = self.temperature is None or 0 < self.temperature < math.inf
        checks = [
            (self.beam >= 1, "beam must be 1 or more", self.beam),
            (self.nbest >= 1, "nbest must be 1 or more", self.nbest),
            (0 <= self.length_penalty < math.inf, "length penalty must be 0 (none) or more",
             self.length_penalty),
            (self.max_length >= 0, "max length must be 1 or more, or 0 for twice the source",
             self.max_length),
            (self.min_length >= 0, "min length must be 0 or more", self.min_length),
            (self.no_repeat_ngram >= 0, "no-repeat-ngram must be 0 (off) or more",
             self.no_repeat_ngram),
            (positive, "temperature must be above 0", self.temperature),
            (self.top_k >= 0, "top-k must be 0 (off) or more", self.top_k),
            (0 < self.top_p <= 1, "top-p must be above 0 and at most 1", self.top_p),
            (0 <= self.seed < 2**63, "seed must be 0 or more, and below 2^63", self.seed),
        ]  # fmt: skip
        for fine, what, got in checks:
            if not fine:
                raise ConfigError(what, got=got)
        if not self.sampling and self.nbest > self.beam:
            raise ConfigError(
                f"a beam of {self.beam} cannot give {self.nbest} sentences",
                remedy=("give ", Option("beam"), " as large as ", Option("nbest")),
            )
        if self.max_length and self.min_length > self.max_length:
            raise ConfigError(
                f"min length {self.min_length} is above max length {self.max_length}",
                remedy=("give a larger ", Option("max_length")),
            )

        self.refuse_too_many(1, max(self.max_length, self.min_length), 0)

    @property
    def width(self) -> int:
        """Hypotheses of a source side by side."""
        return self.nbest if self.sampling else self.beam

    def refuse_too_many(self, sources: int, length: int, vocabulary: int) -> None:
        """A ConfigError where hypotheses of so many tokens, with the scores of all tokens that may
        come next, take more than there is."""
        count = sources * self.width
        refuse_too_large(
            f"a search with {self.width:,} hypotheses side by side"
            + (f" of {length:,} tokens" if length else ""),
            count * (SCORES * vocabulary + TOKEN * length),
            remedy=("reduce ", Option("beam", "nbest", "max_length")),
        )

    @property
    def sampling(self) -> bool:
        return self.temperature is not None or self.top_k > 0 or self.top_p < 1

    def limit(self, source: int, *, most: int | None) -> int:
        """The most tokens for a source of so many, where the model can write `most` at all."""
        limit = self.max_length or max(2 * source + 10, self.min_length)
        return limit if most is None else max(self.min_length, min(limit, most))

    def search(
        self,
        decoder: StepDecoder,
        state: Any,
        first: Tensor,
        rules: SearchRules,
        generator: torch.Generator | None,
    ) -> list[list[Hypothesis]]:
        """The `nbest` hypotheses of each sentence, the highest score first."""
        if self.sampling:
            rows = torch.arange(len(first)).repeat_interleave(self.nbest)
            limits = tuple(rules.limit(int(row)) for row in rows)
            sampled = sample(
                decoder,
                decoder.select(state, rows),
                first[rows],
                replace(rules, max_length=limits),
                temperature=1.0 if self.temperature is None else self.temperature,
                top_k=self.top_k,
                top_p=self.top_p,
                generator=generator,
            )
            n = self.nbest
            groups = [sampled[i : i + n] for i in range(0, len(sampled), n)]
            return [sorted(group, key=lambda h: -h.score) for group in groups]
        if self.beam == 1:
            return [[hypothesis] for hypothesis in greedy(decoder, state, first, rules)]
        return beam(
            decoder,
            state,
            first,
            rules,
            width=self.beam,
            best=self.nbest,
            alpha=self.length_penalty,
        )


GREEDY = Decoding(beam=1)
