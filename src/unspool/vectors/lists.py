"""Agreement of vectors with people: vectors and a list in, a score with its coverage out.

Two kinds of lists, distinguished by their first lines: `word word score` lines (WordSim-353, MEN),
scored by Spearman's rank correlation; and `a b c d` lines under `: section` titles (Google's
analogies), scored by how often the word nearest to b − a + c is d.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.data.read.files import TextFile, find_files
from unspool.errors import DataError
from unspool.vectors.words import WordVectors

BATCH = 512  # questions compared with all words at once


class WordListRow(NamedTuple):
    line: int
    section: str
    fields: list[str]


@dataclass(frozen=True)
class SimilarityScore:
    """Spearman's correlation over the pairs whose two words have vectors."""

    name: str
    pairs: int
    covered: int
    spearman: float

    def to_json(self) -> dict[str, Any]:
        return {"list": self.name, **_fields(self, "pairs", "covered", "spearman")}

    def lines(self) -> list[str]:
        return [f"Spearman {self.spearman:.4f}   {self.covered:,} of {self.pairs:,} pairs covered"]


@dataclass(frozen=True)
class AnalogyScore:
    """Accuracy on the analogies whose four words have vectors; and of each section (right, covered,
    questions)."""

    name: str
    questions: int
    covered: int
    right: int
    sections: dict[str, tuple[int, int, int]]

    @property
    def accuracy(self) -> float:
        return self.right / self.covered

    def to_json(self) -> dict[str, Any]:
        names = ("right", "covered", "questions")
        return {
            "list": self.name,
            **_fields(self, "questions", "covered", "right", "accuracy"),
            "sections": {name: dict(zip(names, row)) for name, row in self.sections.items()},
        }

    def lines(self) -> list[str]:
        width = max(5, *map(len, self.sections))
        total = ("total", (self.right, self.covered, self.questions))
        lines = [f"{'':<{width}}  accuracy   right  covered     of"]
        for name, (right, covered, of) in [*self.sections.items(), total]:
            share = right / max(1, covered)
            lines.append(f"{name:<{width}}  {share:8.4f}  {right:6d}  {covered:7d}  {of:5d}")
        return lines


def score(vectors: WordVectors, path: str | Path) -> SimilarityScore | AnalogyScore:
    """Compare vectors with a list in a file."""
    file = find_files(str(path), encoding="utf-8")[0]
    rows = list(_rows(file))
    if not rows:
        raise DataError("the list is empty", where=file.name, remedy="name a file of word pairs")
    if rows[0].section or len(rows[0].fields) == 4:
        return _analogies(vectors, rows, file.name)
    return _similarities(vectors, rows, file.name)


def _rows(file: TextFile) -> Iterator[WordListRow]:
    section = ""
    for number, line in enumerate(file.lines(), start=1):
        text = line.strip()
        if text.startswith(":"):
            section = text[1:].strip()
        elif text and not text.startswith("#"):
            delimiter = next((mark for mark in "\t,;" if mark in text), None)
            yield WordListRow(number, section, [field.strip() for field in text.split(delimiter)])


def _similarities(vectors: WordVectors, rows: list[WordListRow], name: str) -> SimilarityScore:
    from scipy.stats import spearmanr

    if len(rows) > 1 and not _is_number(rows[0].fields[-1]):  # the names of the columns
        rows = rows[1:]
    people, cosines = [], []
    for row in rows:
        if len(row.fields) < 3 or not _is_number(row.fields[2]):
            raise DataError(
                "a row of a similarity list is two words and a score",
                where=f"{name}:{row.line}",
                got=" ".join(row.fields),
                remedy="correct or remove the row",
            )
        first, second = map(vectors.find, row.fields[:2])
        if first is not None and second is not None:
            people.append(float(row.fields[2]))
            cosines.append(float(vectors.units[first] @ vectors.units[second]))
    if len(people) < 3:
        raise _uncovered(vectors, len(people), len(rows), name)
    rho = float(spearmanr(people, cosines).statistic)
    return SimilarityScore(name, len(rows), len(people), rho)


def _analogies(vectors: WordVectors, rows: list[WordListRow], name: str) -> AnalogyScore:
    questions, titles, counts = [], [], dict[str, list[int]]()
    for row in rows:
        if len(row.fields) != 4:
            raise DataError(
                "an analogy is four words",
                where=f"{name}:{row.line}",
                got=" ".join(row.fields),
                remedy="correct or remove the row",
            )
        counts.setdefault(row.section, [0, 0, 0])[2] += 1
        ids = [id_ for word in row.fields if (id_ := vectors.find(word)) is not None]
        if len(ids) == 4:
            counts[row.section][1] += 1
            questions.append(ids)
            titles.append(row.section)
    if not questions:
        raise _uncovered(vectors, 0, len(rows), name)
    right = completed(vectors, np.array(questions))
    for section, hit in zip(titles, right):
        counts[section][0] += int(hit)
    sections = {title or "-": (row[0], row[1], row[2]) for title, row in counts.items()}
    return AnalogyScore(name, len(rows), len(questions), int(right.sum()), sections)


def completed(vectors: WordVectors, questions: np.ndarray) -> np.ndarray:
    """(Q,) bool: whether d is the word nearest to b − a + c, for (Q, 4) numbers of words."""
    right = np.empty(len(questions), bool)
    for start in range(0, len(questions), BATCH):
        batch = questions[start : start + BATCH]
        a, b, c = (vectors.units[batch[:, i]] for i in range(3))
        near = (b - a + c) @ vectors.units.T  # (BATCH, V)
        np.put_along_axis(near, batch[:, :3], -np.inf, axis=1)
        right[start : start + BATCH] = near.argmax(axis=1) == batch[:, 3]
    return right


def _uncovered(vectors: WordVectors, covered: int, count: int, name: str) -> DataError:
    return DataError(
        f"too few of its {count:,} rows have words that are in {vectors.source}",
        where=name,
        got=covered,
        remedy="give vectors of more words, or another list",
    )


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _fields(score: object, *names: str) -> dict[str, Any]:
    return {name: getattr(score, name) for name in names}
