"""The rows of all parts of a corpus, numbered through; checks of their characters and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from unspool.data.check.report import DoubtfulRow, Finding, PartReport
from unspool.data.corpus import Corpus
from unspool.data.fields.examiner import Examiner
from unspool.data.fields.field import Examined, Spelled
from unspool.data.fields.label import shown_alike, spelled_alike
from unspool.data.fields.ngrams import hash_of
from unspool.data.part import Part
from unspool.data.store.ragged import Ragged, side_by_side

RARE = 10  # rows of a class
DRIFT = 0.05  # total variation: this share of a part would need another label to match train
CHANCE = 0.001  # a difference that is less probable than this is no chance


def about_names(parts: list[PartReport]) -> Iterator[Finding]:
    """Labels that differ only in spelling; labels that few rows have."""
    counts: dict[str, int] = {}
    for part in parts:
        for name, count in part.labels.items():
            counts[name] = counts.get(name, 0) + count
    if alike := spelled_alike(counts):
        yield Finding(
            "label-spelling",
            f"labels differ only in spelling: {shown_alike(alike)}",
            sum(map(len, alike)),
            remedy="write each label in one way",
        )
    rare = sorted((count, name) for name, count in counts.items() if 0 < count < RARE)
    if rare:
        listed = ", ".join(f"{name!r} {count}" for count, name in rare[:5])
        more = ", ..." if len(rare) > 5 else ""
        yield Finding(
            "rare-label",
            f"labels have fewer than {RARE} rows: {listed}{more}",
            len(rare),
            remedy="add rows, or join them with another label",
        )


def about_drift(parts: list[PartReport]) -> Iterator[Finding]:
    """Parts whose labels are distributed otherwise than those of train, by more than chance."""
    train = next((part for part in parts if part.name == "train" and part.labels), None)
    for part in parts if train is not None else []:
        if part is train or not sum(part.labels.values()):
            continue
        assert train is not None
        distance = total_variation(train.labels, part.labels)
        if distance < DRIFT or chance_of(train.labels, part.labels) > CHANCE:
            continue
        name = max(
            sorted({*train.labels, *part.labels}),
            key=lambda name: abs(share(train.labels, name) - share(part.labels, name)),
        )
        before, after = (100 * share(labels, name) for labels in (train.labels, part.labels))
        yield Finding(
            "drift",
            f"part has other shares of labels than train: {100 * distance:.0f} % of {part.name}"
            f" would need another label to match; {name!r} is {before:.1f} % of train and"
            f" {after:.1f} % of {part.name}",
            1,
            remedy="split at random, or expect other scores than those of validation",
        )


def total_variation(one: Mapping[str, int], two: Mapping[str, int]) -> float:
    """½ Σ |p - q|"""
    return sum(abs(share(one, name) - share(two, name)) for name in {*one, *two}) / 2


def chance_of(one: Mapping[str, int], two: Mapping[str, int]) -> float:
    """The probability of a difference at least as large if both had the same shares (χ²)."""
    from scipy.stats import chi2_contingency

    names = [name for name in {*one, *two} if one.get(name, 0) + two.get(name, 0)]
    table = np.array([[counts.get(name, 0) for name in names] for counts in (one, two)])
    return float(chi2_contingency(table).pvalue)


def share(labels: Mapping[str, int], name: str) -> float:
    return labels.get(name, 0) / max(1, sum(labels.values()))


SHOWN = 5


def about_characters(corpus: Corpus) -> Iterator[Finding]:
    """Characters that occur once in the training texts that are to be written."""
    train = corpus.parts["train"]
    for key, field in corpus.fields.items():
        if not isinstance(field, Spelled) or not corpus.fields[key].is_target:
            continue
        if once := field.characters_once(train[key]):
            yield Finding(
                "rare-character",
                f"characters of the {key} occur once in train",
                len(once),
                [
                    DoubtfulRow(train.where(row), repr(character), "")
                    for character, row in once.items()
                ][:SHOWN],
                "look whether they are meant; one example teaches no model to write them",
            )


Hasher = Callable[[Examiner, Any, np.ndarray], Ragged]


def examiners(corpus: Corpus) -> dict[str, Examiner]:
    """The examiners of all fields that have one, targets included."""
    train = corpus.parts["train"]
    examined = {key: field for key, field in corpus.fields.items() if isinstance(field, Examined)}
    every = {key: field.examiner(train[key]) for key, field in examined.items()}
    return {key: examiner for key, examiner in every.items() if examiner is not None}


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
        self.examiners = {
            key: examiner
            for key, examiner in examiners(corpus).items()
            if not corpus.fields[key].is_target
        }

    def __len__(self) -> int:
        return int(self.edges[-1])

    def part_and_row(self, number: int) -> tuple[Part, int]:
        part = int(self.part[number])
        return self.parts[part], number - int(self.edges[part])

    def where(self, number: int) -> str:
        part, row = self.part_and_row(number)
        return part.where(row)

    def relative_position(self, number: int, other: int) -> str:
        """Position of another row, seen from a first: its line, if the file is the same."""
        one, two = self.where(number), self.where(other)
        file, _, line = two.rpartition(":")
        return f"line {line}" if file == one.rpartition(":")[0] else two

    def files(self) -> dict[str, np.ndarray]:
        """The rows of each table in the file's order; a table is named by its first part."""
        lines, files = (np.concatenate([getattr(p, key) for p in self.parts])
                        for key in ("lines", "files"))  # fmt: skip
        by_table = {}
        for table in np.unique(self.table):
            rows = np.flatnonzero(self.table == table)
            home = self.names[self.part[rows[0]]]
            by_table[home] = rows[np.lexsort((lines[rows], files[rows]))]
        return by_table

    def of_part(self, name: str) -> np.ndarray:
        return np.flatnonzero(self.part == self.names.index(name))

    def hashes(self, rows: np.ndarray, ask: Hasher) -> Ragged:
        """Return the answers of the examiners of all inputs about sorted rows."""
        cuts = np.searchsorted(rows, self.edges)
        answers = []
        for part, first, last, edge in zip(self.parts, cuts, cuts[1:], self.edges):
            in_part = rows[first:last] - edge
            if len(in_part):
                answers.append(self._ask(part, in_part, ask))
        lengths = np.concatenate([in_part.lengths for in_part in answers])
        return Ragged.of_lengths(np.concatenate([in_part.values for in_part in answers]), lengths)

    def _ask(self, part: Part, rows: np.ndarray, ask: Hasher) -> Ragged:
        answers = [ask(examiner, part[key], rows) for key, examiner in self.examiners.items()]
        if len(answers) == 1:
            return answers[0]
        for key, answer in zip(self.examiners, answers):
            answer.values ^= np.uint64(hash_of(key))  # the same text in another field is another
        return side_by_side(answers)

    def shingles(self, rows: np.ndarray) -> Ragged:
        return self.hashes(rows, lambda examiner, values, rows: examiner.shingles(values, rows))

    def features(self, rows: np.ndarray) -> Ragged:
        return self.hashes(rows, lambda examiner, values, rows: examiner.features(values, rows))

    def _prints(self, *, targets: bool) -> np.ndarray:
        keys = [key for key, field in self.corpus.fields.items() if field.is_target == targets]
        common: dict[str, dict[str, int]] = {key: {} for key in keys}
        prints = []
        for part in self.parts:
            numbers = [part[key].prints(common[key]).tolist() for key in keys]
            rows = zip(*numbers) if numbers else [()] * len(part)
            prints.append(np.array([hash(row) for row in rows], dtype=np.int64))
        return np.concatenate(prints)
