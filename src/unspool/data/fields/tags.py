"""tags: a tag for each word of a sentence; tags that mark spans are IOBES inside.

raw: list of str. values: `TagValues`. The scheme is recognised from the tags or named by the user,
and then kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from unspool.data.fields.field import Where
from unspool.data.fields.label import FILE, NamesField, checked_names
from unspool.data.fields.words import WordsWriter, spread
from unspool.data.schemes import (
    LETTERS,
    SCHEMES,
    Marks,
    Scheme,
    SchemeSetting,
    WrongTag,
    as_iobes,
    breaches,
    find_spans,
    guess_letters,
    parse_tags,
    tag_name,
)
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged, TokenColumn, Windows
from unspool.errors import DataError, Option, RunError, Setting
from unspool.io.files import AGAIN, read_json, write_json
from unspool.text.open_vocabulary import TokenRules


class TagColumn(NamedTuple):
    """The tags of a column in IOBES: of each word (M,) the index in `names`; a note about them; the
    scheme in which they are written."""

    ids: np.ndarray
    names: list[str]
    note: str
    scheme: Scheme


class TagValues:
    """The tags of N sentences.

    names   the tags that the model knows, then others that occur all the same
    """

    def __init__(self, ids: Ragged, names: list[str], note: str = "") -> None:
        self.ids, self.names, self.note = ids, names, note
        self.lengths = ids.lengths

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> np.ndarray:
        """(T,) indices into `names`."""
        return self.ids[row]

    def prints(self, common: dict[str, int]) -> np.ndarray:
        rows = range(len(self))
        return np.array([hash(self[row].tobytes()) for row in rows], dtype=np.int64)

    def select(self, rows: np.ndarray) -> TagValues:
        return TagValues(self.ids.select(rows), self.names, self.note)

    def windows(self, windows: Windows) -> TagValues:
        return TagValues(self.ids.windows(windows), self.names, self.note)


class TagsField(NamesField):
    """The names, sorted, are fitted: those that occur in training.

    scheme    how tags mark spans, or auto
    written   the scheme of the training data, in which answers are written
    """

    kind = "tags"
    unit = "tags"

    def __init__(self, name: str, *, scheme: SchemeSetting = "auto") -> None:
        super().__init__(name)
        self.scheme = scheme
        self.written: Scheme = "iobes"

    @property
    def marks(self) -> Marks | None:
        """Spans that the tags mark; None where they stand for themselves."""
        plain = self.scheme == "none" or guess_letters(self.names) == "none"
        return None if plain else parse_tags(self.names, "iobes")

    def writer(self, folder: Path) -> WordsWriter:
        return WordsWriter(folder, self.name, TokenRules.of_tokens("none"))

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> TokenColumn:
        return TokenColumn.load(folder, self.name, key, where)

    def survey(self, column: TokenColumn, rows: np.ndarray, *, where: str) -> None:
        self.read(column)

    def fit(
        self, column: TokenColumn, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        """The tags that occur in training, sorted; at least two."""
        tags = self.read(column)
        note = f"tags of {where}: {tags.note}"
        seen = np.unique(np.concatenate([tags.ids[a:b] for a, b in column.spans()[rows]]))
        self.names, self.written = sorted(tags.names[i] for i in seen), tags.scheme
        if len(self.names) < 2:
            raise DataError(
                "all words have the same tag, so there is nothing to learn",
                where=where,
                got=self.names[0],
                remedy=("name the column of the tags with ", Option("label"), ", or add sentences"),
            )
        return [note]

    def invent(self, *, vocab: int, classes: int) -> None:
        self.names = [f"class{i}" for i in range(classes)]

    def values(self, column: TokenColumn, progress: Progress = None) -> TagValues:
        """Tags are numbered as `names`; others, which the model cannot give, after them."""
        tags = self.read(column)
        if self.marks is not None:
            self._refuse_no_spans(column, tags)
        index = {name: i for i, name in enumerate(self.names)}
        numbers = np.array([index.setdefault(name, len(index)) for name in tags.names])
        ids = Ragged.of_offsets(numbers[tags.ids], column.offsets)
        return TagValues(ids, list(index), tags.note)

    def _refuse_no_spans(self, column: TokenColumn, tags: TagColumn) -> None:
        """A model of spans cannot be judged by tags that mark none."""
        try:
            parse_tags(tags.names, "iobes")
        except WrongTag as error:
            token = int(np.argmax(tags.ids == tags.names.index(error.tag)))
            raise DataError(
                f"tag {error.tag!r} marks no span, and the model finds spans",
                where=column.where_token(token),
                remedy=("name a column of tags such as B-PER with ", Option("label")),
            ) from None

    def check(self, values: TagValues, where: Where) -> list[str]:
        if len(values.names) == len(self.names):
            return []
        unknown = np.unique(np.concatenate([values[row] for row in range(len(values))]))
        unknown = unknown[unknown >= len(self.names)]
        if not len(unknown):
            return []
        shown = ", ".join(repr(values.names[i]) for i in unknown[:8])
        return [f"tags that do not occur in training, and so are never found: {shown}"]

    def unknown(self, values: TagValues, where: Where) -> list[str]:
        return [f"tags: {values.note}"]

    def encode(self, raw: Sequence[Sequence[str]]) -> TagValues:
        index = {name: i for i, name in enumerate(self.names)}
        numbers = [np.array([index[tag] for tag in tags], dtype=np.int64) for tags in raw]
        return TagValues(Ragged.of(numbers), self.names)

    def collate(self, values: TagValues, rows: np.ndarray) -> Tensor:
        """(B, T) int64, padded with 0"""
        tags = np.concatenate([values[int(row)] for row in rows])
        return spread(tags, values.lengths[rows])

    def tally(self, values: TagValues) -> dict[str, int]:
        """The types of spans, or the tags where they mark none."""
        names, ids = values.names, np.concatenate([values[row] for row in range(len(values))])
        if self.marks is not None:
            marks = parse_tags(values.names, "iobes")
            begins = np.cumsum(values.lengths) - values.lengths
            names, ids = marks.names, find_spans(marks.at(ids), begins).types
        counts = np.bincount(ids, minlength=len(names))
        return {name or "span": int(count) for name, count in zip(names, counts)}

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, {"names": self.names, "scheme": self.written})

    def load(self, folder: Path) -> None:
        content = read_json(path := folder / FILE)
        if isinstance(content, list):  # of a run that answers in IOBES
            content = {"names": content, "scheme": "iobes"}
        if not isinstance(content, dict) or content.get("scheme") not in SCHEMES:
            raise RunError("not a list of tags and their scheme", where=path, remedy=AGAIN)
        self.names, self.written = checked_names(content.get("names"), path), content["scheme"]
        try:
            _ = self.marks
        except WrongTag as error:
            raise RunError(
                f"tag {error.tag!r} {error}", where=folder / FILE, remedy=AGAIN
            ) from None

    def read(self, column: TokenColumn) -> TagColumn:
        """The tags of a column, spans as IOBES."""
        types, ids = column.types[1:], column.ids.astype(np.int64) - 1  # raw id 0 is not a tag
        begins = column.offsets[:-1]
        try:
            scheme: Scheme = guess_letters(types) if self.scheme == "auto" else self.scheme
            if scheme == "none":
                note = f"{len(types)} different, which mark no spans"
                return TagColumn(ids, types, note, scheme)
            marks = parse_tags(types, scheme)
        except WrongTag as error:
            token = int(np.argmax(ids == types.index(error.tag)))
            raise DataError(
                f"tag {error.tag!r} {error}",
                where=column.where_token(token),
                remedy=("correct it, or ", Setting(scheme="none"), " takes the tags as they are"),
            ) from None
        parsed = marks.at(ids)
        wrong = breaches(parsed, begins, scheme)
        if len(wrong) and self.scheme != "auto":
            raise self._breach(column, types, ids, int(wrong[0]), scheme)
        if scheme == "iob2" and len(other := breaches(parsed, begins, "iob1")) < len(wrong):
            scheme, wrong = "iob1", other
        note = f"{scheme.upper()}, spans of {len(marks.names)} types{_listed(parsed, begins)}"
        if len(wrong):
            first = column.where_token(int(wrong[0]))
            note += f"; {len(wrong):,} tags break its rules, the first at {first}, read as by"
            note += " conlleval"
        codes = np.where(
            parsed.types < 0, 0, parsed.types * len(LETTERS) + as_iobes(parsed, begins)
        )
        kinds, numbers = np.unique(codes, return_inverse=True)
        names = [
            "O" if code == 0 else tag_name(code % len(LETTERS), marks.names[code // len(LETTERS)])
            for code in kinds.tolist()
        ]
        return TagColumn(numbers, names, note, scheme)

    def _breach(
        self, column: TokenColumn, types: list[str], ids: np.ndarray, token: int, scheme: str
    ) -> DataError:
        first = token in column.offsets
        before = "the beginning of the sentence" if first else repr(types[ids[token - 1]])
        return DataError(
            f"tag {types[ids[token]]!r} after {before} breaks the rules of {scheme.upper()}",
            where=column.where_token(token),
            remedy="correct it, or leave out data.scheme, so that such tags are read as conlleval"
            " does",
        )


def _listed(marks: Marks, begins: np.ndarray) -> str:
    """` (LOC 12, PER 3)`, the most frequent first."""
    counts = np.bincount(find_spans(marks, begins).types, minlength=len(marks.names))
    order = np.argsort(-counts, kind="stable")[:8]
    shown = [f"{marks.names[i]} {counts[i]:,}".strip() for i in order]
    return f" ({', '.join(shown)}{', ...' if len(counts) > len(shown) else ''})"
