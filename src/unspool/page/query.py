"""What is asked of a page: the name of an answer and its parameters, all of them strings.

In: the parameters as they stand in an address. Out: a `Query` with every parameter of the answer,
those left out at their default; one that is unknown or no number is a ConfigError.
"""

from __future__ import annotations

from collections.abc import Mapping

from unspool.errors import ConfigError, choose


class Query(dict[str, str]):
    """The parameters of one question, complete."""

    @classmethod
    def of(cls, name: str, given: Mapping[str, str], defaults: Mapping[str, str]) -> Query:
        """`given`, and the defaults for the rest."""
        for parameter in given:
            if not defaults:
                raise ConfigError(f"{name!r} takes no parameters", got=parameter)
            choose(f"parameter of {name!r}", parameter, defaults)
        return cls({**defaults, **given})  # in the order of the defaults

    def number(self, name: str, *, least: int = 0, most: int = 1_000_000) -> int:
        value = self[name]
        if not value.isdecimal() or not least <= int(value) <= most:
            raise ConfigError(
                f"{name} is a whole number from {least} to {most}",
                got=value,
                remedy="give such a number",
            )
        return int(value)

    def number_or_none(self, name: str, *, least: int = 0) -> int | None:
        return self.number(name, least=least) if self[name] else None
