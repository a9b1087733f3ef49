"""Examiner: checks of the values of a field beyond counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.data.store.ragged import Ragged
from unspool.errors import Message

UNKNOWN = "unknown"


class Flaw(NamedTuple):
    """Damage that values of a kind may have.

    what     what rows with it do
    remedy   what to do
    repair   what `correct` makes of it; "" where it cannot
    usual    whether it is repaired unless the user chooses
    """

    what: str
    remedy: Message
    repair: str = ""
    usual: bool = False


class SeriesTrack(NamedTuple):
    """One number over time.

    values   (T,), NaN in a gap
    steps    (T,) their times, or their numbers
    name     of it within its row; "" where the row has no other
    """

    values: np.ndarray
    steps: np.ndarray
    name: str = ""


class Examiner(ABC):
    """Examines the values of one field.

    FLAWS     by name
    FAMILIES  what families of values are called, such as scripts of writing
    shingle   what near-duplicates are compared by
    """

    FLAWS: ClassVar[Mapping[str, Flaw]] = {}
    FAMILIES: ClassVar[tuple[str, ...]] = ()
    shingle: str = ""

    @abstractmethod
    def shingles(self, values: Any, rows: np.ndarray) -> Ragged:
        """uint64 hashes of the pieces of each row, at least one; similar sets mean similar rows."""

    @abstractmethod
    def features(self, values: Any, rows: np.ndarray) -> Ragged:
        """uint64 hashes of what a linear model counts in each of some rows."""

    def tracks(self, values: Any) -> list[SeriesTrack]:
        """One a row, for rows that may be the same series; empty where parts are compared."""
        return []

    def families(self, name: str, raw: Sequence[Any]) -> list[str]:
        """One of `FAMILIES` of each raw value: "" where it has none, UNKNOWN where it has one."""
        return [""] * len(raw)

    def flaws(self, raw: Sequence[Any]) -> dict[str, np.ndarray]:
        """(N,) bool for each of `FLAWS`: which raw values have it."""
        return {}

    def correct(self, raw: Any, flaw: str) -> Any:
        """A raw value without a flaw; the same value where there is nothing to repair."""
        return raw

    @abstractmethod
    def excerpt(self, raw: Any, flaw: str | None = None) -> str:
        """A raw value for people, on one short line: its beginning, or where it has a flaw."""
