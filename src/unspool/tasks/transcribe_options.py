"""The options of finding texts in what a transcriber gives for its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unspool.config.numbers import check_numbers
from unspool.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Transcribing:
    """How texts are found.

    beam        width of the search over prefixes; 1: the text of the most probable path
    nbest       how many texts are given
    lm          a language model: a loaded run of `generate`
    lm_weight   of its log probability
    bonus       for each token, against the short texts that a language model prefers
    """

    beam: int = 10
    nbest: int = 1
    lm: Any = None
    lm_weight: float = 0.5
    bonus: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self)
        if not 1 <= self.beam <= 10_000:
            raise ConfigError("beam must be from 1 to 10,000", got=self.beam)
        if not 1 <= self.nbest <= self.beam:
            raise ConfigError(
                f"a beam of {self.beam} cannot give {self.nbest} texts",
                remedy="give --beam as large as --nbest",
            )

    @property
    def greedy(self) -> bool:
        return self.beam == 1 and self.lm is None and not self.bonus

    @property
    def described(self) -> str:
        if self.greedy:
            return "greedy"
        found = f"prefix beam search of width {self.beam}"
        if self.lm is not None:
            found += f", language model {getattr(self.lm, 'path', '')} with weight"
            found += f" {self.lm_weight:g}"
        return found + (f", bonus {self.bonus:g} a token" if self.bonus else "")


GREEDY = Transcribing(beam=1)
