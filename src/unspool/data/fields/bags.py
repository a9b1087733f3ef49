"""bags: a string a row, as the counts of its n-grams: a bag in which order is lost but for them.

raw: str, or a pair of them; words of the second text are other features than those of the first,
texts of characters are one bag. values: `Bags`. tensors: `BagBatch`. The features are those of
scikit-learn's `TfidfVectorizer`, which predictions do without: it takes longer to import than they
do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.config import TokenizerConfig
from unspool.data.fields.bag_vocabulary import (
    Distinct,
    FeaturePairs,
    SpellingNgrams,
    TokenNgrams,
    distinct,
    stretches,
    text_frequency,
)
from unspool.data.fields.field import Where
from unspool.data.fields.text import TokenField
from unspool.data.fields.tokens import TextForm, Tokens, word_ids
from unspool.data.fields.vocabulary import open_tokenizer
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import Ragged, TokenColumn, gather
from unspool.io.files import stored_state, write_json
from unspool.text.vocab import SPECIALS, Vocab

FILE = "ngrams.json"
SECOND = "›"  # before the words of a second text
FIRST = len(SPECIALS)  # id of the first token of a vocabulary
CHUNK_TOKENS = 1 << 20  # tokens that are counted at once
LONGEST = {"word": 2, "char": 5}  # tokens of an n-gram
MOST_SPELLED = 4_000_000  # words of all texts, beyond which their characters are not counted


class BagBatch(NamedTuple):
    """The features of B texts, padded to the most, T."""

    ids: Tensor  # (B, T) int64
    counts: Tensor  # (B, T) float64, padded with 0
    lengths: Tensor  # (B,) int64

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.ids, self.counts


class Bags:
    """The features of N texts and how often each occurs, in the order of the features.

    read   the tokens that they are made of
    """

    def __init__(self, features: Ragged, counts: Ragged, read: Tokens) -> None:
        self.features, self.counts, self.read = features, counts, read
        self.lengths = np.maximum(features.lengths, 1)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def tokens(self) -> np.ndarray:
        return self.read.sizes

    def digests(self) -> np.ndarray:
        return self.read.digests()

    def select(self, rows: np.ndarray) -> Bags:
        return Bags(self.features.select(rows), self.counts.select(rows), self.read.select(rows))

    def below(self, size: int) -> Bags:
        """Only features of smaller numbers."""
        counts = [int(np.searchsorted(self.features[row], size)) for row in range(len(self))]
        lengths = np.array(counts, dtype=np.int64)
        return Bags(
            Ragged(self.features.values, self.features.starts, lengths),
            Ragged(self.counts.values, self.counts.starts, lengths),
            self.read,
        )


class NgramField(TokenField):
    """n-grams of one and two words and, within words, of 2 to 5 characters; where a text is not
    made of words, n-grams of 1 to 5 characters. They are those of the training rows that occur in
    tokenizer.min_count texts or more.

    longest    tokens of an n-gram (0: no features at all); None: as above
    idf        (F,) ln((1 + N) / (1 + texts that have the n-gram)) + 1, of N training rows
    """

    def __init__(
        self,
        name: str,
        settings: TokenizerConfig,
        *,
        form: TextForm | None = None,
        longest: int | None = None,
        max_length: int = 0,
    ) -> None:
        super().__init__(name, settings, form=form, max_length=max_length)
        self.files, self.longest = (self.file, FILE), longest
        self.words, self.spelling = TokenNgrams(0), SpellingNgrams()
        self.idf: np.ndarray | None = None

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "pair_bags" if self.form.sides else "bags"

    def __len__(self) -> int:
        """Features."""
        return len(self.words) + len(self.spelling)

    @property
    def separator(self) -> str:
        return " " if self.fitted.kind == "word" else ""

    @property
    def names(self) -> list[str]:
        return [
            *self.fitted.vocab.tokens[FIRST:][: self.words.vocab],
            *self._ngrams(),
            *self.spelling.ngrams,
        ]

    def names_of(self, inputs: tuple[Tensor, ...]) -> list[str]:
        """Name the features of a batch of one text; dots mark n-grams of characters."""
        names, words = self.names, len(self.words)
        return [names[i] if i < words else f"·{names[i]}·" for i in inputs[0][0].tolist()]

    def _ngrams(self) -> list[str]:
        tokens = self.fitted.vocab.tokens[FIRST:]
        return [self.separator.join(tokens[t] for t in ngram) for ngram in self.words.tokens()]

    def fit(
        self, column: TokenColumn, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        column = self.sided(column)
        if self.longest == 0:
            self.tokenizer = open_tokenizer(Vocab.of([]), self.settings, newlines=False)
            return []
        raw = Ragged.of_offsets(column.ids, column.offsets).select(rows)
        raw = raw.cut(self.max_length) if self.max_length else raw
        ids = gather(raw).astype(np.int64)
        texts = np.repeat(np.arange(len(rows)), raw.lengths)
        frequency = text_frequency(FeaturePairs(texts, ids), len(column.types))
        least = self.settings.min_count if (frequency >= self.settings.min_count).any() else 1
        order = np.argsort(-frequency, kind="stable")
        kept = [
            n for n in order.tolist() if frequency[n] >= least and column.types[n] not in SPECIALS
        ]
        kept = kept[: self.settings.vocab - FIRST]
        known = Vocab.of(column.types[n] for n in kept)
        self.tokenizer = open_tokenizer(known, self.settings, newlines=False)
        longest = LONGEST[self.settings.kind] if self.longest is None else self.longest
        numbers = np.full(len(column.types), -1, dtype=np.int64)
        numbers[kept] = np.arange(len(kept))
        self.words = TokenNgrams(len(kept))
        frequencies = [frequency[kept]]
        frequencies += self.words.fit(numbers[ids], texts, longest=longest, least=least)
        note = f"n-grams: {len(self.words):,} of 1 to {longest} {self.unit} in train"
        if self.settings.kind == "word" and len(ids) <= MOST_SPELLED:
            frequencies.append(self.spelling.fit(ids, texts, column.types, least=least))
            note += f", {len(self.spelling):,} of 2 to 5 characters"
        elif self.settings.kind == "word":
            note += f"; those of characters are not counted in {len(ids):,} words"
        self.idf = np.log((1 + len(rows)) / (1 + np.concatenate(frequencies))) + 1
        return [note]

    def bags(self, raw: Ragged, types: Sequence[str]) -> Bags:
        """Count the features of texts whose tokens are numbers of the `types`."""
        numbers, size = gather(raw).astype(np.int64), len(raw)
        texts = np.repeat(np.arange(size), raw.lengths)
        known = word_ids(types, self.fitted) - FIRST if len(types) else np.empty(0, np.int64)
        ids = known[numbers]
        table = self.spelling.table(types) if len(self.spelling) else None
        width, parts = max(1, len(self)), [Distinct(np.empty(0, np.int64), np.empty(0, np.int64))]
        for part in stretches(texts, CHUNK_TOKENS if table is None else CHUNK_TOKENS // 8):
            pairs = [self.words.pairs(ids[part], texts[part])] if len(self.words) else []
            if table is not None:
                more = self.spelling.pairs(numbers[part], texts[part], table)
                pairs.append(more._replace(features=more.features + len(self.words)))
            part_keys = [pair.texts.astype(np.int64) * width + pair.features for pair in pairs]
            parts.append(distinct(np.concatenate([*part_keys, np.empty(0, np.int64)])))
        keys, counts = (np.concatenate(pair) for pair in zip(*parts))
        offsets = np.searchsorted(keys, np.arange(size + 1) * width)
        return Bags(
            Ragged.of_offsets(keys % width, offsets),
            Ragged.of_offsets(counts, offsets),
            Tokens(raw, types=types),
        )

    def invent(self, *, vocab: int, classes: int) -> None:
        super().invent(vocab=vocab, classes=classes)
        self.words = TokenNgrams(vocab - FIRST if self.longest is None else 0)

    def values(self, column: TokenColumn, progress: Progress = None) -> Bags:
        column = self.sided(column)
        raw = Ragged.of_offsets(column.ids, column.offsets)
        raw = raw.cut(self.max_length) if self.max_length else raw
        return self.bags(raw, column.types)

    def sided(self, column: TokenColumn) -> TokenColumn:
        """Join the texts of each row; where they are words, those of the second are marked."""
        if not self.form.sides:
            return column
        joined = replace(
            column, offsets=column.offsets[::2], characters=column.characters.reshape(-1, 2).sum(1)
        )
        if self.settings.kind != "word":
            return joined
        types = len(column.types)
        second = np.repeat(np.arange(len(column)) % 2, np.diff(column.offsets))
        ids = column.ids.astype(np.int64) + types * second
        return replace(
            joined,
            ids=ids,
            types=[*column.types, *(SECOND + word for word in column.types)],
            counts=np.bincount(ids, minlength=2 * types),
        )

    def encode(self, raw: Sequence[str]) -> Bags:
        types: dict[str, int] = {}
        rows = [
            np.array(
                [types.setdefault(piece, len(types)) for piece in self._pieces(text)], np.int64
            )
            for text in raw
        ]
        return self.bags(Ragged.of(rows), list(types))

    def _pieces(self, raw: Any) -> list[str]:
        first, *rest = (self.fitted.pieces(text) for text in self.form.texts(raw))
        mark = SECOND if self.fitted.kind == "word" else ""
        pieces = [*first, *(mark + piece for second in rest for piece in second)]
        return pieces[: self.max_length or None]

    def portable_item(self, steps: int, rng: np.random.Generator) -> Any:
        pieces = self.random_pieces(steps + 1, rng)
        if not self.form.sides:
            return self.joined(pieces[1:])
        return [self.joined(pieces[:1]), self.joined(pieces[1:])]

    def portable(self) -> dict[str, Any]:
        return {
            "kind": "ngrams",
            "tokenizer": self.fitted.to_json(),
            "pair": bool(self.form.sides),
            "second": SECOND if self.separator else "",
            "room": self.max_length or None,
            "separator": self.separator,
            "tokens": self.words.vocab,
            "ngrams": self._ngrams(),
            "spelling": self.spelling.ngrams,
        }

    def check(self, values: Bags, where: Where) -> list[str]:
        return []

    def unknown(self, values: Bags, where: Where) -> list[str]:
        empty = (values.features.lengths == 0) & bool(len(self))
        if not empty.any():
            return []
        first = where(int(np.argmax(empty)))
        return [f"{empty.sum():,} {self.name}s have no n-gram that is known, the first at {first}"]

    def collate(self, values: Bags, rows: np.ndarray) -> BagBatch:
        lengths = values.features.lengths[rows].astype(np.int64)
        ids = np.zeros((len(rows), int(values.lengths[rows].max())), dtype=np.int64)
        counts = np.zeros(ids.shape)
        for i, row in enumerate(rows):
            ids[i, : lengths[i]] = values.features[int(row)]
            counts[i, : lengths[i]] = values.counts[int(row)]
        return BagBatch(torch.from_numpy(ids), torch.from_numpy(counts), torch.from_numpy(lengths))

    def without_spelling(self) -> None:
        self.spelling = SpellingNgrams()
        if self.idf is not None:
            self.idf = self.idf[: len(self.words)]

    def save(self, folder: Path) -> None:
        super().save(folder)
        stored = {
            "features": bool(self.words.vocab),
            "ngrams": self._ngrams(),
            "spelling": self.spelling.ngrams,
        }
        write_json(folder / FILE, stored)

    def load(self, folder: Path) -> None:
        super().load(folder)
        index = self.fitted.vocab.index
        with stored_state(folder / FILE, "not the n-grams of the vocabulary") as stored:
            cut = (lambda ngram: ngram.split(" ")) if self.separator else list
            ngrams = [tuple(index[t] - FIRST for t in cut(ngram)) for ngram in stored["ngrams"]]
            self.words = TokenNgrams.of((len(index) - FIRST) * stored["features"], ngrams)
            self.spelling = SpellingNgrams([str(ngram) for ngram in stored["spelling"]])
