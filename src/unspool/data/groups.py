"""Groups of rows that share a speaker, a subject or the like: the columns of a plan in, the one
that names such groups out.

A model may learn to know whom it was trained on, so held-out rows of the same group flatter it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from unspool.data.plan import Plan, joined_words
from unspool.data.profile import ColumnProfile
from unspool.data.read import Column
from unspool.data.read.files import OF_PATHS
from unspool.data.values import is_missing, is_number

SOURCES = frozenset({
    "speaker", "subject", "person", "participant", "patient", "user", "author", "writer", "singer",
    "actor", "camera", "device", "session", "client", "volunteer", "performer", "signer", "rider",
    "driver",
})  # fmt: skip
SHORT = frozenset({"spk", "spkr", "subj", "sub", "pat", "cam"})  # of the same, before a number
SUFFIX = re.compile(r"(id|no|nr|num|number|name|code)$")
NUMBERED = re.compile(r"([a-z]+)[-_ ]?\d+")
FEWEST_WORDS = 3  # that name groups, where nothing but parts of file names does
KEPT = 8  # columns of groups in memory
CROSSED = 0.9  # of such words occur with several labels: others are kinds of a label
_read: dict[tuple[object, ...], list[tuple[str, str]]] = {}


class RowGroups(NamedTuple):
    """A column whose values are groups of rows.

    names   (N,) of the group of each row
    """

    column: str
    names: np.ndarray

    @property
    def largest(self) -> float:
        """The share of the rows that are in the largest group."""
        return max(Counter(self.names.tolist()).values()) / len(self.names)

    @property
    def shown(self) -> str:
        """`speaker`, or `name_2 (ann, bob, ...)` of what only stands in paths"""
        if not OF_PATHS.fullmatch(self.column):
            return self.column
        different = sorted(set(self.names.tolist()))
        return f"{self.column} ({', '.join(different[:3])}{', ...' * (len(different) > 3)})"


def find_groups(plan: Plan) -> RowGroups | None:
    """The groups that a column names; None where no column surely does.

    A group has two rows on average, and every label occurs in two groups, so that one of them can
    be held out.
    """
    used = {member.number for column in plan.columns.values() for member in column.members}
    before: Column | None = None
    for column in plan.table.columns:
        if column.number not in used and may_group(column, before):
            rows = read_with_labels(plan, column)
            if divides(rows, words=not names_source(column, before)):
                return RowGroups(column.name, np.array([name for name, _ in rows]))
        before = column
    return None


def may_group(column: Column, before: Column | None) -> bool:
    """Whether the first values of a column, or its name, are those of groups. `before`: the column
    before it, which may hold the word of a number: `Subject_12`."""
    profile = column.profile
    if profile.is_phrases or not (profile.is_group or names_source(column, before)):
        return False
    if names_source(column, before):
        return True
    return bool(re.fullmatch(r"name_\d+", column.name)) and are_words(profile)


def names_source(column: Column, before: Column | None) -> bool:
    """Whether a column is called like those that recordings and texts come from, or its values
    are: `subject`, `Speaker ID`; `user12`, or `12` behind `user`."""
    if not OF_PATHS.fullmatch(column.name):
        return is_source(column.name)
    values = [str(value).strip().lower() for value in column.profile.sample]
    words = [match[1] for match in map(NUMBERED.fullmatch, values) if match]
    if values and len(words) == len(values) and all(map(is_source, words)):
        return True
    split = before is not None and OF_PATHS.fullmatch(before.name)
    if not split or before is None or not all(map(is_number, values)):
        return False
    return all(is_source(str(word)) for word in before.profile.sample)


def is_source(name: str) -> bool:
    word = joined_words(name)
    return word in SHORT or word in SOURCES or SUFFIX.sub("", word) in SOURCES


def are_words(profile: ColumnProfile) -> bool:
    """Whether values are words, such as names of speakers, rather than numbers. The first files of
    a folder may all be of one."""
    return bool(profile.sample) and all(str(value).isalpha() for value in profile.sample)


def read_with_labels(plan: Plan, column: Column) -> list[tuple[str, str]]:
    """The group and the label of each row; the same label of all rows where there is none. What was
    read last is kept: each fold of a search needs it, and a table may be thousands of files."""
    label, only, table = plan.columns.get("label"), plan.only, plan.table
    numbers = [member.number for each in (column, label) if each for member in each.members]
    key = (table.path, table.sha256, repr(table.data), *numbers, str(only and only.key))
    if key not in _read:
        columns = {"group": column} | ({} if label is None else {"label": label})
        rows = replace(plan, columns=columns, convert=None).rows()
        pairs = [(str(row.values[0]).strip(), str(row.values[1:])) for row in rows]
        if len(_read) >= KEPT:
            _read.clear()
        _read[key] = pairs
    return _read[key]


def divides(rows: list[tuple[str, str]], *, words: bool) -> bool:
    """Whether groups can be held out; `words`: nothing but words in file names suggests them."""
    counts = Counter(name for name, _ in rows)
    least = FEWEST_WORDS if words else 2
    if not least <= len(counts) <= len(rows) / 2 or any(map(is_missing, counts)):
        return False
    groups, labels = defaultdict(set), defaultdict(set)
    for name, label in rows:
        groups[label].add(name)
        labels[name].add(label)
    if any(len(names) < 2 for names in groups.values()):
        return False
    if not words:
        return True
    known = {label.strip("(),'") for label in groups}
    several = sum(len(each) > 1 for each in labels.values())
    return several >= CROSSED * len(labels) and not known & counts.keys()


def read_groups(plan: Plan, name: str) -> np.ndarray:
    """(N,) the name of each row's group: its value in a column."""
    column = plan.table.column(name, option="group")
    return np.array([group for group, _ in read_with_labels(plan, column)])
