"""question: a question and the context that its answer is looked for in.

raw: a pair (question, context). values: `Questions`; what a model reads are `ContextWindows` of
them. tensors: `PairBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unspool.data.fields.bytepairs import texts_of
from unspool.data.fields.pair import PairForm, PairWriter, TokenPairs, as_pair
from unspool.data.store.ragged import Ragged, TokenColumn, Windows, cut_windows
from unspool.text.open_vocabulary import TokenRules
from unspool.text.token_offsets import token_offsets, word_offsets
from unspool.text.tokenizers import PairFrame, SubwordTokenizer, Tokenizer
from unspool.text.words import Normalizer

LONGEST_QUESTION = 64  # tokens that are read of a question


@dataclass(frozen=True)
class ContextColumn(TokenColumn):
    """`word_offsets` (M, 2): characters of the words of all contexts; None for characters."""

    word_offsets: np.ndarray | None = None


class QuestionWriter(PairWriter):
    """Also writes where the words of a context stand."""

    def __init__(self, folder: Path, name: str, rules: TokenRules) -> None:
        super().__init__(folder, name, rules)
        self.file, self.rules = folder / f"{name}.word-offsets.npy", rules
        self.offsets: list[np.ndarray] = [np.empty((0, 2), np.int64)]

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        super().add(values, where)
        if self.rules.kind != "word":
            return
        normalizer = Normalizer(self.rules.form, self.rules.lowercase)
        for value in values:
            text = as_pair(value)[1]
            self.offsets.append(word_offsets(text, normalizer(text), split=self.rules.split))

    def close(self) -> None:
        super().close()
        np.save(self.file, np.concatenate(self.offsets))


class Questions(TokenPairs):
    """N questions, whole, with their contexts.

    token_offsets   of the tokens of each context, (·, 2) characters
    """

    def __init__(self, *sides: Any, token_offsets: Ragged, **options: Any) -> None:
        super().__init__(*sides, **options)
        self.token_offsets = token_offsets

    @property
    def contexts(self) -> np.ndarray:
        """(N,) tokens."""
        return self.raw.lengths - self.split

    @classmethod
    def of(cls, pairs: TokenPairs, token_offsets: Ragged) -> Questions:
        return cls(
            pairs.raw,
            pairs.split,
            remap=pairs.remap,
            pair_frame=pairs.pair_frame,
            fill=pairs.fill,
            characters=pairs.characters,
            types=pairs.types,
            token_offsets=token_offsets,
        )

    def select(self, rows: np.ndarray) -> Questions:
        return Questions.of(super().select(rows), self.token_offsets.select(rows))

    def tokens_of(self, row: int, start: int, stop: int) -> tuple[int, int] | None:
        """The first and the last token of a stretch of characters; None where it has none."""
        offsets = self.token_offsets[row]
        first = int(np.searchsorted(offsets[:, 1], start, side="right"))
        last = int(np.searchsorted(offsets[:, 0], stop, side="left")) - 1
        return (first, last) if first <= last else None


class ContextWindows:
    """Stretches of contexts, each with the whole question before it, as rows: `windows` of
    contexts, of which `questions` has the tokens; of a question the first `most` are read.

    lengths   (W,) of the sequences
    firsts    (W,) the step of each where its stretch of the context begins
    """

    def __init__(self, questions: Questions, windows: Windows, most: int) -> None:
        self.questions, self.windows, self.most = questions, windows, most
        frame: PairFrame = questions.pair_frame
        self.asked = np.minimum(questions.split, most)[windows.origin]
        self.firsts = len(frame.before) + self.asked + len(frame.between)
        self.lengths = self.firsts + np.maximum(windows.lengths, 1) + len(frame.after)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> np.ndarray:
        origin, first, length = (int(part[row]) for part in self.windows)
        before, between, after = self.questions.pair_frame
        split = int(self.questions.split[origin])
        question = self.questions.slice(origin, 0, int(self.asked[row]))
        context = self.questions.slice(origin, split + first, split + first + length)
        fill = [] if length else [self.questions.fill or 0]
        return np.array([*before, *question, *between, *context, *fill, *after], dtype=np.int64)

    def select(self, rows: np.ndarray) -> ContextWindows:
        windows = Windows(*(part[rows] for part in self.windows))
        return ContextWindows(self.questions, windows, self.most)


def context_windows(questions: Questions, most: int, stride: int) -> ContextWindows:
    """The contexts in windows, so that a sequence has at most `most` steps (0: whole contexts);
    `stride`: tokens from one to the next, 0: half a window."""
    lengths = questions.contexts
    if not most:
        rows = np.arange(len(lengths))
        windows = Windows(rows, np.zeros_like(rows), lengths)
        return ContextWindows(questions, windows, LONGEST_QUESTION)
    room = max(2, most - questions.pair_frame.size)
    question_room = min(LONGEST_QUESTION, room // 2)
    size = room - int(np.minimum(questions.split, question_room).max(initial=0))
    windows = cut_windows(lengths, size, stride or max(1, size // 2))
    return ContextWindows(questions, windows, question_room)


class QuestionForm(PairForm):
    """A question and its context, which is read in windows and not cut."""

    kind = "question"
    sides = ("question", "context")
    limited = False

    def writer(self, folder: Path, name: str, rules: TokenRules) -> QuestionWriter:
        return QuestionWriter(folder, name, rules)

    def open(self, column: TokenColumn, folder: Path, name: str) -> ContextColumn:
        offsets = np.load(folder / f"{name}.word-offsets.npy")
        return ContextColumn(**vars(column), word_offsets=offsets if len(offsets) else None)

    def stored_pairs(
        self, pairs: TokenPairs, column: TokenColumn, tokenizer: Tokenizer
    ) -> Questions:
        offsets = getattr(column, "word_offsets", None)
        if offsets is None and isinstance(tokenizer, SubwordTokenizer):
            texts = texts_of(column, column.spans()[1::2])
            parts = [token_offsets(tokenizer, text) for text in texts]
            offsets = np.concatenate([np.empty((0, 2), np.int64), *parts])
        elif offsets is None:
            at = [np.arange(n) for n in np.diff(column.offsets)[1::2]]
            flat = np.concatenate([np.empty(0, np.int64), *at])
            offsets = np.stack([flat, flat + 1], 1)
        return Questions.of(pairs, Ragged.of_lengths(offsets, pairs.raw.lengths - pairs.split))

    def encoded_pairs(
        self, pairs: TokenPairs, raw: Sequence[Any], tokenizer: Tokenizer
    ) -> Questions:
        contexts = [as_pair(value)[1] for value in raw]
        offsets = [token_offsets(tokenizer, text) for text in contexts]
        return Questions.of(pairs, Ragged.of(offsets))
