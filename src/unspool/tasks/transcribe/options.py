"""The options of finding texts in what a transcriber gives for its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from unspool.config.numbers import check_numbers
from unspool.errors import ConfigError, choose

Objective = Literal["ctc", "attention", "hybrid"]
OBJECTIVES: tuple[Objective, ...] = ("ctc", "attention", "hybrid")


@dataclass(frozen=True, kw_only=True)
class Transcribing:
    """How texts are found.

    beam        width of the search over prefixes; 1: the text of the most probable path
    nbest       how many texts are given
    lm          a language model: a loaded run of `generate`
    lm_weight   of its log probability
    bonus       for each token, against the short texts that a language model prefers
    decoder     of a model of objective=hybrid: "ctc", "attention" or "hybrid", which ranks the
                texts of both by both; None: the objective
    """

    beam: int = 10
    nbest: int = 1
    lm: Any = None
    lm_weight: float = 0.5
    bonus: float = 0.0
    decoder: Objective | None = None

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.decoder is not None:
            choose("decoder", self.decoder, OBJECTIVES)
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

    def described(self, decoder: str) -> str:
        """In words, of a model whose decoder finds the texts."""
        if decoder == "ctc":
            found = "greedy" if self.greedy else f"prefix beam search of width {self.beam}"
        else:
            found = "greedy" if self.beam == 1 else f"beam search of width {self.beam}"
            found = f"{'attention' if decoder == 'attention' else 'CTC and attention'}, {found}"
        if self.lm is not None:
            found += f", language model {getattr(self.lm, 'path', '')} with weight"
            found += f" {self.lm_weight:g}"
        return found + (f", bonus {self.bonus:g} a token" if self.bonus else "")


GREEDY = Transcribing(beam=1)


def chosen_decoder(objective: Objective, options: Transcribing) -> Objective:
    """What finds the texts of a model that was trained with an objective: that, unless the options
    name a half of it."""
    found = options.decoder or objective
    if objective not in ("hybrid", found):
        raise ConfigError(
            f"the model was trained with objective={objective}",
            got=f"decoder={found}",
            remedy="leave it out, or train with --set objective=hybrid",
        )
    if found == "hybrid" and (options.lm is not None or options.bonus):
        raise ConfigError(
            "a language model and a bonus are for the search of CTC, or of attention",
            got="decoder=hybrid",
            remedy="give --decoder ctc or --decoder attention, too",
        )
    if found == "attention" and options.bonus and options.lm is None:
        raise ConfigError(
            "a bonus for each token is for the search of CTC, or for a language model",
            got="decoder=attention",
            remedy="give --lm, too, or leave it out",
        )
    return found
