"""Facts about the first values of a column, each computed once, on demand.

A sample of values comes in; a lazy record comes out. Nothing here knows a task, a format or a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from unspool.data.values import find_format, is_date, is_encoded, is_missing, is_number

LONGEST_LABEL = 40  # characters, on average
FEWEST_WORDS = 3  # of the values of a column of texts, on average
LONGEST_WORD = 30  # characters of a value that is a single word
SPACED = 0.1  # of the values of a text, at least, have several words
FLAGS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}


class ColumnProfile:
    """Facts about one column, from its sample."""

    def __init__(self, sample: Sequence[Any]) -> None:
        self.sample = sample

    @cached_property
    def texts(self) -> list[str]:
        return shown(self.sample)

    @cached_property
    def strings(self) -> list[str]:
        """The values that are strings, without empty ones."""
        return [value for value in self.sample if isinstance(value, str) and value]

    @cached_property
    def classes(self) -> int:
        """Different values."""
        return len(set(self.texts))

    @cached_property
    def characters(self) -> int:
        return sum(map(len, self.texts))

    @property
    def mean_length(self) -> float:
        return self.characters / max(1, len(self.sample))

    @cached_property
    def has_strings(self) -> bool:
        return any(isinstance(value, str) for value in self.sample)

    @cached_property
    def only_strings(self) -> bool:
        """Whether no value is anything but a string, or missing."""
        return all(value is None or isinstance(value, str) for value in self.sample)

    @cached_property
    def is_label(self) -> bool:
        return label_like(self.texts)

    @cached_property
    def is_scale(self) -> bool:
        """Whether values are numbers on a scale rather than classes: many different ones."""
        known = [value for value in self.sample if not is_missing(value)]
        many = len({str(value) for value in known}) > max(20, len(known) // 5)
        return many and sum(map(is_number, known)) > 0.9 * len(known)

    @cached_property
    def is_numbers(self) -> bool:
        """Numbers, or nothing; a word among them is found when they are read."""
        sample = (value for value in self.sample if not isinstance(value, str) or value != "?")
        known = [value for value in sample if not is_missing(value)]
        if any(isinstance(value, bool | list) for value in known):
            return False
        return sum(map(is_number, known)) > 0.9 * len(known) if known else bool(self.sample)

    @cached_property
    def mostly_numbers(self) -> bool:
        return sum(map(is_number, self.sample)) > len(self.sample) / 2

    @cached_property
    def all_numbers(self) -> bool:
        return all(map(is_number, self.texts))

    @cached_property
    def has_numbers(self) -> bool:
        return any(map(is_number, self.texts))

    @cached_property
    def date_format(self) -> str | None:
        return find_format(self.sample)

    @cached_property
    def is_dates(self) -> bool:
        """Whether values, written as strings, are dates, even if some are numbers."""
        return find_format(self.texts) is not None

    @property
    def is_class(self) -> bool:
        """Whether it may be learnt as a label: several short values that repeat, and no dates."""
        return self.classes > 1 and self.is_label and not self.is_dates

    @cached_property
    def is_flags(self) -> bool:
        """Whether values are 0 and 1, but for missing ones."""
        values = [value for value in self.sample if not is_missing(value)]
        return bool(values) and all(flag(value) is not None for value in values)

    @cached_property
    def is_images(self) -> bool:
        values = [value for value in self.sample if value not in (None, "")]
        return bool(values) and all(map(is_encoded, values))

    def is_all(self, *kinds: type) -> bool:
        """Whether values are of these types, but for missing ones."""
        values = [value for value in self.sample if value is not None]
        return bool(values) and all(isinstance(value, kinds) for value in values)

    @cached_property
    def is_empty_arrays(self) -> bool:
        """Whether values are arrays, or recordings, of NaN alone."""
        arrays = [getattr(v, "values", v) for v in self.sample if v is not None]
        floats = [a for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
        return (
            bool(floats) and len(floats) == len(arrays) and all(np.isnan(a).all() for a in floats)
        )

    @cached_property
    def is_phrases(self) -> bool:
        """Whether most values are several words."""
        return sum(" " in text for text in self.texts) > len(self.sample) / 2

    @cached_property
    def is_texts(self) -> bool:
        """Whether values are several words each, and no labels."""
        words = sum(len(text.split()) for text in self.strings)
        enough = bool(self.strings) and words >= FEWEST_WORDS * len(self.sample)
        return enough and not label_like(self.strings)

    @cached_property
    def words(self) -> list[str]:
        """The strings that are neither numbers nor dates."""
        return [text for text in self.strings if not is_number(text) and not is_date(text)]

    @cached_property
    def is_spaced(self) -> bool:
        """Whether many words have spaces between them, and values are no labels."""
        spaced = sum(" " in word for word in self.words) > SPACED * len(self.words)
        return spaced and not label_like([v for v in self.sample if isinstance(v, str)])

    @cached_property
    def is_single_words(self) -> bool:
        """Whether nearly all values are one short word."""
        words = sum(len(v.split()) == 1 and len(v) <= LONGEST_WORD for v in self.strings)
        return len(self.strings) >= 10 and words > 0.9 * len(self.strings)

    @cached_property
    def is_codes(self) -> bool:
        """Whether values are labels, or single words with digits: nothing to learn to write."""
        if self.is_label:
            return not self.is_phrases
        return self.is_single_words and all(any(map(str.isdigit, v)) for v in self.strings)

    @cached_property
    def is_repeated(self) -> bool:
        """Whether values come again, as those of an id do; of one row nobody knows."""
        return len(self.sample) < 2 or len(set(map(str, self.sample))) < len(self.sample)

    @cached_property
    def is_group(self) -> bool:
        """Whether values are words or whole numbers that come again: names of groups of rows."""
        values = [value for value in self.sample if not is_missing(value)]
        return self.is_repeated and bool(values) and all(map(_is_name, values))

    @cached_property
    def is_step_labels(self) -> bool:
        """Whether values are a label for each step: lists, or words that are fewer than rows."""
        values = [value for value in self.sample if value not in (None, "")]
        if not values or all(isinstance(value, list) for value in values):
            return bool(values)
        words = [str(value).split() for value in values]
        few = len({word for row in words for word in row}) <= max(2, len(values) // 2)
        return few and sum(len(row) > 1 for row in words) > 0.9 * len(values)


def flag(value: Any) -> bool | None:
    return FLAGS.get(str(value).strip().lower())


def _is_name(value: Any) -> bool:
    if not isinstance(value, str | int) or is_date(value):
        return False
    return not is_number(value) or float(value).is_integer()


def shown(values: Sequence[Any]) -> list[str]:
    """Raw values as strings; what is missing is empty."""
    return ["" if value is None else str(value) for value in values]


def label_like(values: Sequence[str]) -> bool:
    """Short values that repeat; a single value all along may be a label too, in a sorted file."""
    kinds, rows = len(set(values)), len(values)
    if not rows or sum(map(len, values)) > LONGEST_LABEL * rows or not any(values):
        return False
    return kinds < rows if rows < 10 else kinds <= max(2, rows // 5)


def repeats(values: Sequence[str]) -> bool:
    """Whether nearly all values occur at least twice."""
    counts = Counter(values)
    return sum(n for n in counts.values() if n > 1) >= 0.9 * max(1, len(values))
