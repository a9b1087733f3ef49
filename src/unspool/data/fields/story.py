"""story: sentences one after the other, and a question about them.

raw: (list of sentences, question), or one str with ||| before the question. values: `StoryValues`.
tensors: `StoryBatch`. `PairField` with a `StoryForm` gives the same as one sequence.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.config import TokenizerConfig
from unspool.data.fields.field import Measure, Where
from unspool.data.fields.pair import MARK, PairForm, as_pair
from unspool.data.fields.text import TokenField
from unspool.data.fields.tokens import TextWriter, Tokens, padded
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged, TokenColumn
from unspool.errors import DataError
from unspool.text.open_vocabulary import TokenRules
from unspool.text.vocab import UNK_ID

SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


class Story(NamedTuple):
    sentences: list[str]
    question: str


def as_story(raw: Any, where: str = "") -> Story:
    """A story and a question, however they are given."""
    sentences: Any
    if isinstance(raw, str):
        sentences, question = as_pair(raw, where)
    elif isinstance(raw, list | tuple) and len(raw) == 2 and isinstance(raw[1], str):
        sentences, question = raw
    else:
        raise DataError(
            "a story is a list of sentences with a question",
            where=where or None,
            got=raw,
            remedy=f"give (sentences, question), or both in one text with {MARK} between them",
        )
    if isinstance(sentences, str):
        sentences = [
            sentence.strip() for sentence in SENTENCE.findall(sentences) if sentence.strip()
        ]
    if not isinstance(sentences, list | tuple) or not all(
        isinstance(sentence, str) for sentence in sentences
    ):
        raise DataError(
            "a sentence is a string", where=where or None, got=sentences, remedy="give strings"
        )
    return Story(list(sentences), question)


def shown_story(raw: Any) -> str:
    sentences, question = as_story(raw)
    return f"{' '.join(sentences)} {MARK} {question}"


class StoryBatch(NamedTuple):
    """B stories of at most S sentences, and their M distinct texts of at most T tokens."""

    ids: Tensor  # (M, T) int64, padded with 0
    lengths: Tensor  # (M,)
    sentences: Tensor  # (B, S) which text each sentence is, the latest last; padded with 0 before
    sizes: Tensor  # (B,) sentences of each story
    questions: Tensor  # (B,) which text each question is

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(self)


@dataclass(frozen=True)
class StoryColumn(TokenColumn):
    """The sentences of each story, then its question; `texts` (N,) of each row."""

    texts: np.ndarray = None  # type: ignore[assignment]


class StoryValues:
    """N stories: row n has the texts from `firsts[n]` on, `texts[n]` of them, the question last.

    most   sentences that are remembered, the latest; 0: all
    kinds  of each text a number, the same where texts are equal
    """

    def __init__(
        self,
        tokens: Tokens,
        firsts: np.ndarray,
        texts: np.ndarray,
        most: int,
        kinds: np.ndarray | None = None,
    ) -> None:
        self.tokens, self.firsts, self.texts, self.most = tokens, firsts, texts, most
        if kinds is None:
            known: dict[bytes, int] = {}
            contents = (tokens[text].tobytes() for text in range(len(tokens)))
            kinds = np.array(
                [known.setdefault(content, len(known)) for content in contents], np.int64
            )
        self.kinds = kinds
        self.sizes = np.minimum(texts - 1, most) if most else texts - 1
        ends = np.concatenate([[0], np.cumsum(tokens.lengths)])
        self.lengths = ends[firsts + texts] - ends[firsts + texts - 1 - self.sizes]

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def raw(self) -> Ragged:
        return self._joint.raw

    @property
    def types(self) -> Sequence[str]:
        return self.tokens.types

    @property
    def _joint(self) -> Tokens:
        """All tokens of a row as one text."""
        ends = np.concatenate([[0], np.cumsum(self.tokens.raw.lengths)])
        lengths = ends[self.firsts + self.texts] - ends[self.firsts]
        starts = self.tokens.raw.starts[self.firsts]
        whole = Ragged(self.tokens.raw.values, starts, lengths)
        return Tokens(whole, remap=self.tokens.remap, types=self.tokens.types)

    def digests(self) -> np.ndarray:
        return self._joint.digests()

    def prints(self, common: dict[str, int]) -> np.ndarray:
        return self._joint.prints(common)

    def counts(self, id: int) -> np.ndarray:
        return self._joint.counts(id)

    def type_counts(self) -> np.ndarray:
        return self._joint.type_counts()

    def select(self, rows: np.ndarray) -> StoryValues:
        return StoryValues(self.tokens, self.firsts[rows], self.texts[rows], self.most, self.kinds)


class StoryColumnWriter(TextWriter):
    def __init__(self, folder: Path, name: str, rules: TokenRules) -> None:
        super().__init__(folder, name, rules)
        self.file, self.texts = folder / f"{name}.texts.npy", array("q")

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        stories = [as_story(value, where(i)) for i, value in enumerate(values)]
        self.texts.extend(len(story.sentences) + 1 for story in stories)
        super().add(
            [text for story in stories for text in (*story.sentences, story.question)], where
        )

    def close(self) -> None:
        super().close()
        np.save(self.file, np.array(self.texts, dtype=np.int64))


class StoryForm(PairForm):
    """A story and its question: of a `PairField` one sequence, `sentences <sep> question`."""

    kind = "story_sequence"
    sample_text = f"One sentence. Another. {MARK} a question?"
    sides = ("story", "question")

    def texts(self, raw: Any, where: str = "") -> tuple[str, str]:
        story = as_story(raw, where)
        return " ".join(story.sentences), story.question

    def sample(self, values: Sequence[Any]) -> list[str]:
        return [text for value in values for text in self.texts(value)]

    def items(self, values: Any) -> Iterable[Any]:
        one = isinstance(values, tuple) and len(values) == 2 and isinstance(values[1], str)
        if isinstance(values, str) or one:
            values = [values]
        return (as_story(value, f"item {n}") for n, value in enumerate(values, 1))

    def shown(self, raw: Any) -> str:
        return shown_story(raw)

    def from_json(self, value: Any, where: str) -> Story:
        return as_story(value, where)


class StoryField(TokenField):
    """A column of stories, read sentence by sentence.

    memory   sentences of a story that are read, the latest; 0: all
    """

    kind = "story"

    def __init__(self, name: str, settings: TokenizerConfig, *, memory: int = 0) -> None:
        super().__init__(name, settings, form=StoryForm(), auto="word")
        self.form.step_noun = "sentence"
        self.memory = memory

    def look(self, column: Any) -> None:
        super().look(column._replace(sample=[]))

    def writer(self, folder: Path) -> StoryColumnWriter:
        return StoryColumnWriter(folder, self.name, self.rules)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> StoryColumn:
        column = super().open(folder, key, where)
        return StoryColumn(**vars(column), texts=np.load(folder / f"{self.name}.texts.npy"))

    def blank(self, column: Any) -> np.ndarray:
        """A story without sentences, or without a question."""
        last = np.cumsum(column.texts) - 1
        return (column.texts < 2) | (column.characters[last] == 0)

    def what_is_missing(self, column: Any, rows: np.ndarray) -> str:
        return f"an empty {self.name}"

    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        first = np.cumsum(column.texts) - column.texts
        numbers = [np.arange(first[r], first[r] + column.texts[r]) for r in rows.tolist()]
        every = np.concatenate([np.empty(0, np.int64), *numbers])
        return super().fit(column, every, where=where, progress=progress)

    def values(self, column: Any, progress: Progress = None) -> StoryValues:
        texts = column.texts
        return StoryValues(
            super().values(column, progress), np.cumsum(texts) - texts, texts, self.memory
        )

    def encode(self, raw: Sequence[Any]) -> StoryValues:
        stories = [as_story(story) for story in raw]
        tokens = super().encode(
            [t for story in stories for t in (*story.sentences, story.question)]
        )
        texts = np.array([len(story.sentences) + 1 for story in stories], dtype=np.int64)
        return StoryValues(tokens, np.cumsum(texts) - texts, texts, self.memory)

    def check(self, values: Any, where: Where) -> list[str]:
        cut = int((values.texts - 1 > values.sizes).sum())
        return [f"of {cut:,} stories the latest {self.memory} sentences are read"] if cut else []

    def measure(self, values: Any) -> Measure:
        unknown = values.counts(UNK_ID).sum() / max(1, int(values.lengths.sum()))
        return Measure(int(values.lengths.sum()), values.lengths, np.empty(0), float(unknown))

    def advise(self, values: Any, unknown: float) -> Any:
        return iter(())

    def examiner(self, values: Any) -> None:
        return None

    def streaming_unsupported_reason(self) -> str | None:
        return "its question comes after the whole story"

    def collate(self, values: StoryValues, rows: np.ndarray) -> StoryBatch:
        sizes = values.sizes[rows].astype(np.int64)
        most = max(1, int(sizes.max(initial=0)))
        ends = (values.firsts[rows] + values.texts[rows] - 1)[:, None]  # (B, 1) questions
        real = np.arange(most, 0, -1) <= sizes[:, None]  # (B, S)
        texts = np.where(real, ends - np.arange(most, 0, -1), ends)
        texts = np.concatenate([texts, ends], 1)
        _, kept, numbers = np.unique(values.kinds[texts], return_index=True, return_inverse=True)
        numbers = numbers.reshape(texts.shape)
        ids, lengths = padded(values.tokens, texts.reshape(-1)[kept])
        arrays = (np.where(real, numbers[:, :-1], 0), sizes, numbers[:, -1])
        return StoryBatch(ids, lengths, *map(torch.from_numpy, arrays))

    def labels(self, text: Any) -> list[str]:
        return as_story(text).sentences
