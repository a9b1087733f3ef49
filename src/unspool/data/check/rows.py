"""The rows of all parts of a corpus, numbered through, as checks see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unspool.data.corpus import Corpus
from unspool.data.fields.examiner import Examiner
from unspool.data.fields.ngrams import hash_of
from unspool.data.part import Part
from unspool.data.store.ragged import Ragged, side_by_side

Asked = Callable[[Examiner, Any, np.ndarray], Ragged]


class Rows:
    """N rows, part after part.

    part     (N,) the number of the part of each
    table    (N,) that of its table: 0 is the one that the training rows come from
    inputs   (N,) a number for each row, equal where all that a model reads is equal
    targets  (N,) the same of what it is to give
    read, wanted   what inputs and targets are called
    examiners      of the fields that a model reads, where they have one
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.names, self.parts = list(corpus.parts), list(corpus.parts.values())
        self.edges = np.cumsum([0, *map(len, self.parts)])
        self.part = np.repeat(np.arange(len(self.parts)), np.diff(self.edges))
        homes = {id(part.plan and part.plan.table): None for part in self.parts}
        tables = [list(homes).index(id(part.plan and part.plan.table)) for part in self.parts]
        self.table = np.array(tables)[self.part]
        self.inputs, self.targets = self._prints(targets=False), self._prints(targets=True)
        fields = corpus.fields.items()
        self.read = " and ".join(key for key, field in fields if not field.is_target)
        self.wanted = " and ".join(key for key, field in fields if field.is_target)
        train = corpus.parts["train"]
        found = {key: field.examiner(train[key]) for key, field in fields if not field.is_target}
        self.examiners = {key: own for key, own in found.items() if own is not None}

    def __len__(self) -> int:
        return int(self.edges[-1])

    def part_and_row(self, number: int) -> tuple[Part, int]:
        part = int(self.part[number])
        return self.parts[part], number - int(self.edges[part])

    def where(self, number: int) -> str:
        part, row = self.part_and_row(number)
        return part.where(row)

    def relative_position(self, number: int, other: int) -> str:
        """Where the other row is, for one that reads of the first: its line, where the file is the
        same."""
        one, two = self.where(number), self.where(other)
        file, _, line = two.rpartition(":")
        return f"line {line}" if file == one.rpartition(":")[0] else two

    def files(self) -> dict[str, np.ndarray]:
        """Of each table, named by the first part that has its rows: these, in the file's order."""
        lines, files = (np.concatenate([getattr(p, key) for p in self.parts])
                        for key in ("lines", "files"))  # fmt: skip
        found = {}
        for table in np.unique(self.table):
            rows = np.flatnonzero(self.table == table)
            home = self.names[self.part[rows[0]]]
            found[home] = rows[np.lexsort((lines[rows], files[rows]))]
        return found

    def of_part(self, name: str) -> np.ndarray:
        return np.flatnonzero(self.part == self.names.index(name))

    def hashes(self, rows: np.ndarray, ask: Asked) -> Ragged:
        """What the examiners of all inputs answer about sorted rows."""
        cuts = np.searchsorted(rows, self.edges)
        answers = []
        for part, first, last, edge in zip(self.parts, cuts, cuts[1:], self.edges):
            own = rows[first:last] - edge
            if len(own):
                answers.append(self._ask(part, own, ask))
        lengths = np.concatenate([own.lengths for own in answers])
        return Ragged.of_lengths(np.concatenate([own.values for own in answers]), lengths)

    def _ask(self, part: Part, rows: np.ndarray, ask: Asked) -> Ragged:
        found = [ask(examiner, part[key], rows) for key, examiner in self.examiners.items()]
        if len(found) == 1:
            return found[0]
        for key, own in zip(self.examiners, found):
            own.values ^= np.uint64(hash_of(key))  # the same text in another field is another
        return side_by_side(found)

    def shingles(self, rows: np.ndarray) -> Ragged:
        return self.hashes(rows, lambda examiner, values, own: examiner.shingles(values, own))

    def features(self, rows: np.ndarray) -> Ragged:
        return self.hashes(rows, lambda examiner, values, own: examiner.features(values, own))

    def _prints(self, *, targets: bool) -> np.ndarray:
        keys = [key for key, field in self.corpus.fields.items() if field.is_target == targets]
        common: dict[str, dict[str, int]] = {key: {} for key in keys}
        found = []
        for part in self.parts:
            numbers = [part[key].prints(common[key]).tolist() for key in keys]
            rows = zip(*numbers) if numbers else [()] * len(part)
            found.append(np.array([hash(row) for row in rows], dtype=np.int64))
        return np.concatenate(found)
