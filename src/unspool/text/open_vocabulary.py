"""Texts to raw ids with a vocabulary that grows: tokens are numbered in the order of appearance.

So one pass over a file is enough, and the vocabulary of a model can be chosen afterwards. Many
texts are encoded at once: joined by a NUL, which no text holds, so that the work is done by a few
calls on one long string, and the NULs give back the lengths.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unspool.config import TokenizerConfig
from unspool.text.tokenizers import Tokenizer, WordTokenizer
from unspool.text.vocab import UNK
from unspool.text.words import NEWLINE, SPLITTERS, ChunkTable, Normalizer

MOST_TYPES = 1 << 22  # distinct words; later ones are unknown, so that memory stays bounded
CODE_POINTS = 0x110000
END = "\0"  # of a text; no text holds a NUL
LINE_END = "\0\0"


@dataclass(frozen=True)
class TokenRules:
    """The settings that decide into which tokens a text falls."""

    kind: str
    form: str
    lowercase: bool
    split: str
    newlines: bool

    @property
    def normalizer(self) -> Normalizer:
        return Normalizer(self.form, self.lowercase)

    @staticmethod
    def of(settings: TokenizerConfig, *, newlines: bool) -> TokenRules:
        """Rules for a column of texts; byte pairs start from characters."""
        words = settings.kind == "word"
        return TokenRules(
            "word" if words else "char",
            settings.normalize,
            settings.lowercase,
            settings.split if words else "",
            newlines and words,
        )

    @staticmethod
    def of_tokenizer(tokenizer: Tokenizer) -> TokenRules:
        form, lowercase = tokenizer.normalizer.form, tokenizer.normalizer.lowercase
        if isinstance(tokenizer, WordTokenizer):
            return TokenRules("word", form, lowercase, tokenizer.split, tokenizer.newlines)
        return TokenRules("char", form, lowercase, "", False)

    @staticmethod
    def of_tokens(form: str) -> TokenRules:
        """Rules for tokens that are already cut, between spaces."""
        return TokenRules("word", form, False, "space", False)


class OpenEncoder(ABC):
    """Texts to raw ids; the vocabulary grows as new tokens appear."""

    def __init__(self, rules: TokenRules) -> None:
        self.normalizer = rules.normalizer
        self.types = [""]  # raw id 0 is the end of a text, and never stored

    @abstractmethod
    def raw(self, joined: str) -> np.ndarray:
        """uint32 raw ids of normalised text, with 0 for each NUL."""

    def encode(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """(ids of all texts, number of ids of each)."""
        ids = self.raw(self.normalizer(END.join(texts) + END))
        ends = np.flatnonzero(ids == 0)
        return ids[ids != 0], np.diff(ends, prepend=-1) - 1


class OpenChars(OpenEncoder):
    """A table over all code points."""

    def __init__(self, rules: TokenRules) -> None:
        super().__init__(rules)
        self.table = np.zeros(CODE_POINTS, dtype=np.uint32)

    def raw(self, joined: str) -> np.ndarray:
        codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
        ids = self.table[codes]
        if ((ids == 0) & (codes != 0)).any():
            for char in dict.fromkeys(joined):
                if char != END and self.table[ord(char)] == 0:
                    self.table[ord(char)] = len(self.types)
                    self.types.append(char)
            ids = self.table[codes]
        return ids


class OpenWords(OpenEncoder):
    """Words by way of the chunks between spaces, each of which is split only once."""

    def __init__(self, rules: TokenRules) -> None:
        super().__init__(rules)
        self.split, self.newlines = SPLITTERS[rules.split], rules.newlines
        self.index: dict[str, int] = {}
        self.chunks = ChunkTable(self._ids)

    def raw(self, joined: str) -> np.ndarray:
        joined = joined.replace(END, f" {END} ")
        if self.newlines:
            joined = joined.replace(NEWLINE, f" {LINE_END} ")
        return self.chunks(joined)

    def _ids(self, chunk: str) -> Iterable[int]:
        if chunk == END:
            return (0,)
        if chunk == LINE_END:
            return (self._id(NEWLINE),)
        return map(self._id, self.split(chunk))

    def _id(self, word: str) -> int:
        id_ = self.index.get(word)
        if id_ is None:
            if len(self.types) >= MOST_TYPES:
                word = UNK
            id_ = self.index.setdefault(word, len(self.types))
            if id_ == len(self.types):
                self.types.append(word)
        return id_


OPEN: dict[str, type[OpenEncoder]] = {"char": OpenChars, "word": OpenWords}


def open_encoder(rules: TokenRules) -> OpenEncoder:
    return OPEN[rules.kind](rules)
