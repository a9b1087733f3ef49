"""Texts as tokens: ids with their lengths, padded tensors of some rows, and how texts are stored.

`Tokens` are what a field of texts or of words gives for its rows, `Pieces` the same in shorter
rows, `TokenBatch` what a model reads; `TextForm` is how texts of an open vocabulary are given,
stored, shown and streamed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.ngrams import mix
from unspool.data.fields.spelling import ByteSpellings, SpelledWords
from unspool.data.fields.text_examiner import TextExaminer
from unspool.data.store.ragged import Ragged, TokenColumn, TokenWriter
from unspool.errors import DataError, Option, RunError
from unspool.io.files import AGAIN, read_json
from unspool.text.open_vocabulary import TokenRules, open_encoder
from unspool.text.tokenizers import Frame, Tokenizer
from unspool.text.vocab import PAD_ID, UNK_ID, Vocab

BLOCK = 1 << 20  # tokens that are counted at once


class TokenBatch(NamedTuple):
    """B texts padded to the longest, T tokens."""

    ids: Tensor  # (B, T) int64, padded with 0
    lengths: Tensor  # (B,) int64
    words: SpelledWords | None = None  # their spelling, for models that read it
    copies: Tensor | None = None  # (B, T) int64, see `open_ids`, for models that copy

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.ids, self.lengths, *(self.words or ())


def word_ids(types: Sequence[str], tokenizer: Tokenizer) -> np.ndarray:
    """(types,) ids of the vocabulary."""
    index = tokenizer.vocab.index
    ids = (index.get(token, UNK_ID) for token in types)
    return np.fromiter(ids, dtype=np.int64, count=len(types))


def open_ids(types: Sequence[str], vocab: Vocab) -> np.ndarray:
    """(types,) ids in a vocabulary; for other tokens a number beyond it, of 62 bits of a digest."""
    index, size = vocab.index, len(vocab)
    known = (index.get(token, UNK_ID) for token in types)
    ids = (
        size + (token_digest(token) >> 2) if id == UNK_ID else id for token, id in zip(types, known)
    )
    return np.fromiter(ids, dtype=np.int64, count=len(types))


DIGEST_FACTOR = 0x9E3779B97F4A7C15


def token_digest(token: str) -> int:
    content = token.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


class Tokens:
    """The ids of N texts, numbered by a vocabulary when a row is asked for.

    raw      ids as they are stored
    remap    raw id -> id of the vocabulary; None: they are those already
    frame    ids that stand around every text
    room     tokens of a text at most, without the frame; None: all
    characters  (N,) of each text, where that is known
    types    the tokens that `words` are numbers of: raw ids, unless `words` is given
    opened   raw id -> id of `open_ids`, where tokens may be copied
    lengths  (N,) with the frame, at least 1
    """

    def __init__(
        self,
        raw: Ragged,
        *,
        remap: np.ndarray | None = None,
        frame: Frame = Frame(),  # noqa: B008
        room: int | None = None,
        characters: np.ndarray | None = None,
        types: Sequence[str] = (),
        words: Ragged | None = None,
        opened: np.ndarray | None = None,
    ) -> None:
        self.raw, self.remap, self.frame, self.room = raw, remap, frame, room
        self.opened = opened
        self.characters = characters
        self.types, self._words = types, words
        self._kept = raw.lengths if room is None else np.minimum(raw.lengths, room)
        self.lengths = np.maximum(self._kept + frame.size, 1)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def shortened(self) -> int:
        """Number of texts that were cut."""
        return int((self.raw.lengths > self._kept).sum())

    def is_shortened(self, row: int) -> bool:
        return bool(self.raw.lengths[row] > self._kept[row])

    def __getitem__(self, row: int) -> np.ndarray:
        """int64 ids (T,) of one text; an empty one is a single <unk>, or the frame alone."""
        if self._kept[row] == 0 and not self.frame.size:
            return np.array([UNK_ID], dtype=np.int64)
        ids = self.slice(row, 0, self._kept[row])
        return self.frame.around(ids) if self.frame.size else ids

    def copies(self, row: int) -> np.ndarray:
        """int64 (T,) as `open_ids` numbers the tokens of one text, within the frame."""
        if self.opened is None or not self._kept[row]:
            return self[row]
        return self.frame.around(self.opened[self._raw(row, 0, self._kept[row])])

    def slice(self, row: int, start: int, stop: int) -> np.ndarray:
        """int64 ids of the tokens from `start` to `stop` of one text, without its frame."""
        if not 0 <= start <= stop <= self._kept[row]:
            raise IndexError(f"tokens {start} to {stop} of {self._kept[row]}")
        raw = self._raw(row, start, stop)
        return raw.astype(np.int64) if self.remap is None else self.remap[raw]

    def _raw(self, row: int, start: int, stop: int) -> np.ndarray:
        first = self.raw.starts[row]
        return self.raw.values[first + start : first + stop]

    def counts(self, id: int) -> np.ndarray:
        """(N,) how often an id of the vocabulary occurs in each text."""
        counts = np.zeros(len(self), dtype=np.int64)
        for owner, _, raw in self._blocks():
            hits = (raw if self.remap is None else self.remap[raw]) == id
            counts += np.bincount(owner[hits], minlength=len(self))
        alone = id == UNK_ID and not self.frame.size  # an empty text is a single <unk>
        return (
            counts + (*self.frame.before, *self.frame.after).count(id) + alone * (self._kept == 0)
        )

    def _blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """All tokens, some at a time: the row of each, its position there, its raw id."""
        ends = np.concatenate([[0], np.cumsum(self._kept, dtype=np.int64)])
        for start in range(0, int(ends[-1]), BLOCK):
            stop = min(start + BLOCK, int(ends[-1]))
            first = int(np.searchsorted(ends, start, side="right")) - 1
            last = int(np.searchsorted(ends, stop, side="left"))
            edges = np.clip(ends[first : last + 1], start, stop)
            owner = np.repeat(np.arange(first, last), np.diff(edges))
            position = np.arange(start, stop) - ends[owner]
            yield owner, position, np.asarray(self.raw.values[self.raw.starts[owner] + position])

    @property
    def sizes(self) -> np.ndarray:
        """(N,) tokens of each text, without the frame."""
        return self._kept

    def prints(self, common: dict[str, int]) -> np.ndarray:
        """(N,) a number for each text, equal where tokens are; `common` numbers the tokens."""
        numbers = np.array([common.setdefault(t, len(common)) for t in self.types], np.uint64)
        sums = self._kept.astype(np.uint64)
        for owner, position, raw in self._blocks():  # Σ mix(mix(token) + position) mod 2^64
            hashes = mix(mix(numbers[raw] + np.uint64(1)) + position.astype(np.uint64))
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            sums[owner[starts]] += np.add.reduceat(hashes, starts)
        return mix(sums).view(np.int64)

    def digests(self) -> np.ndarray:
        """(N,) uint64: as `prints`, but the same numbers in every process. For tokens t₁ … t_T

        Σ_i h(t_i) · m^i   mod 2⁶⁴,   with h of 64 bits and m odd.
        """
        of_type = np.array([token_digest(token) for token in self.types], np.uint64)
        longest = int(self.raw.lengths.max(initial=0))
        powers = np.cumprod(np.full(longest + 1, DIGEST_FACTOR, np.uint64))
        rows = (self.raw[row] for row in range(len(self)))
        return np.array([(of_type[ids] * powers[: len(ids)]).sum() for ids in rows], np.uint64)

    def type_counts(self) -> np.ndarray:
        """(types,) how often each occurs."""
        counts = np.zeros(len(self.types), dtype=np.int64)
        for _, _, raw in self._blocks():
            counts += np.bincount(raw, minlength=len(counts))
        return counts

    def words(self, row: int) -> np.ndarray:
        """(T,) which of the `types` the tokens are; that of "" in an empty text."""
        words = self.raw if self._words is None else self._words
        return words[row][: self._kept[row]] if self._kept[row] else np.zeros(1, dtype=np.int64)

    @cached_property
    def byte_spellings(self) -> ByteSpellings:
        return ByteSpellings(self.types)

    def in_pieces(self, length: int) -> Pieces:
        """Long texts as several of at most `length` tokens (0: not cut)."""
        return Pieces(self, length)

    def select(self, rows: np.ndarray) -> Tokens:
        return Tokens(
            self.raw.select(rows),
            remap=self.remap,
            frame=self.frame,
            room=self.room,
            characters=None if self.characters is None else self.characters[rows],
            types=self.types,
            words=None if self._words is None else self._words.select(rows),
            opened=self.opened,
        )


class Pieces:
    """Long texts as several shorter ones, each a row of its own: `Tokens` in pieces of at most
    `length` tokens (0: not cut).

    origin   (N,) the text that each is a piece of
    starts   (N,) its first token there
    """

    def __init__(self, tokens: Tokens, length: int) -> None:
        self.tokens = tokens
        whole = tokens.lengths.astype(np.int64)
        self.size = length or int(whole.max(initial=1))
        counts = -(-whole // self.size)
        self.origin = np.repeat(np.arange(len(tokens)), counts)
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        self.starts = (np.arange(len(self.origin)) - firsts) * self.size
        self.lengths = np.minimum(self.size, whole[self.origin] - self.starts)

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, row: int) -> np.ndarray:
        return self._piece(self.tokens[int(self.origin[row])], row)

    def words(self, row: int) -> np.ndarray:
        return self._piece(self.tokens.words(int(self.origin[row])), row)

    def _piece(self, whole: np.ndarray, row: int) -> np.ndarray:
        return whole[self.starts[row] : self.starts[row] + self.lengths[row]]

    @property
    def byte_spellings(self) -> ByteSpellings:
        return self.tokens.byte_spellings


def padded(values: Tokens | Pieces, rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """ids (B, T) and lengths (B,) of some rows."""
    lengths = values.lengths[rows].astype(np.int64)
    return pad_ids([values[int(row)] for row in rows]), torch.from_numpy(lengths)


def pad_ids(rows: Sequence[np.ndarray]) -> Tensor:
    """(B, T)"""
    ids = np.full((len(rows), max(map(len, rows))), PAD_ID, dtype=np.int64)
    for padded_row, row in zip(ids, rows):
        padded_row[: len(row)] = row
    return torch.from_numpy(ids)


def number_words(texts: Sequence[Sequence[str]]) -> tuple[Ragged, list[str]]:
    """The words of texts as numbers of the different ones, and these."""
    types: dict[str, int] = {}
    numbers = [
        np.array([types.setdefault(word, len(types)) for word in text], dtype=np.int64)
        for text in texts
    ]
    return Ragged.of(numbers), list(types)


class TextWriter:
    """Strings to a `TokenColumn`."""

    def __init__(self, folder: Path, name: str, rules: TokenRules) -> None:
        self.encoder, self.tokens = open_encoder(rules), TokenWriter(folder, name)

    def add(self, values: list[str], where: Callable[[int], str]) -> None:
        ids, lengths = self.encoder.encode(values)
        self.tokens.add(ids, lengths, list(map(len, values)))

    def close(self) -> None:
        self.tokens.close(self.encoder.types)


class Display(NamedTuple):
    """Description of how pages, pictures and notebooks show values.

    form     "tokens", or over time: "curves", "heat map", "spectrum", "piano roll", "drawing" or
             "frames"
    medium   "text", "series", "image", "sound" ...: what people choose as an input
    pixels   whether steps are parts of an image, or frames
    audible  whether a value can be played
    """

    form: str
    medium: str = "series"
    pixels: bool = False
    audible: bool = False


class TextForm:
    """One text a row: how raw values are given, stored and shown.

    kind              of field
    sample_text       a value, as a person types it
    sides             names of two texts that are read together, before and after the mark
    step_noun         what a network takes at a step
    most_steps        steps that a network reads of a value at most; 0 where that is not known
    limited           whether values are cut to `data.max_length`
    streaming_reason  why values cannot be read as they arrive; None where they can
    json_schema       of what `from_json` takes
    """

    kind: ClassVar[str] = "text"
    sample_text: ClassVar[str] = "some text"
    sides: ClassVar[tuple[str, ...]] = ()
    step_noun: str = "token"
    most_steps: ClassVar[int] = 0
    limited: ClassVar[bool] = True
    display: ClassVar[Display] = Display("tokens")
    streaming_reason: ClassVar[str | None] = None
    json_schema: ClassVar[dict[str, Any]] = {"type": "string"}

    def option(self, name: str) -> Option:
        return Option(name)

    def texts(self, raw: Any, where: str = "") -> tuple[str, ...]:
        return (raw,)

    def sample(self, values: Sequence[Any]) -> list[Any]:
        """Return the texts of some values, of which some may be missing."""
        return list(values)

    def writer(self, folder: Path, name: str, rules: TokenRules) -> TextWriter:
        return TextWriter(folder, name, rules)

    def blank(self, column: TokenColumn) -> np.ndarray:
        """(N,) bool: rows without a text"""
        return column.characters == 0

    def missing(self, name: str, column: TokenColumn, rows: np.ndarray) -> str:
        return f"an empty {name}"

    def items(self, values: Any) -> Iterable[Any] | None:
        """The raw values of what a user gives to be answered; None: texts, alone or several."""
        return None

    def named(self, name: str) -> Any:
        """The raw value that a name, such as that of a file, stands for on the command line."""
        return None

    def shown(self, raw: Any) -> str:
        """A raw value for people, as an answer repeats it."""
        return str(raw)

    def to_json(self, raw: Any) -> Any:
        """A raw value for JSON, as a page and a run folder have it."""
        return raw

    def from_json(self, value: Any, where: str) -> Any:
        """The raw value of `to_json`, or of what somebody has written like it."""
        return value

    def examiner(self, values: Tokens, *, words: bool, unit: str) -> TextExaminer | None:
        return TextExaminer(values, words=words, unit=unit)


def tokens_of_chunk(
    text: str, before: str | None, cut: Callable[[str], Any], tokenizer: Tokenizer
) -> tuple[Any, str]:
    """Cut a text that goes on after `before`; return its tokens and the open end of both.

    A DataError where the two have a token in common, which was read as if it had ended.
    """
    tokens = cut(text)
    joined = (before or "") + text
    if before and len(text) and list(cut(joined)) != [*cut(before), *tokens]:
        raise DataError(
            "the chunk begins within a token, and what came before was read as if it had ended",
            got=text,
            remedy="give whole words, with the space that stands before or after them",
        )
    return tokens, tokenizer.open_end(joined)


def read_tokenizer(folder: Path, name: str = "tokenizer.json") -> Tokenizer:
    """The tokenizer of a run folder; a RunError where it is damaged."""
    path = folder / name
    stored = read_json(path)
    tokenizer = Tokenizer.from_json(stored, where=path)
    if tokenizer.to_json().keys() != stored.keys():
        raise RunError(
            f"holds other fields than a tokenizer of the kind {tokenizer.kind!r} has",
            where=path,
            remedy=AGAIN,
        )
    return tokenizer
