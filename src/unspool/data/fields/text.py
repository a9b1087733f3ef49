"""text: a string a row, as characters, words or byte pairs; or all rows as one stream.

raw: str. values: `Tokens`. tensors: `TokenBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.config import TokenizerConfig
from unspool.data.fields.bytepairs import Stretches, encode_subwords
from unspool.data.fields.field import Field, Measure, Where
from unspool.data.fields.spelling import ByteSpellings, SpelledWords, collate_words
from unspool.data.fields.vocabulary import UNITS, fit_tokenizer, made_of_words
from unspool.data.read import Column
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged
from unspool.data.store.tokens import TokenColumn, TokenWriter
from unspool.errors import RunError
from unspool.io.files import AGAIN, read_json, write_json
from unspool.text.open_vocabulary import Rules, open_encoder
from unspool.text.tokenizers import CharTokenizer, Frame, SubwordTokenizer, Tokenizer
from unspool.text.vocab import BEGIN_ID, END, END_ID, PAD_ID, SPECIALS, UNK_ID, Vocab
from unspool.text.words import NEWLINE


class TokenBatch(NamedTuple):
    """B texts padded to the longest, T tokens."""

    ids: Tensor  # (B, T) int64, padded with 0
    lengths: Tensor  # (B,) int64
    words: SpelledWords | None = None  # their spelling, for models that read it

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a model reads."""
        return self.ids, self.lengths, *(self.words or ())


