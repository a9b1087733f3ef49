"""pair: two texts a row, such as a premise and a hypothesis, with one vocabulary.

raw: a list or tuple of two str, or one str with ||| or a tab between them. values: `TokenPairs`.
tensors: `PairBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.config import TokenizerConfig
from unspool.data.fields.field import Where
from unspool.data.fields.text import TokenField
from unspool.data.fields.text_examiner import TextExaminer
from unspool.data.fields.tokens import TextForm, TextWriter, Tokens, padded
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged, TokenColumn
from unspool.errors import DataError, Option
from unspool.text.open_vocabulary import TokenRules
from unspool.text.tokenizers import PairFrame, PretrainedTokenizer, Tokenizer
from unspool.text.vocab import PAIR_SPECIALS, UNK_ID

MARK = "|||"  # between two texts that are written as one
Pair = tuple[str, str]


def as_pair(raw: Any, where: str = "") -> Pair:
    """Two texts, however they are given."""
    texts = raw
    if isinstance(raw, str):
        texts = [text.strip() for text in raw.split("\t" if "\t" in raw else MARK)]
    if not isinstance(texts, list | tuple) or len(texts) != 2:
        raise DataError(
            "two texts are read together",
            where=where or None,
            got=raw,
            remedy=f"give both with {MARK} between them, or in Python a tuple",
        )
    for text in texts:
        if not isinstance(text, str):
            raise DataError(
                f"a {type(text).__name__} is not a text",
                where=where or None,
                got=text,
                remedy="give two strings",
            )
    return texts[0], texts[1]


def shown_pair(raw: Any) -> str:
    return f" {MARK} ".join(as_pair(raw))


class PairBatch(NamedTuple):
    """B pairs, each as one sequence, padded to the longest, T tokens."""

    ids: Tensor  # (B, T) int64, padded with 0
    lengths: Tensor  # (B,) int64
    firsts: Tensor  # (B,) int64: the step where the second text begins

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.ids, self.lengths, self.firsts


def share_room(first: np.ndarray, second: np.ndarray, room: int | None) -> np.ndarray:
    """(N, 2) tokens that are kept of two texts, `room` in all: the longer one is cut first."""
    if room is None:
        return np.stack([first, second], 1)
    half = -(-room // 2)
    kept = np.minimum(first, np.maximum(half, room - second))
    return np.stack([kept, np.minimum(second, room - kept)], 1)


class TokenPairs(Tokens):
    """The ids of N pairs: those of the first text and of the second lie one after the other.

    split    (N,) tokens of the first text
    frame    ids before, between and after the two
    room     tokens of both at most, without the frame; None: all
    fill     stands for an empty second text where nothing comes after it; None: nothing
    lengths  (N,) of the sequences
    firsts   (N,) the step of each where the second text begins
    """

    def __init__(
        self,
        raw: Ragged,
        split: np.ndarray,
        *,
        remap: np.ndarray | None = None,
        pair_frame: PairFrame,
        room: int | None = None,
        fill: int | None = UNK_ID,
        characters: np.ndarray | None = None,
        types: Sequence[str] = (),
    ) -> None:
        super().__init__(raw, remap=remap, characters=characters, types=types)
        self.split, self.pair_frame, self.most, self.fill = split, pair_frame, room, fill
        self.kept = share_room(split, raw.lengths - split, room)  # (N, 2)
        second = self.kept[:, 1] if fill is None else np.maximum(self.kept[:, 1], 1)
        self.firsts = len(pair_frame.before) + self.kept[:, 0] + len(pair_frame.between)
        self.lengths = self.firsts + second + len(pair_frame.after)

    @classmethod
    def of_sides(cls, sides: Ragged, **options: Any) -> TokenPairs:
        """Join 2 N texts that lie one after the other: rows 2n and 2n + 1 are a pair."""
        lengths = sides.lengths[::2] + sides.lengths[1::2]
        joint = Ragged(sides.values, sides.starts[::2], lengths)
        return cls(joint, sides.lengths[::2], **options)

    @property
    def shortened(self) -> int:
        return int((self.raw.lengths > self.kept.sum(1)).sum())

    def is_shortened(self, row: int) -> bool:
        return bool(self.raw.lengths[row] > self.kept[row].sum())

    def __getitem__(self, row: int) -> np.ndarray:
        first, second = (int(n) for n in self.kept[row])
        split, (before, between, after) = int(self.split[row]), self.pair_frame
        b = self.slice(row, split, split + second)
        if self.fill is not None and not second:
            b = np.array([self.fill])
        a = self.slice(row, 0, first)
        return np.array([*before, *a, *between, *b, *after], dtype=np.int64)

    def digests(self) -> np.ndarray:
        """Two texts, and the same tokens cut elsewhere, differ."""
        return super().digests() * np.uint64(31) + self.split.astype(np.uint64)

    def prints(self, common: dict[str, int]) -> np.ndarray:
        return super().prints(common) * 31 + self.split

    def select(self, rows: np.ndarray) -> TokenPairs:
        return TokenPairs(
            self.raw.select(rows),
            self.split[rows],
            remap=self.remap,
            pair_frame=self.pair_frame,
            room=self.most,
            fill=self.fill,
            characters=None if self.characters is None else self.characters[rows],
            types=self.types,
        )


class PairWriter(TextWriter):
    """Writes pairs to a `TokenColumn` of 2 N texts.

    texts   makes two texts of a raw value
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        rules: TokenRules,
        texts: Callable[[Any, str], tuple[str, ...]] = as_pair,
    ) -> None:
        super().__init__(folder, name, rules)
        self.texts = texts

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        pairs = [self.texts(value, where(i)) for i, value in enumerate(values)]
        super().add([text for pair in pairs for text in pair], where)


