"""texts: several texts a row, each of them a possible answer, such as the captions of an image.

raw: list[str]. values: `Texts`. tensors: `TextsBatch`, the texts of all rows one after the other.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.config import TokenizerConfig
from unspool.data.fields.bytepairs import TokenStretches
from unspool.data.fields.field import Measure, Where
from unspool.data.fields.text import TokenField
from unspool.data.fields.tokens import TextWriter, Tokens, padded
from unspool.data.read import Column
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged, TokenColumn, gather
from unspool.errors import DataError
from unspool.io.files import stored_state, write_json
from unspool.text.open_vocabulary import TokenRules
from unspool.text.vocab import SENTENCE_SPECIALS, UNK_ID

FILE = "texts.json"


class TextsColumn(NamedTuple):
    """The texts of all rows, and of each row which of them are its own."""

    texts: TokenColumn
    rows: Ragged

    def __len__(self) -> int:
        return len(self.rows)


class TextsBatch(NamedTuple):
    """M texts of B rows, padded to the longest of T tokens."""

    ids: Tensor  # (M, T) int64, padded with 0
    lengths: Tensor  # (M,) int64
    sizes: Tensor  # (B,) int64: how many texts each row has

    @property
    def rows(self) -> Tensor:
        """(M,) the row of the batch that each text belongs to; on the CPU."""
        return torch.arange(len(self.sizes)).repeat_interleave(self.sizes)


class Texts:
    """The ids of the texts of N rows.

    tokens    of all texts
    rows      of each row, the numbers of its texts
    lengths   (N,) tokens of all texts of a row
    """

    def __init__(self, tokens: Tokens, rows: Ragged) -> None:
        self.tokens, self.rows = tokens, rows
        ends = np.concatenate([[0], np.cumsum(tokens.lengths[rows.values], dtype=np.int64)])
        self.lengths = ends[rows.starts + rows.lengths] - ends[rows.starts]

    def __len__(self) -> int:
        return len(self.rows)

    def prints(self, common: dict[str, int]) -> np.ndarray:
        """(N,) a number for each row, equal where the texts are, in whatever order."""
        texts = self.tokens.prints(common)
        rows = (self.rows[row] for row in range(len(self)))
        return np.array(
            [hash(tuple(sorted(texts[numbers].tolist()))) for numbers in rows], np.int64
        )

    def select(self, rows: np.ndarray) -> Texts:
        return Texts(self.tokens, self.rows.select(rows))

    def of(self, rows: np.ndarray) -> np.ndarray:
        """The numbers of the texts of some rows, one after the other."""
        return gather(self.rows.select(rows))

    def __getitem__(self, row: int) -> list[np.ndarray]:
        """int64 ids of each text of a row."""
        return [self.tokens[int(text)] for text in self.rows[row]]

    @property
    def all_tokens(self) -> Tokens:
        return self.tokens.select(self.of(np.arange(len(self))))


class TextsWriter:
    """Lists of strings to a `TextsColumn`; empty ones are left out."""

    def __init__(self, folder: Path, name: str, rules: TokenRules) -> None:
        self.folder, self.name = folder, name
        self.texts, self.counts = TextWriter(folder, name, rules), array("q")

    def add(self, values: list[list[str]], where: Callable[[int], str]) -> None:
        kept = [[text for text in row if text.strip()] for row in values]
        self.counts.extend(map(len, kept))
        self.texts.add([text for row in kept for text in row], where)

    def close(self) -> None:
        self.texts.close()
        counts = np.frombuffer(self.counts, dtype=np.int64)
        np.save(self.folder / f"{self.name}.texts.npy", counts)


class TextsField(TokenField):
    """A column of lists of texts that are to be written, from <s> to </s>.

    longest   tokens of the longest text of the training rows, without marks
    """

    kind = "texts"

    def __init__(self, name: str, settings: TokenizerConfig) -> None:
        super().__init__(
            name, settings, specials=SENTENCE_SPECIALS, marks=(True, True), is_target=True
        )
        self.files, self.longest = (self.file, FILE), 1

    def look(self, column: Column) -> None:
        texts = [text for row in column.sample if isinstance(row, list) for text in flat(row)]
        super().look(column._replace(sample=texts))

    def writer(self, folder: Path) -> TextsWriter:
        return TextsWriter(folder, self.name, self.rules)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Any:
        counts = np.load(folder / f"{self.name}.texts.npy")
        numbers = Ragged.of_lengths(np.arange(counts.sum()), counts)
        rows = np.repeat(np.arange(len(counts)), counts)

        def where_text(text: int, step: int) -> str:
            return where(int(rows[text]), 0)

        return TextsColumn(TokenColumn.load(folder, self.name, key, where_text), numbers)

    def blank(self, column: Any) -> np.ndarray:
        return column.rows.lengths == 0

    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        spans = column.texts.spans()[gather(column.rows.select(rows))]
        notes = self.fit_spans([TokenStretches(column.texts, spans)], progress)
        counts = column.rows.lengths[rows]
        values = Texts(self._tokens(column.texts, progress), column.rows.select(rows))
        self.longest = max(1, int(values.all_tokens.sizes.max(initial=1)))
        per_row = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.mean():.2f}"
        return [
            *notes,
            f"{counts.sum():,} {self.name}s of {len(rows):,} in train, {per_row} each,"
            f" {self.longest:,} {self.unit} at most",
        ]

    def invent(self, *, vocab: int, classes: int) -> None:
        super().invent(vocab=vocab, classes=classes)
        self.longest = 20

    def values(self, column: Any, progress: Progress = None) -> Any:
        return Texts(self._tokens(column.texts, progress), column.rows)

    def _tokens(self, column: TokenColumn, progress: Progress) -> Tokens:
        return super().values(column, progress)

    def check(self, values: Any, where: Where) -> list[str]:
        return []

    def unknown(self, values: Any, where: Where) -> list[str]:
        texts = values.all_tokens
        count = int(texts.counts(UNK_ID).sum())
        if not count:
            return []
        return [
            f"{count:,} of {int(texts.sizes.sum()):,} tokens of the {self.name}s are unknown to the"
            " vocabulary"
        ]

    def encode(self, raw: Sequence[Any]) -> Any:
        rows = [flat(row) for row in raw]
        counts = np.array(list(map(len, rows)), dtype=np.int64)
        tokens = super().encode([text for row in rows for text in row])
        return Texts(tokens, Ragged.of_lengths(np.arange(counts.sum()), counts))

    def collate(self, values: Any, rows: np.ndarray) -> Any:
        sizes = torch.from_numpy(values.rows.lengths[rows].astype(np.int64))
        return TextsBatch(*padded(values.tokens, values.of(rows)), sizes)

    def measure(self, values: Any) -> Measure:
        return super().measure(values.all_tokens)

    def advise(self, values: Any, unknown: float) -> Any:
        return super().advise(values.all_tokens, unknown)

    def characters_once(self, values: Any) -> dict[str, int]:
        return {}

    def examiner(self, values: Any) -> None:
        """None: rows are compared by what is read."""

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / FILE, {"longest": self.longest})

    def load(self, folder: Path) -> None:
        super().load(folder)
        with stored_state(folder / FILE, "not the length of texts") as stored:
            self.longest = stored["longest"]
            if not isinstance(self.longest, int) or not 1 <= self.longest <= 1 << 24:
                raise ValueError


def flat(value: Any) -> list[str]:
    """The strings of a string, of a list of strings, or of a list of such lists; None is none."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    return [text for part in value for text in flat(part)]


def texts_of(value: Any, name: str, where: str) -> list[str]:
    """Return the texts of cells or fields of JSON, with single spaces and without empty ones."""
    if value is None:
        return []
    if isinstance(value, str):
        text = " ".join(value.split())
        return [text] if text else []
    if isinstance(value, list | tuple):
        return [text for part in value for text in texts_of(part, name, where)]
    if isinstance(value, dict) and isinstance(value.get("raw"), str):  # beside its tokens
        return texts_of(value["raw"], name, where)
    raise DataError(
        f"the {name} is not text",
        where=where,
        got=value,
        remedy="write it as a string, or several as a list of strings",
    )
