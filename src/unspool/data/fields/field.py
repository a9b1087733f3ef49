"""Field: one column of a task's data, and the only place that knows what its values are made of.

A field is made from the settings and fitted to the training rows of a stored column; then it turns
raw values into arrays and arrays into padded tensors:

    raw values -> writer -> stored column -> values -> collate -> tensors     a file
    raw values -> encode -----------------> values -> collate -> tensors     values in memory
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from unspool.data.fields.examiner import Examiner
from unspool.data.read import Column
from unspool.data.store.columns import ColumnWriter, Progress, WhereStep
from unspool.errors import Option, Setting

Where = Callable[[int], str]  # a row of a part -> file:line


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


class Display(NamedTuple):
    """Description of how pages, pictures and notebooks show values.

    form     "tokens", or over time: "curves", "heat map", "spectrum", "piano roll", "drawing" or
             "frames"
    medium   "text", "series", "image", "sound" ...: what people choose as an input
    pixels   whether steps are parts of an image, or frames
    audible  whether a value can be played
    """

    form: str
    medium: str = "series"
    pixels: bool = False
    audible: bool = False


class Field(ABC):
    """One column of a task's data.

    name     of the field in its task: text, label, source, ...
    sized    whether its values have lengths that count for the size of a batch
    stratifies  whether every part of a corpus is to have its share of each value
    several     whether a row may have any number of the names of `tally`
    is_stream   whether rows are one long sequence, of which the end is held out
    limited     whether values are cut to `data.max_length`
    compared    whether rows of one part say something about those of another: not where parts are
                stretches of the same sequences
    is_target   whether it is what a model is to give, not what it reads
    missing     what is done about rows without a value: "drop", "error" or "keep"
    step_noun   what a network takes at a step: a step, a token, a sentence
    """

    kind: ClassVar[str]
    sized: ClassVar[bool] = False
    stratifies: ClassVar[bool] = False
    several: ClassVar[bool] = False
    is_stream: ClassVar[bool] = False
    limited: ClassVar[bool] = True
    compared: ClassVar[bool] = True
    step_noun: ClassVar[str] = "step"
    is_target: bool = False
    missing: str = "drop"
    sample_text: str = "some text"  # a value, as a person types it

    display: Display = Display("tokens")

    def __init__(self, name: str) -> None:
        self.name = name

    def renamed(self, name: str) -> Self:
        """Return a copy with another name, also in the cache."""
        renamed = copy.copy(self)
        renamed.name = name
        return renamed

    @property
    def option(self) -> Option:
        """The option that names the column."""
        return Option(self.name)

    @property
    @abstractmethod
    def unit(self) -> str:
        """Name of the steps of its values."""

    @property
    def most_steps(self) -> int:
        """Steps that a network reads of a value at most; 0 where that is not known."""
        return 0

    @property
    def answers(self) -> list[str]:
        """The names of a fixed set of values."""
        return []

    @property
    def vocabulary(self) -> int:
        """Number of different steps; 0 where they are not counted."""
        return 0

    def look(self, column: Column) -> None:
        """Settle what the settings leave open by a look at the first values."""
        return

    @abstractmethod
    def storage_key(self) -> Any:
        """Whatever decides how values are stored, for JSON."""

    @abstractmethod
    def writer(self, folder: Path) -> ColumnWriter: ...

    @abstractmethod
    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Any:
        """The stored column; `key` is its name in the cache, and where(row, step) the position of a
        step in its file, for a message."""

    def strata(self, column: Any) -> np.ndarray | None:
        """(N,) the class of each row, of a field that stratifies."""
        return None

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

    def items(self, values: Any) -> Iterable[Any] | None:
        """The raw values of what a user gives to be answered, of a field whose values are no texts;
        None: texts, alone or several."""
        return None

    def named(self, name: str) -> Any:
        """The raw value that a name, such as that of a file, stands for on the command line; None
        where values are in tables alone."""
        return None

    def shown(self, raw: Any) -> str:
        """A raw value for people, as an answer repeats it."""
        return str(raw)

    def to_json(self, raw: Any) -> Any:
        """A raw value for JSON, as a page and a run folder have it."""
        return raw

    def from_json(self, value: Any, where: str) -> Any:
        """The raw value of `to_json`, or what somebody has written like it; `where` it comes from,
        for a message."""
        return value

    @abstractmethod
    def collate(self, values: Any, rows: np.ndarray) -> Any:
        """Some rows as tensors, padded; padding never changes an answer."""

    def streaming_unsupported_reason(self) -> str | None:
        """None where `chunk` gives of a part of a value what `encode` gives of the whole, otherwise
        the reason."""
        return "what it reads is no sequence"

    def chunk(self, raw: Any, before: Any, read: int) -> Chunk:
        """The next steps of a value of which `read` steps were read, as one row.

        before   of the chunk before; None where there is none
        """
        raise NotImplementedError

    def last_chunk(self, before: Any, read: int) -> Chunk:
        """The steps that were waiting for more of a value, which has ended."""
        return Chunk((), 0, before)

    def follow_line(self, line: str) -> str | None:
        """Return what a line of standard input adds to a text; None where it ends it."""
        return line if line.strip() else None

    def measure(self, values: Any) -> Measure | None:
        """Measure values of a field that is sized."""
        return None

    def advise(self, values: Any, unknown: float) -> Iterator[tuple[Setting | None, str]]:
        """Settings that would suit the training values, each with its reason."""
        return iter(())

    def tally(self, values: Any) -> dict[str, int]:
        """Count how often each of a few names occurs: labels, types of spans."""
        return {}

    def spread(self, values: Any) -> dict[str, Spread]:
        """Return the distribution of its numbers, by their names."""
        return {}

    def characters_once(self, values: Any) -> dict[str, int]:
        """Return characters that occur once, and the row of each, where steps are characters."""
        return {}

    def classes(self, values: Any) -> np.ndarray | None:
        """(N,) of each row the index of its value in `answers`, of a field with one of a few."""
        return None

    def examiner(self, values: Any) -> Examiner | None:
        """Return what compares and examines values for `check`; `values` are those of training."""
        return None

    @property
    @abstractmethod
    def files(self) -> tuple[str, ...]:
        """The names of all files that `save` may write."""

    @abstractmethod
    def save(self, folder: Path) -> None: ...

    @abstractmethod
    def load(self, folder: Path) -> None: ...
