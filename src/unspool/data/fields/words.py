"""words: a sentence a row that is already cut into words, each known by its spelling, too.

raw: list of str. values: `WordValues`. tensors: `WordBatch`. Words are stored with their case. It
is folded, if at all, when the vocabulary is chosen, so that characters keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.config import TokenizerConfig
from unspool.data.fields.field import Chunk, Where
from unspool.data.fields.spelling import SpelledWords, SpellingTable, collate_words
from unspool.data.fields.text import TokenField
from unspool.data.fields.tokens import TextWriter, Tokens, padded, read_tokenizer, tokens_of_chunk
from unspool.data.fields.vocabulary import count_types, select_tokenizer
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import Ragged, TokenColumn
from unspool.errors import RunError, Setting
from unspool.io.files import AGAIN, write_json
from unspool.text.open_vocabulary import TokenRules
from unspool.text.tokenizers import CharTokenizer, WordTokenizer
from unspool.text.vocab import UNK_ID, Vocab
from unspool.text.words import Normalizer, solid, token_spans

LONGEST_WORD = 40  # characters of a word that are read
RAREST_CHARACTER = 2  # times in train; a rarer one is <unk>, which is learnt in this way
CHARACTERS_FILE = "characters.json"


class WordBatch(NamedTuple):
    """B sentences padded to the longest, T words, of which U are different, of L characters."""

    ids: Tensor  # (B, T) int64, padded with 0
    lengths: Tensor  # (B,) int64
    spellings: Tensor | None = None  # (U, L) int64, padded with 0
    sizes: Tensor | None = None  # (U,) int64: characters of each
    which: Tensor | None = None  # (B, T) int64: which of the U spellings a word has
    words: SpelledWords | None = None  # their spelling in bytes, for contextual vectors

    @property
    def inputs(self) -> tuple[Tensor | None, ...]:
        spelled = (self.spellings, self.sizes, self.which)
        return self.ids, self.lengths, *spelled, *(self.words or ())


class Spellings(SpellingTable):
    """The ids of the characters of words."""

    def __init__(self, words: Sequence[str], tokenizer: CharTokenizer) -> None:
        cut = [word[:LONGEST_WORD] for word in words]
        codes = np.frombuffer("".join(cut).encode("utf-32-le"), dtype=np.uint32)
        index = {ord(char): i for char, i in tokenizer.vocab.index.items() if len(char) == 1}
        known, which = np.unique(codes, return_inverse=True)
        ids = np.array([index.get(int(code), UNK_ID) for code in known], dtype=np.int64)[which]
        super().__init__(ids, np.array([len(word) for word in cut], dtype=np.int64))


class WordValues(Tokens):
    """The words of N sentences, and the spelling of their types."""

    def __init__(
        self, raw: Ragged, *, remap: np.ndarray, types: Sequence[str], spellings: Spellings | None
    ) -> None:
        super().__init__(raw, remap=remap, types=types)
        self.spellings = spellings

    def select(self, rows: np.ndarray) -> WordValues:
        assert self.remap is not None
        return WordValues(
            self.raw.select(rows), remap=self.remap, types=self.types, spellings=self.spellings
        )


class WordsWriter(TextWriter):
    """Lists of words to a `TokenColumn`."""

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        super().add([" ".join(map(solid, words)) for words in values], where)


class WordsField(TokenField):
    """A column of sentences.

    max_length   words of a sentence to learn from (0: any)
    characters   the characters of words are read, too: they get a vocabulary of their own
    spelled      batches carry the spelling in bytes, for contextual vectors
    """

    kind = "words"
    unit = "words"

    def __init__(
        self,
        name: str,
        settings: TokenizerConfig,
        *,
        max_length: int = 0,
        characters: bool = False,
        spelled: bool = False,
    ) -> None:
        super().__init__(
            name,
            settings.model_copy(update={"kind": "word"}),
            max_length=max_length,
            too_long="leave out",
            spelled=spelled,
        )
        self.files = (self.file, CHARACTERS_FILE)
        self.reads_characters = characters
        self.spelling: CharTokenizer | None = None

    @property
    def rules(self) -> TokenRules:
        known = self.tokenizer
        return TokenRules.of_tokens(
            self.settings.normalize if known is None else known.normalizer.form
        )

    def writer(self, folder: Path) -> WordsWriter:
        return WordsWriter(folder, self.name, self.rules)

    def fit(
        self, column: TokenColumn, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        counts = count_types(column, column.spans()[rows])
        note = "vocabulary: that of the model it starts from"
        if self.tokenizer is None:
            normalizer = Normalizer(self.settings.normalize, self.settings.lowercase)
            self.tokenizer, note = select_tokenizer(
                *fold(column.types, counts, normalizer), self.settings
            )
        if self.reads_characters:
            self.spelling = fit_spelling(column.types, counts, self.settings)
        return [note]

    def invent(self, *, vocab: int, classes: int) -> None:
        super().invent(vocab=vocab, classes=classes)
        if self.reads_characters:
            self.spelling = CharTokenizer(Vocab.of(map(chr, range(33, 127))))

    def values(self, column: TokenColumn, progress: Progress = None) -> WordValues:
        return self._words(Ragged.of_offsets(column.ids, column.offsets), column.types)

    def unknown(self, values: WordValues, where: Where) -> list[str]:
        return []

    def encode(self, raw: Sequence[Sequence[str]]) -> WordValues:
        form = self.fitted.normalizer.form_only()
        index: dict[str, int] = {}
        numbers = [
            np.array(
                [index.setdefault(form(solid(word)), len(index)) for word in words], dtype=np.int64
            )
            for words in raw
        ]
        return self._words(Ragged.of(numbers), list(index))

    def _words(self, raw: Ragged, types: Sequence[str]) -> WordValues:
        index, normalizer = self.fitted.vocab.index, self.fitted.normalizer
        ids = (index.get(normalizer(word), UNK_ID) for word in types)
        remap = np.fromiter(ids, dtype=np.int64, count=len(types))
        spellings = None if self.spelling is None else Spellings(types, self.spelling)
        return WordValues(raw, remap=remap, types=types, spellings=spellings)

    def chunk(self, raw: str | Sequence[str], before: str | None, read: int) -> Chunk:
        """`before` is the open end of what was read. Words of a list have ended."""
        if not isinstance(raw, str):
            words, before = list(raw), ""
        else:
            words, before = tokens_of_chunk(raw, before, self.cut, self.fitted)
        if not words:
            return Chunk((), 0, before)
        return Chunk(self.collate(self.encode([words]), np.arange(1)).inputs, len(words), before)

    def cut(self, text: str) -> list[str]:
        assert isinstance(self.fitted, WordTokenizer)
        return [span.token for span in token_spans(text, split=self.fitted.split)]

    def collate(self, values: WordValues, rows: np.ndarray) -> WordBatch:
        ids, lengths = padded(values, rows)
        spellings = sizes = which = None
        if values.spellings is not None:
            words = np.concatenate([values.words(int(row)) for row in rows])
            different, numbers = np.unique(words, return_inverse=True)
            spellings, sizes = values.spellings.padded(different)
            which = spread(numbers, values.lengths[rows])
        in_bytes = collate_words(values, rows) if self.spelled else None
        return WordBatch(ids, lengths, spellings, sizes, which, in_bytes)

    def advise(self, values: Any, unknown: float) -> Iterator[tuple[Setting | None, str]]:
        return iter(())

    def portable_item(self, steps: int, rng: np.random.Generator) -> list[str]:
        return self.random_pieces(steps, rng)

    def portable(self) -> dict[str, Any]:
        spelling = None if self.spelling is None else self.spelling.to_json()
        return {
            **super().portable(),
            "kind": "words",
            "spelling": spelling,
            "longest": LONGEST_WORD,
        }

    def labels(self, words: Sequence[str]) -> list[str]:
        return list(words)

    def save(self, folder: Path) -> None:
        super().save(folder)
        if self.spelling is not None:
            write_json(folder / CHARACTERS_FILE, self.spelling.to_json())

    def load(self, folder: Path) -> None:
        super().load(folder)
        if not self.reads_characters:
            return
        spelling = read_tokenizer(folder, CHARACTERS_FILE)
        if not isinstance(spelling, CharTokenizer):
            raise RunError(
                "not a tokenizer of characters",
                where=folder / CHARACTERS_FILE,
                got=spelling.kind,
                remedy=AGAIN,
            )
        self.spelling = spelling


def fold(
    types: list[str], counts: np.ndarray, normalizer: Normalizer
) -> tuple[list[str], np.ndarray]:
    """Words that are the same in normal form become one."""
    index: dict[str, int] = {}
    numbers = [index.setdefault(normalizer(word), len(index)) for word in types]
    return list(index), np.bincount(numbers, weights=counts).astype(np.int64)


def fit_spelling(types: list[str], counts: np.ndarray, settings: TokenizerConfig) -> CharTokenizer:
    seen: dict[str, int] = {}
    for raw in np.flatnonzero(counts):
        for char in types[raw]:
            seen[char] = seen.get(char, 0) + int(counts[raw])
    often = [char for char, count in seen.items() if count >= RAREST_CHARACTER]
    chars = Vocab.of(sorted(often, key=lambda char: (-seen[char], char)))
    return CharTokenizer(chars, normalizer=Normalizer(settings.normalize))


def spread(values: np.ndarray, lengths: np.ndarray) -> Tensor:
    """The values of B sequences, one after the other, as (B, T) with zeros at padding."""
    inside = np.arange(int(lengths.max())) < lengths[:, None]
    x = np.zeros(inside.shape, dtype=np.int64)
    x[inside] = values
    return torch.from_numpy(x)