class Tokens:
    """The ids of N texts, numbered by a vocabulary when a row is asked for.

    raw      ids as they are stored
    remap    raw id -> id of the vocabulary; None: they are those already
    frame    ids that stand around every text
    room     tokens of a text at most, without the frame; None: all
    characters  (N,) of each text, where that is known
    types    the tokens that `words` are numbers of: raw ids, unless `words` is given
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
    ) -> None:
        self.raw, self.remap, self.frame, self.room = raw, remap, frame, room
        self.characters = characters
        self.types, self._words = types, words
        self._kept = raw.lengths if room is None else np.minimum(raw.lengths, room)
        self.lengths = np.maximum(self._kept + frame.size, 1)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def shortened(self) -> int:
        """How many texts were longer than there is room."""
        return int((self.raw.lengths > self._kept).sum())

    def is_shortened(self, row: int) -> bool:
        return bool(self.raw.lengths[row] > self._kept[row])

    def __getitem__(self, row: int) -> np.ndarray:
        """int64 ids (T,) of one text; an empty one is a single <unk>, or the frame alone."""
        if self._kept[row] == 0 and not self.frame.size:
            return np.array([UNK_ID], dtype=np.int64)
        ids = self.slice(row, 0, self._kept[row])
        return self.frame.around(ids) if self.frame.size else ids

    def slice(self, row: int, start: int, stop: int) -> np.ndarray:
        """int64 ids of the tokens from `start` to `stop` of one text, without its frame."""
        if not 0 <= start <= stop <= self._kept[row]:
            raise IndexError(f"tokens {start} to {stop} of {self._kept[row]}")
        first = self.raw.starts[row]
        raw = self.raw.values[first + start : first + stop]
        return raw.astype(np.int64) if self.remap is None else self.remap[raw]

    def counts(self, id: int) -> np.ndarray:
        """(N,) how often an id of the vocabulary occurs in each text."""
        return np.array([int((self[row] == id).sum()) for row in range(len(self))], np.int64)

    @property
    def sizes(self) -> np.ndarray:
        """(N,) tokens of each text, without the frame."""
        return self._kept

    def prints(self, common: dict[str, int]) -> np.ndarray:
        """(N,) a number for each text, equal where the tokens are; `common` numbers the tokens of
        all that is compared."""
        numbers = np.array([common.setdefault(t, len(common)) for t in self.types], np.uint32)
        rows = (self.raw[row][: self._kept[row]] for row in range(len(self)))
        return np.array([hash(numbers[row].tobytes()) for row in rows], dtype=np.int64)

    def type_counts(self) -> np.ndarray:
        """(types,) how often each occurs."""
        counts = np.zeros(len(self.types), dtype=np.int64)
        for row in range(len(self)):
            np.add.at(counts, self.raw[row][: self._kept[row]], 1)
        return counts

    def words(self, row: int) -> np.ndarray:
        """(T,) which of the `types` the tokens are; that of "" in an empty text."""
        found = self.raw if self._words is None else self._words
        return found[row][: self._kept[row]] if self._kept[row] else np.zeros(1, dtype=np.int64)

    @cached_property
    def byte_spellings(self) -> ByteSpellings:
        return ByteSpellings(self.types)

    def select(self, rows: np.ndarray) -> Tokens:
        return Tokens(
            self.raw.select(rows),
            remap=self.remap,
            frame=self.frame,
            room=self.room,
            characters=None if self.characters is None else self.characters[rows],
            types=self.types,
            words=None if self._words is None else self._words.select(rows),
        )


class Pieces:
    """Long texts as several shorter ones, each a row of its own: `Tokens` in pieces of at most
    `length` tokens (0: not cut)."""

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


class TextWriter:
    """Strings to a `TokenColumn`."""

    def __init__(self, folder: Path, name: str, rules: Rules) -> None:
        self.encoder, self.tokens = open_encoder(rules), TokenWriter(folder, name)

    def add(self, values: list[str], where: Callable[[int], str]) -> None:
        ids, lengths = self.encoder.encode(values)
        self.tokens.add(ids, lengths, list(map(len, values)))

    def close(self) -> None:
        self.tokens.close(self.encoder.types)


class TextField(Field):
    """A column of texts.

    auto       what tokenizer.kind=auto means: a kind, or "look": words, unless there are too few
               spaces for them
    specials   the special tokens of its vocabulary
    marks      (begin, end): whether <s> and </s> stand around each text; the frame of a pretrained
               tokenizer otherwise
    max_length tokens of a text at most (0: all); marks come on top of it
    too_long   a longer text is cut, or its row is left out of training
    stream     all rows are one text, of which line ends are tokens, too
    is_target  it is to be written, not read
    spelled    batches carry the spelling of the words, for contextual vectors
    file       of the run folder that holds the tokenizer
    """

    kind = "text"
    sized = True

    def __init__(
        self,
        name: str,
        settings: TokenizerConfig,
        *,
        auto: Literal["look", "char", "word", "bpe"] = "look",
        specials: Sequence[str] = SPECIALS,
        marks: tuple[bool, bool] = (False, False),
        max_length: int = 0,
        too_long: Literal["cut", "leave out"] = "cut",
        stream: bool = False,
        is_target: bool = False,
        spelled: bool = False,
        file: str = "tokenizer.json",
    ) -> None:
        super().__init__(name)
        self.settings, self.auto, self.specials = settings, auto, specials
        self.marks, self.max_length, self.stream, self.spelled = marks, max_length, stream, spelled
        self.too_long, self.is_target, self.file = too_long, is_target, file
        self.tokenizer: Tokenizer | None = None

    @property
    def fitted(self) -> Tokenizer:
        assert self.tokenizer is not None, f"the field {self.name!r} has not been fitted"
        return self.tokenizer

    @property
    def unit(self) -> str:  # type: ignore[override]
        """What tokens are called."""
        return UNITS[self.fitted.kind]

    @property
    def vocabulary(self) -> int:
        return len(self.fitted)

    @property
    def frame(self) -> Frame:
        """A vocabulary that was made for another task may have no <s> and </s>."""
        if self.stream:
            return Frame()
        if not any(self.marks):
            return self.fitted.frame
        if END not in self.fitted.vocab.specials:
            return Frame()
        begin, end = self.marks
        return Frame((BEGIN_ID,) if begin else (), (END_ID,) if end else ())

    @property
    def room(self) -> int | None:
        """Tokens of a text at most, without the frame."""
        if not self.max_length:
            return None
        return self.max_length if any(self.marks) else max(0, self.max_length - self.frame.size)

    def look(self, column: Column) -> None:
        if self.settings.kind == "auto":
            kind: str = self.auto
            if kind == "look":
                texts = [value for value in column.sample if isinstance(value, str)]
                kind = "word" if made_of_words(texts) else "char"
            self.settings = self.settings.model_copy(update={"kind": kind})

    @property
    def rules(self) -> Rules:
        if self.tokenizer is not None:
            return Rules.of_tokenizer(self.tokenizer)
        return Rules.of(self.settings, stream=self.stream)

    def storage_key(self) -> Any:
        return [self.kind, asdict(self.rules)]

    def writer(self, folder: Path) -> TextWriter:
        return TextWriter(folder, self.name, self.rules)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> TokenColumn:
        return TokenColumn.load(folder, self.name, key, where)

    def blank(self, column: TokenColumn) -> np.ndarray:
        if self.stream and not any(token.strip() for token in column.types):
            return np.ones(len(column), dtype=bool)
        return column.characters == 0

    def fit(
        self, column: TokenColumn, rows: np.ndarray, *, where: str, progress: Progress | None = None
    ) -> list[str]:
        return self.fit_spans([Stretches(column, column.spans()[rows])], progress)

    def steps(self, column: TokenColumn) -> int:
        return column.tokens

    def fit_stream(
        self,
        column: TokenColumn,
        cuts: Mapping[str, tuple[int, int]],
        progress: Progress | None = None,
    ) -> list[str]:
        spans = column.spans(sorted({edge for pair in cuts.values() for edge in pair}))
        inside = spans[spans[:, 1] <= cuts["train"][1]]
        return self.fit_spans([Stretches(column, inside)], progress)

    def in_pieces(self, values: Tokens, length: int) -> Pieces:
        return Pieces(values, length)

    def fit_spans(self, stretches: Sequence[Stretches], progress: Progress | None) -> list[str]:
        """Learn the vocabulary from stretches of one column or more, unless there is one."""
        if self.tokenizer is not None:
            return [f"vocabulary: {len(self.tokenizer):,} {self.unit}, given"]
        self.tokenizer, note = fit_tokenizer(
            stretches, self.settings, progress, stream=self.stream, specials=self.specials
        )
        return [note]

    def invent(self, *, vocab: int, classes: int) -> None:
        names = (f"token{i}" for i in range(vocab - len(self.specials)))
        self.tokenizer = CharTokenizer(Vocab.of(names, specials=self.specials))

    def values(self, column: TokenColumn, progress: Progress | None = None) -> Tokens:
        characters = column.characters
        column, remap = self.numbered(column, column.spans(), progress)
        return Tokens(
            Ragged.of_offsets(column.ids, column.offsets),
            remap=remap,
            frame=self.frame,
            room=self.room,
            characters=characters,
            types=column.types,
        )

    def numbered(
        self, column: TokenColumn, spans: np.ndarray, progress: Progress | None
    ) -> tuple[TokenColumn, np.ndarray | None]:
        """The column that ids are read from, and the id of the vocabulary for each of its ids.
        Pieces of words have a column of their own, with a text for each stretch and final ids."""
        if isinstance(self.fitted, SubwordTokenizer):
            return encode_subwords(column, spans, self.fitted, progress), None
        return column, word_ids(column.types, self.fitted)

    def streams(
        self,
        column: TokenColumn,
        cuts: Mapping[str, tuple[int, int]],
        progress: Progress | None = None,
    ) -> dict[str, Tokens]:
        """Stretches of a column of one long text, each as one text: {name: (first, end)}."""
        spans = column.spans(sorted({edge for pair in cuts.values() for edge in pair}))
        found, remap = self.numbered(column, spans, progress)
        edges = np.append(spans[:, 0], column.tokens)
        streams = {}
        for name, (first, end) in cuts.items():
            characters = column.characters_before(end) - column.characters_before(first)
            if found is not column:  # positions among characters to those among pieces of words
                first, end = found.offsets[np.searchsorted(edges, [first, end])]
            raw = Ragged(found.ids, np.array([first]), np.array([end - first]))
            streams[name] = Tokens(
                raw, remap=remap, characters=np.array([characters]), types=found.types
            )
        return streams

    def fits(self, values: Tokens) -> np.ndarray:
        if self.too_long == "cut" or self.room is None:
            return super().fits(values)
        return values.raw.lengths <= self.room

    def check(self, values: Tokens, where: Where) -> list[str]:
        if not values.shortened:
            return []
        return [f"{values.shortened:,} {self.name}s cut to their first {self.max_length:,} tokens"]

    def unknown(self, values: Tokens, where: Where) -> list[str]:
        counts = values.counts(UNK_ID)
        if not counts.any():
            return []
        first = where(int(np.argmax(counts > 0)))
        return [
            f"{counts.sum():,} of {values.lengths.sum():,} tokens of the {self.name}s are unknown"
            f" to the vocabulary, the first at {first}"
        ]

    def encode(self, raw: Sequence[str]) -> Tokens:
        ids = Ragged.of([self.fitted.encode(text) for text in raw])
        words, types = None, list[str]()
        if self.spelled:
            words, types = number_words([self.fitted.pieces(text) or [""] for text in raw])
        return Tokens(ids, frame=self.frame, room=self.room, words=words, types=types)

    def collate(self, values: Tokens | Pieces, rows: np.ndarray) -> TokenBatch:
        words = collate_words(values, rows) if self.spelled else None
        return TokenBatch(*padded(values, rows), words)

    def measure(self, values: Tokens) -> Measure:
        lengths = values.sizes
        if self.stream:
            lengths = line_lengths(values)
        unknown = values.counts(UNK_ID).sum() / max(1, int(values.sizes.sum()))
        characters = np.empty(0) if values.characters is None else values.characters
        return Measure(int(values.sizes.sum()), lengths, characters, float(unknown))

    def advise(self, values: Tokens, unknown: float) -> Iterator[tuple[str | None, str]]:
        if self.fitted.kind != "word":
            return
        counts = values.type_counts()
        seen = [values.types[raw] for raw in np.flatnonzero(counts).tolist()]
        folded = len({word.lower() for word in seen})
        if not self.fitted.normalizer.lowercase and folded < 0.9 * len(seen):
            yield (
                "--set lowercase=true",
                f"{len(seen) - folded:,} of {len(seen):,} words differ from another only in case",
            )
        once = int((counts == 1).sum())
        if len(seen) > 1000 and once > 0.4 * len(seen):
            yield (
                "--set min_count=2",
                f"{once:,} of {len(seen):,} words occur once, too rarely to learn a vector for",
            )
        if unknown > 0.05:
            yield (
                "--set kind=bpe",
                f"{100 * unknown:.1f} % of the held-out words are unknown; pieces of words never"
                " are",
            )

    def labels(self, text: str) -> list[str]:
        """What each step is called: its token."""
        ids = self.frame.around(self.fitted.encode(text)[: self.room])
        return self.fitted.shown(ids.tolist())

    @property
    def files(self) -> tuple[str, ...]:
        return (self.file,)

    def save(self, folder: Path) -> None:
        write_json(folder / self.file, self.fitted.to_json())

    def load(self, folder: Path) -> None:
        self.tokenizer = read_tokenizer(folder, self.file)


def line_lengths(values: Tokens) -> np.ndarray:
    """Tokens of each line of a stream; none where no token is a line end."""
    if NEWLINE not in values.types:
        return np.empty(0, dtype=np.int64)
    ends = np.flatnonzero(values.raw[0] == list(values.types).index(NEWLINE))
    size = int(values.sizes[0])
    ends = ends if len(ends) and ends[-1] == size - 1 else np.append(ends, size)
    return np.diff(ends, prepend=-1) - 1


def word_ids(types: Sequence[str], tokenizer: Tokenizer) -> np.ndarray:
    """(types,) ids of the vocabulary."""
    index = tokenizer.vocab.index
    ids = (index.get(token, UNK_ID) for token in types)
    return np.fromiter(ids, dtype=np.int64, count=len(types))


def number_words(texts: Sequence[Sequence[str]]) -> tuple[Ragged, list[str]]:
    """The words of texts as numbers of the different ones, and these."""
    types: dict[str, int] = {}
    numbers = [
        np.array([types.setdefault(word, len(types)) for word in text], dtype=np.int64)
        for text in texts
    ]
    return Ragged.of(numbers), list(types)


def padded(values: Tokens | Pieces, rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """ids (B, T) and lengths (B,) of some rows."""
    lengths = values.lengths[rows].astype(np.int64)
    ids = np.full((len(rows), int(lengths.max())), PAD_ID, dtype=np.int64)
    for i, row in enumerate(rows):
        ids[i, : lengths[i]] = values[int(row)]
    return torch.from_numpy(ids), torch.from_numpy(lengths)


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
