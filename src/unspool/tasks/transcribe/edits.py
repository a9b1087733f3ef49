"""What was written against what should have been: the fewest insertions, deletions and
substitutions that make one sequence of another (Levenshtein 1966).

CER is their number over characters by the characters of the truth, WER that over words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Edit(NamedTuple):
    """A pair of the alignment: what should stand there, None where something was inserted; and what
    does, None where something is missing."""

    true: Any
    found: Any

    @property
    def right(self) -> bool:
        return bool(self.true == self.found)


def distances(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """(n + 1, m + 1) the edits that make the first j of what was found of the first i of the truth.

    d_ij = min(d_{i-1,j} + 1, d_{i-1,j-1} + [t_i ≠ f_j], d_{i,j-1} + 1); along a row the last term
    is a running minimum of the others, less their column.
    """
    n, m = len(truth), len(found)
    column = np.arange(m + 1)
    table = np.empty((n + 1, m + 1), dtype=np.int64)
    table[0] = column
    for i in range(1, n + 1):
        above = table[i - 1]
        row = above + 1
        row[1:] = np.minimum(row[1:], above[:-1] + (found != truth[i - 1]))
        table[i] = np.minimum.accumulate(row - column) + column
    return table


def edits(truth: Sequence[Any], found: Sequence[Any]) -> list[Edit]:
    """The alignment of two sequences with the fewest errors; of equals, a substitution before a
    deletion before an insertion, from the end on."""
    names = {own: i for i, own in enumerate(dict.fromkeys([*truth, *found]))}
    a, b = (np.array([names[own] for own in each], dtype=np.int64) for each in (truth, found))
    table = distances(a, b)
    i, j = len(a), len(b)
    path = []
    while i or j:
        if i and j and table[i, j] == table[i - 1, j - 1] + (a[i - 1] != b[j - 1]):
            path.append(Edit(truth[i - 1], found[j - 1]))
            i, j = i - 1, j - 1
        elif i and table[i, j] == table[i - 1, j] + 1:
            path.append(Edit(truth[i - 1], None))
            i -= 1
        else:
            path.append(Edit(None, found[j - 1]))
            j -= 1
    path.reverse()
    return path


class Counts(NamedTuple):
    """Of one text: errors of each kind, and how much it should have."""

    substitutions: int
    deletions: int
    insertions: int
    size: int

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions


def counted(path: Sequence[Edit]) -> Counts:
    deletions = sum(own.found is None for own in path)
    insertions = sum(own.true is None for own in path)
    wrong = sum(not own.right for own in path)
    return Counts(wrong - deletions - insertions, deletions, insertions, len(path) - insertions)
