"""Field: one column of a task's data, and the only place that knows what its values are made of.

A field is made from the settings and fitted to the training rows of a stored column; then it turns
raw values into arrays and arrays into padded tensors:

    raw values -> writer -> stored column -> values -> collate -> tensors     a file
    raw values -> encode -----------------> values -> collate -> tensors     values in memory
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from unspool.data.fields.examiner import Examiner
from unspool.data.fields.tokens import TextForm
from unspool.data.read import Column
from unspool.data.store.columns import ColumnWriter, Progress, WhereStep
from unspool.errors import Setting

Where = Callable[[int], str]  # a row of a part -> file:line
Cuts = Mapping[str, tuple[int, int]]  # {name: (first step, end)} of stretches of a sequence


class Measure(NamedTuple):
    """Lengths of the values of a part.

    lengths      (N,) steps of each row; of a stream, of each of its lines
    characters   (N,) of each row; empty where they were not counted
    unknown      share of the steps that the model does not know
    """

    steps: int
    lengths: np.ndarray
    characters: np.ndarray
    unknown: float


class Chunk(NamedTuple):
    """The next steps of one sequence.

    inputs   what a model reads of them, (1, T, ...)
    steps    T, perhaps 0
    before   what the next chunk needs to know of those before it
    cut      whether there was no room for all of them
    """

    inputs: tuple[Any, ...]
    steps: int
    before: Any
    cut: bool = False


class Spread(NamedTuple):
    """Distribution of the numbers of a part."""

    mean: float
    std: float
    least: float
    most: float

    def __str__(self) -> str:
        return (
            f"mean {self.mean:.4g}, standard deviation {self.std:.4g}, from {self.least:.4g} to"
            f" {self.most:.4g}"
        )


@runtime_checkable
class Streamed(Protocol):
    """A field whose values can be read as they arrive."""

    def streaming_unsupported_reason(self) -> str | None:
        """None where `chunk` gives of a part of a value what `encode` gives of the whole."""

    def chunk(self, raw: Any, before: Any, read: int) -> Chunk:
        """The next steps of a value of which `read` steps were read, as one row; `before` is that
        of the chunk before, None where there is none."""

    def last_chunk(self, before: Any, read: int) -> Chunk:
        """The steps that were waiting for more of a value, which has ended."""


@runtime_checkable
class Portable(Protocol):
    """A field whose batches a program can make that does not have this package."""

    def portable(self) -> dict[str, Any]:
        """The `kind` of input, with what is needed to make a batch of it, for JSON; raises a
        ConfigError with the reason where that cannot be told."""

    def portable_item(self, steps: int, rng: np.random.Generator) -> Any:
        """A random value of about so many steps, as such a program is given one."""

    def portable_batch(self, items: Sequence[Any]) -> Any:
        """The batch that a model reads of such values."""


@runtime_checkable
class Examined(Protocol):
    """A field whose values `check` measures and compares."""

    def measure(self, values: Any) -> Measure: ...

    def advise(self, values: Any, unknown: float) -> Iterator[tuple[Setting | None, str]]:
        """Settings that would suit the training values, each with its reason."""

    def examiner(self, values: Any) -> Examiner | None:
        """Return what compares and examines values; `values` are those of training."""


@runtime_checkable
class Stratified(Protocol):
    """A field of which every part of a corpus is to have its share of each value."""

    def strata(self, column: Any) -> np.ndarray:
        """(N,) the class of each row"""


@runtime_checkable
class Categorical(Stratified, Protocol):
    """A field of names out of a fixed set; `several`: a row may have any number of them."""

    names: list[str]
    several: bool


@runtime_checkable
class Classified(Protocol):
    """A field with one of its names in each row."""

    names: list[str]

    def classes(self, values: Any) -> np.ndarray:
        """(N,) of each row the index of its name"""


@runtime_checkable
class Numeric(Protocol):
    def spread(self, values: Any) -> dict[str, Spread]:
        """Return the distribution of its numbers, by their names."""


@runtime_checkable
class Spelled(Protocol):
    def characters_once(self, values: Any) -> dict[str, int]:
        """Return characters that occur once, and the row of each, where steps are characters."""


@runtime_checkable
class Undivided(Protocol):
    """A field whose rows are one long sequence, of which the end is held out."""

    name: str

    def steps(self, column: Any) -> int:
        """Return the length of the whole sequence."""

    def fit_stream(self, column: Any, cuts: Cuts, progress: Progress = None) -> list[str]:
        """Fit to the stretch from the first to the last step of "train"."""

    def streams(self, column: Any, cuts: Cuts, progress: Progress = None) -> dict[str, Any]:
        """Stretches of the sequence, each as values of one row."""


@runtime_checkable
class Tallied(Protocol):
    def tally(self, values: Any) -> dict[str, int]:
        """Count how often each of a few names occurs: labels, types of spans."""


class Field(ABC):
    """One column of a task's data.

    name     of the field in its task: text, label, source, ...
    form     how people give and see values: a `TextForm` or a `VectorSource`
    sized    whether its values have lengths that count for the size of a batch
    compared    whether rows of one part say something about those of another: not where parts are
                stretches of the same sequences
    is_target   whether it is what a model is to give, not what it reads
    missing     what is done about rows without a value: "drop", "error" or "keep"
    files       names of all files that `save` may write
    """

    kind: ClassVar[str]
    sized: ClassVar[bool] = False
    compared: ClassVar[bool] = True
    is_target: bool = False
    missing: str = "drop"
    files: tuple[str, ...] = ()
    form: Any = TextForm()

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    @abstractmethod
    def unit(self) -> str:
        """Name of the steps of its values."""

    @property
    def vocabulary(self) -> int:
        """Number of different steps; 0 where they are not counted."""
        return 0

    def look(self, column: Column) -> None:
        """Settle what the settings leave open by a look at the first values."""
        return

    def refuse_unseen(self, values: Any, where: Where) -> None:
        """Raise a DataError about a value that a model cannot learn from or be chosen by."""
        return

    @abstractmethod
    def storage_key(self) -> Any:
        """Whatever decides how values are stored, for JSON."""

    @abstractmethod
    def writer(self, folder: Path) -> ColumnWriter: ...

    @abstractmethod
    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Any:
        """The stored column; `key` names it in the cache, where(row, step) is a position in its
        file."""

    def without_steps(self, column: Any) -> bool:
        """Whether there are rows of which a network has nothing to read."""
        return False

    def blank(self, column: Any) -> np.ndarray:
        """(N,) bool: rows without a value."""
        return np.zeros(len(column), dtype=bool)

    def what_is_missing(self, column: Any, rows: np.ndarray) -> str:
        """Describe blank rows: `3 rows with <an empty text> left out`."""
        return f"an empty {self.name}"

    def survey(self, column: Any, rows: np.ndarray, *, where: str) -> None:
        """Refuse a column of which nothing can be learnt, before its rows are split."""
        return

    @abstractmethod
    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        """Learn from the training rows what the numbers mean; returns notes about it.

        where   the name of the file, for a message
        """

    @abstractmethod
    def invent(self, *, vocab: int, classes: int) -> None:
        """Fit it to invented values of this many kinds, for a summary without data."""

    @abstractmethod
    def values(self, column: Any, progress: Progress = None) -> Any:
        """All rows of a stored column as arrays: something with `len` and `select(rows)`."""

    def fits(self, values: Any) -> np.ndarray:
        """(N,) bool: rows that are not too long to learn from."""
        return np.ones(len(values), dtype=bool)

    def check(self, values: Any, where: Where) -> list[str]:
        """Refuse values that the model cannot learn from; notes about what is not read whole."""
        return []

    def unknown(self, values: Any, where: Where) -> list[str]:
        """Notes about what a trained model does not know, for an evaluation."""
        return []

    @abstractmethod
    def encode(self, raw: Sequence[Any]) -> Any:
        """`values` of raw values in memory: the same numbers."""

    @abstractmethod
    def collate(self, values: Any, rows: np.ndarray) -> Any:
        """Some rows as tensors, padded; padding never changes an answer."""

    @abstractmethod
    def save(self, folder: Path) -> None: ...

    @abstractmethod
    def load(self, folder: Path) -> None: ...