class PairExaminer(TextExaminer):
    def correct(self, raw: Any, flaw: str) -> Any:
        if isinstance(raw, str):
            return super().correct(raw, flaw)
        return [super(PairExaminer, self).correct(text, flaw) for text in raw]

    def excerpt(self, raw: Any, flaw: str | None = None) -> str:
        return super().excerpt(raw if isinstance(raw, str) else shown_pair(raw), flaw)


class PairForm(TextForm):
    """Two texts a row."""

    kind = "pair"
    sample_text = f"some text {MARK} another"
    sides = ("one text", "another")
    streaming_reason = "it reads two texts, of which the second comes after the whole first"
    json_schema: ClassVar = {
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
        ]
    }

    def option(self, name: str) -> Option:
        return Option("text", "text_pair")

    def texts(self, raw: Any, where: str = "") -> Pair:
        return as_pair(raw, where)

    def sample(self, values: Sequence[Any]) -> list[Any]:
        return [text for value in values if isinstance(value, list | tuple) for text in value]

    def writer(self, folder: Path, name: str, rules: TokenRules) -> TextWriter:
        return PairWriter(folder, name, rules, self.texts)

    def open(self, column: TokenColumn, folder: Path, name: str) -> TokenColumn:
        """Add what else a writer has stored to a column."""
        return column

    def stored_pairs(
        self, pairs: TokenPairs, column: TokenColumn, tokenizer: Tokenizer
    ) -> TokenPairs:
        """Return the values of a stored column, of which `pairs` are the tokens."""
        return pairs

    def encoded_pairs(
        self, pairs: TokenPairs, raw: Sequence[Any], tokenizer: Tokenizer
    ) -> TokenPairs:
        """Return the values of raw values, of which `pairs` are the tokens."""
        return pairs

    def blank(self, column: TokenColumn) -> np.ndarray:
        return (column.characters.reshape(-1, 2) == 0).any(1)

    def missing(self, name: str, column: TokenColumn, rows: np.ndarray) -> str:
        empty = (column.characters.reshape(-1, 2)[rows] == 0).any(0)
        sides = [name for name, has in zip(("first", "second"), empty) if has]
        return f"an empty {' or '.join(sides)} text"

    def items(self, values: Any) -> Iterable[Any]:
        """A pair is a tuple of two strings, or one string; a list has several."""
        one = isinstance(values, tuple) and len(values) == 2
        if isinstance(values, str) or (one and isinstance(values[0], str)):
            values = [values]
        if not isinstance(values, Iterable):
            raise DataError(
                f"a {type(values).__name__} is not a pair of texts",
                got=values,
                remedy="give tuples",
            )
        return (as_pair(value, f"item {n}") for n, value in enumerate(values, 1))

    def shown(self, raw: Any) -> str:
        return shown_pair(raw)

    def to_json(self, raw: Any) -> str:
        return self.shown(raw)

    def from_json(self, value: Any, where: str) -> Any:
        return as_pair(value, where)

    def examiner(self, values: Tokens, *, words: bool, unit: str) -> PairExaminer:
        return PairExaminer(values, words=words, unit=unit)


