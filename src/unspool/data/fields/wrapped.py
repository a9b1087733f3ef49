"""Fields that wrap others: people are shown what the wrapped field shows of a value."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Self

from unspool.data.fields.field import Field


class WrappedField(Field):
    """Items, names, pictures and JSON of values are those of the field `inner`."""

    sized = True

    @property
    @abstractmethod
    def inner(self) -> Any: ...

    @abstractmethod
    def renamed(self, name: str) -> Self:
        """Return a copy with another name, also in the cache."""

    @property
    def unit(self) -> str:
        return self.inner.unit

    @property
    def channels(self) -> list[str]:
        """Names of the channels, where the inner field reads vectors."""
        return self.inner.channels

    @property
    def spectral(self) -> bool:
        return self.inner.spectral

    @property
    def pictured(self) -> bool:
        return getattr(self.inner, "pictured", False)

    @property
    def filmed(self) -> bool:
        return getattr(self.inner, "filmed", False)

    @property
    def duration(self) -> float:
        return self.inner.duration

    @property
    def shown_as(self) -> str:
        return self.inner.shown_as

    def items(self, given: Any) -> Iterable[Any] | None:
        return self.inner.items(given)

    def named(self, name: str) -> Any:
        return self.inner.named(name)

    def shown(self, raw: Any) -> str:
        return self.inner.shown(raw)

    def picture(self, raw: Any) -> dict[str, Any]:
        return self.inner.picture(raw)

    def recording(self, raw: Any, where: str) -> Any:
        return self.inner.recording(raw, where)

    def extent(self, raw: Any) -> str:
        return self.inner.extent(raw)

    def may_be_stored(self, raw: Any) -> bool:
        return self.inner.may_be_stored(raw)

    def stored_size(self, value: Any) -> Any:
        return self.inner.stored_size(value)

    def to_json(self, raw: Any) -> Any:
        return self.inner.to_json(raw)

    def from_json(self, value: Any, where: str) -> Any:
        return self.inner.from_json(value, where)


def renamed(field: Field, name: str) -> Any:
    """Return a copy of a field with another name."""
    if isinstance(field, WrappedField):
        return field.renamed(name)
    found = copy.copy(field)
    found.name = name
    return found
