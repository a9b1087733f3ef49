"""text: a string a row, as characters, words or byte pairs.

raw: str. values: `Tokens`. tensors: `TokenBatch`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from unspool.config import TokenizerConfig
from unspool.data.fields.bytepairs import TokenStretches, encode_subwords
from unspool.data.fields.field import Chunk, Field, Measure, Where
from unspool.data.fields.spelling import collate_words
from unspool.data.fields.text_examiner import TextExaminer
from unspool.data.fields.tokens import (
    TextForm,
    TokenBatch,
    Tokens,
    number_words,
    open_ids,
    pad_ids,
    padded,
    read_tokenizer,
    tokens_of_chunk,
    word_ids,
)
from unspool.data.fields.vocabulary import UNITS, fit_tokenizer, made_of_words
from unspool.data.read import Column
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged, TokenColumn
from unspool.errors import ConfigError, Setting
from unspool.io.files import write_json
from unspool.text.open_vocabulary import TokenRules
from unspool.text.tokenizers import CharTokenizer, Frame, SubwordTokenizer, Tokenizer
from unspool.text.vocab import BEGIN_ID, END, END_ID, SPECIALS, UNK_ID, Vocab

CHARACTERS = 16  # of a byte pair, more than most have
FITTED = 1 << 18  # characters of one text that byte pairs are fitted to, at least


class TokenField(Field):
    """A column whose steps are tokens of a vocabulary.

    form       of raw values: one text, or several
    tokenizer  fitted to the training rows, or given; None before
    auto       what tokenizer.kind=auto means: a kind, or "look": words, unless there are too few
               spaces for them
    specials   the special tokens of its vocabulary
    marks      (begin, end): whether <s> and </s> stand around each text; the frame of a pretrained
               tokenizer otherwise
    max_length tokens of a text at most (0: all); marks come on top of it
    too_long   a longer text is cut, or its row is left out of training
    is_target  it is to be written, not read
    spelled    batches carry the spelling of the words, for contextual vectors
    copied_into  the field whose vocabulary tokens are written with that a model copies from here;
                 the field itself where they are written. None: nothing is copied
    file       of the run folder that holds the tokenizer
    """

    sized = True
    form: TextForm
    newlines: ClassVar[bool] = False  # whether line ends are tokens, too, where those are words

    def __init__(
        self,
        name: str,
        settings: TokenizerConfig,
        *,
        form: TextForm | None = None,
        auto: Literal["look", "char", "word", "bpe"] = "look",
        specials: Sequence[str] = SPECIALS,
        marks: tuple[bool, bool] = (False, False),
        max_length: int = 0,
        too_long: Literal["cut", "leave out"] = "cut",
        is_target: bool = False,
        spelled: bool = False,
        file: str = "tokenizer.json",
    ) -> None:
        super().__init__(name)
        self.form = form or TextForm()
        self.settings, self.auto, self.specials = settings, auto, specials
        self.marks, self.max_length, self.spelled = marks, max_length, spelled
        self.too_long, self.is_target = too_long, is_target
        self.file, self.files = file, (file,)
        self.tokenizer: Tokenizer | None = None
        self.copied_into: TokenField | None = None

    @property
    @abstractmethod
    def kind(self) -> str: ...  # type: ignore[override]

    @property
    def fitted(self) -> Tokenizer:
        assert self.tokenizer is not None, f"the field {self.name!r} has not been fitted"
        return self.tokenizer

    @property
    def vocabulary(self) -> int:
        return len(self.fitted)

    @property
    def unit(self) -> str:
        return UNITS[self.fitted.kind]

    @property
    def frame(self) -> Frame:
        """A vocabulary that was made for another task may have no <s> and </s>."""
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
                sample = self.form.sample(column.sample)
                texts = [text for text in sample if isinstance(text, str)]
                kind = "word" if made_of_words(texts) else "char"
            self.settings = self.settings.model_copy(update={"kind": kind})

    @property
    def rules(self) -> TokenRules:
        if self.tokenizer is not None:
            return TokenRules.of_tokenizer(self.tokenizer)
        return TokenRules.of(self.settings, newlines=self.newlines)

    def storage_key(self) -> Any:
        return [self.kind, asdict(self.rules)]

    def writer(self, folder: Path) -> Any:
        return self.form.writer(folder, self.name, self.rules)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Any:
        return TokenColumn.load(folder, self.name, key, where)

    def blank(self, column: Any) -> np.ndarray:
        return self.form.blank(column)

    def what_is_missing(self, column: Any, rows: np.ndarray) -> str:
        return self.form.missing(self.name, column, rows)

    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        spans = column.spans()[rows]
        if self.settings.kind == "bpe" and self.max_length:  # what is cut has no say
            most = max(FITTED, CHARACTERS * self.max_length)
            spans = np.stack([spans[:, 0], np.minimum(spans[:, 1], spans[:, 0] + most)], 1)
        return self.fit_spans([TokenStretches(column, spans)], progress)

    def fit_spans(self, stretches: Sequence[TokenStretches], progress: Progress) -> list[str]:
        """Learn the vocabulary from stretches of one column or more, unless there is one."""
        if self.tokenizer is not None:
            return [f"vocabulary: {len(self.tokenizer):,} {self.unit}, given"]
        self.tokenizer, note = fit_tokenizer(
            stretches, self.settings, progress, newlines=self.newlines, specials=self.specials
        )
        return [note]

    def invent(self, *, vocab: int, classes: int) -> None:
        names = (f"token{i}" for i in range(vocab - len(self.specials)))
        self.tokenizer = CharTokenizer(Vocab.of(names, specials=self.specials))

    def values(self, column: Any, progress: Progress = None) -> Any:
        characters = column.characters
        column, remap = self.numbered(column, column.spans(), progress)
        return Tokens(
            Ragged.of_offsets(column.ids, column.offsets),
            remap=remap,
            frame=self.frame,
            room=self.room,
            characters=characters,
            types=column.types,
            opened=self._opened(column.types),
        )

    def _opened(self, types: Sequence[str]) -> np.ndarray | None:
        """Byte pairs know all tokens, so that their ids are enough."""
        if self.copied_into is None or isinstance(self.fitted, SubwordTokenizer):
            return None
        return open_ids(types, self.copied_into.fitted.vocab)

    def numbered(
        self, column: TokenColumn, spans: np.ndarray, progress: Progress
    ) -> tuple[TokenColumn, np.ndarray | None]:
        """The column of ids, with one text for each stretch, and their ids in the vocabulary."""
        if isinstance(self.fitted, SubwordTokenizer):
            return encode_subwords(column, spans, self.fitted, progress), None
        return column, word_ids(column.types, self.fitted)

    def fits(self, values: Any) -> np.ndarray:
        if self.too_long == "cut" or self.room is None:
            return super().fits(values)
        return values.raw.lengths <= self.room

    def check(self, values: Any, where: Where) -> list[str]:
        if not values.shortened:
            return []
        return [f"{values.shortened:,} {self.name}s cut to their first {self.max_length:,} tokens"]

    def unknown(self, values: Any, where: Where) -> list[str]:
        counts = values.counts(UNK_ID)
        if not counts.any():
            return []
        first = where(int(np.argmax(counts > 0)))
        return [
            f"{counts.sum():,} of {values.lengths.sum():,} tokens of the {self.name}s are unknown"
            f" to the vocabulary, the first at {first}"
        ]

    def encode(self, raw: Sequence[Any]) -> Any:
        words, types = None, list[str]()
        if self.spelled or self.copied_into is not None:
            words, types = number_words([self.fitted.pieces(text) or [""] for text in raw])
        opened = self._opened(types)
        if words is not None and opened is not None:
            remap = word_ids(types, self.fitted)
            frame, room = self.frame, self.room
            return Tokens(words, remap=remap, frame=frame, room=room, types=types, opened=opened)
        ids = Ragged.of([self.fitted.encode(text) for text in raw])
        return Tokens(ids, frame=self.frame, room=self.room, words=words, types=types)

    def streaming_unsupported_reason(self) -> str | None:
        if self.form.streaming_reason is not None:
            return self.form.streaming_reason
        if self.frame.size:
            return "its tokenizer puts a token after the last one of every text"
        return None

    def chunk(self, raw: str, before: str | None, read: int) -> Chunk:
        ids, before = tokens_of_chunk(raw, before, self.fitted.ids, self.fitted)
        kept = ids if self.room is None else ids[: max(0, self.room - read)]
        batch = TokenBatch(torch.from_numpy(kept)[None], torch.tensor([len(kept)]))
        return Chunk(batch.inputs, len(kept), before, len(kept) < len(ids))

    def last_chunk(self, before: str | None, read: int) -> Chunk:
        return Chunk((), 0, before)

    def follow_line(self, line: str) -> str | None:
        """Text that a line of standard input adds; None where it ends it. Words end with a line."""
        if not line.strip():
            return None
        return line.rstrip("\r\n") if self.fitted.kind == "char" else line

    def collate(self, values: Any, rows: np.ndarray) -> Any:
        words = collate_words(values, rows) if self.spelled else None
        ids, lengths = padded(values, rows)
        copies = None
        if self.copied_into is not None:
            assert isinstance(values, Tokens)
            copies = pad_ids([values.copies(int(row)) for row in rows])
        return TokenBatch(ids, lengths, words, copies)

    def measure(self, values: Any) -> Measure:
        unknown = values.counts(UNK_ID).sum() / max(1, int(values.sizes.sum()))
        characters = np.empty(0) if values.characters is None else values.characters
        return Measure(int(values.sizes.sum()), values.sizes, characters, float(unknown))

    def advise(self, values: Any, unknown: float) -> Iterator[tuple[Setting | None, str]]:
        if self.fitted.kind != "word":
            return
        counts = values.type_counts()
        seen = [values.types[raw] for raw in np.flatnonzero(counts).tolist()]
        folded = len({word.lower() for word in seen})
        if not self.fitted.normalizer.lowercase and folded < 0.9 * len(seen):
            yield (
                Setting(lowercase=True),
                f"{len(seen) - folded:,} of {len(seen):,} words differ from another only in case",
            )

    def characters_once(self, values: Any) -> dict[str, int]:
        if not isinstance(self.tokenizer, CharTokenizer) or not len(values.types):
            return {}
        counts = np.zeros(len(values.types), np.int64)
        home = np.zeros(len(values.types), np.int64)
        for row in range(len(values)):
            ids = values.raw[row]
            np.add.at(counts, ids, 1)
            home[ids] = row
        return {str(values.types[i]): int(home[i]) for i in np.flatnonzero(counts == 1).tolist()}

    def portable(self) -> dict[str, Any]:
        if self.spelled:
            raise ConfigError(
                "contextual vectors cannot be exported",
                remedy="train without `embedding.contextual`",
            )
        return {
            "kind": "text",
            "tokenizer": self.fitted.to_json(),
            "frame": [list(ids) for ids in self.frame],
            "room": self.room,
        }

    def portable_item(self, steps: int, rng: np.random.Generator) -> Any:
        """Known tokens, and some that are not."""
        return self.joined(self.random_pieces(steps, rng))

    def portable_batch(self, items: Sequence[Any]) -> Any:
        return self.collate(self.encode(items), np.arange(len(items)))

    def joined(self, pieces: Sequence[str]) -> str:
        return (" " if self.fitted.kind == "word" else "").join(pieces)

    def random_pieces(self, count: int, rng: np.random.Generator) -> list[str]:
        tokens = self.fitted.vocab.tokens
        pieces = [str(tokens[i]) for i in rng.integers(0, len(tokens), count)]
        return [piece if piece.strip() and rng.random() < 0.9 else "qzx" for piece in pieces]

    def examiner(self, values: Any) -> TextExaminer | None:
        return self.form.examiner(values, words=self.fitted.kind != "char", unit=self.unit)

    def labels(self, text: Any) -> list[str]:
        ids = self.frame.around(self.fitted.encode(text)[: self.room])
        return self.fitted.shown(ids.tolist())

    def save(self, folder: Path) -> None:
        write_json(folder / self.file, self.fitted.to_json())

    def load(self, folder: Path) -> None:
        self.tokenizer = read_tokenizer(folder, self.file)


class TextField(TokenField):
    """A column of single texts."""

    kind = "text"