class PairField(TokenField):
    """A column of pairs, each read as one sequence, and the step where the second text begins."""

    form: PairForm

    def __init__(
        self,
        name: str,
        settings: TokenizerConfig,
        *,
        form: PairForm | None = None,
        max_length: int = 0,
    ) -> None:
        super().__init__(
            name, settings, form=form or PairForm(), specials=PAIR_SPECIALS, max_length=max_length
        )

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.form.kind

    @property
    def pair_frame(self) -> PairFrame:
        return self.fitted.pair_frame

    @property
    def room(self) -> int | None:
        if not self.max_length or not self.form.limited:
            return None
        return max(2, self.max_length - self.pair_frame.size)

    @property
    def _options(self) -> dict[str, Any]:
        pretrained = isinstance(self.fitted, PretrainedTokenizer)
        fill = None if pretrained and self.pair_frame.after else UNK_ID
        return {"pair_frame": self.pair_frame, "room": self.room, "fill": fill}

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> TokenColumn:
        return self.form.open(super().open(folder, key, where), folder, self.name)

    def fit(
        self, column: TokenColumn, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        both = np.stack([2 * rows, 2 * rows + 1], 1).reshape(-1)
        return super().fit(column, both, where=where, progress=progress)

    def values(self, column: TokenColumn, progress: Progress = None) -> TokenPairs:
        numbered, remap = self.numbered(column, column.spans(), progress)
        pairs = TokenPairs.of_sides(
            Ragged.of_offsets(numbered.ids, numbered.offsets),
            remap=remap,
            characters=column.characters.reshape(-1, 2).sum(1),
            types=numbered.types,
            **self._options,
        )
        return self.form.stored_pairs(pairs, column, self.fitted)

    def encode(self, raw: Sequence[Any]) -> TokenPairs:
        texts = [text for value in raw for text in self.form.texts(value)]
        sides = Ragged.of([self.fitted.ids(text) for text in texts])
        pairs = TokenPairs.of_sides(sides, **self._options)
        return self.form.encoded_pairs(pairs, raw, self.fitted)

    def check(self, values: Tokens, where: Where) -> list[str]:
        if not self.form.limited or not values.shortened:
            return []
        most = f"{self.max_length:,} tokens, the longer text first"
        return [f"{values.shortened:,} pairs cut to {most}"]

    def collate(self, values: Any, rows: np.ndarray) -> PairBatch:
        firsts = torch.from_numpy(values.firsts[rows].astype(np.int64))
        return PairBatch(*padded(values, rows), firsts)

    def portable_item(self, steps: int, rng: np.random.Generator) -> Any:
        pieces, cut = self.random_pieces(steps + 1, rng), -(-steps // 2)
        return [self.joined(pieces[:cut]), self.joined(pieces[cut:])]

    def portable(self) -> dict[str, Any]:
        frame = [list(ids) for ids in self.pair_frame]
        return {**super().portable(), "kind": "pair", "frame": frame, "fill": self._options["fill"]}

    def labels(self, text: Any) -> list[str]:
        return self.fitted.shown(self.encode([text])[0].tolist())
