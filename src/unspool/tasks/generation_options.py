"""Options of tasks that continue a sequence step by step: a text, music, a drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unspool.config.numbers import check_numbers, refuse_too_large
from unspool.errors import ConfigError
from unspool.search import Sampling


@dataclass(frozen=True, kw_only=True)
class GenerationOptions:
    """Options that all of them have.

    described    what is made, of how many steps, for a message
    step_bytes   what a step takes while it is written
    """

    described: ClassVar[str]
    step_bytes: ClassVar[int]

    length: int
    temperature: float
    seed: int = 1

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.length < 0:
            raise ConfigError("length must be 0 or more", got=self.length)
        made = self.described.format(f"{self.length:,}")
        refuse_too_large(made, self.step_bytes * self.length, remedy="give a smaller length")


@dataclass(frozen=True, kw_only=True)
class SamplingOptions(GenerationOptions):
    """A step is a token of a vocabulary."""

    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sampling()

    def sampling(self, forbidden: tuple[int, ...] = ()) -> Sampling:
        """The sampling of each token; `forbidden` ones are never sampled."""
        return Sampling(
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            seed=self.seed,
            forbidden=forbidden,
        )
