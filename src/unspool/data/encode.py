"""A source in, its store of token ids out, in one pass; stores are kept in the cache.

Characters and words are numbered in the order of their first appearance, which needs no vocabulary.
Many texts are encoded at once: joined by a NUL, which no text holds, so that the work is done by a
few calls on one long string, and the NULs give back the lengths.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.config import TokenizerConfig
from unspool.data.cache import cached
from unspool.data.read.files import Report
from unspool.data.source import Example, Source
from unspool.data.store import Store, StoreWriter
from unspool.errors import DataError
from unspool.text.chunks import ChunkTable
from unspool.text.normalize import Normalizer
from unspool.text.tokenizers import Tokenizer, WordTokenizer
from unspool.text.vocab import UNK
from unspool.text.words import NEWLINE, SPLITTERS

BATCH_CHARACTERS = 1 << 22
BATCH_TEXTS = 1 << 16
MOST_TYPES = 1 << 22  # distinct words; later ones are unknown, so that memory stays bounded
CODE_POINTS = 0x110000
END = "\0"  # of a text; no text holds a NUL
LINE_END = "\0\0"

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Rules:
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
    def of(settings: TokenizerConfig, *, stream: bool) -> Rules:
        """Rules for the store of a source; byte pairs start from characters."""
        words = settings.kind == "word"
        return Rules(
            "word" if words else "char",
            settings.normalize,
            settings.lowercase,
            settings.split if words else "",
            stream and words,
        )

    @staticmethod
    def of_tokenizer(tokenizer: Tokenizer) -> Rules:
        form, lowercase = tokenizer.normalizer.form, tokenizer.normalizer.lowercase
        if isinstance(tokenizer, WordTokenizer):
            return Rules("word", form, lowercase, tokenizer.split, tokenizer.newlines)
        return Rules("char", form, lowercase, "", False)


class OpenEncoder(ABC):
    """Texts to raw ids; the vocabulary grows as new tokens appear."""

    def __init__(self, rules: Rules) -> None:
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

    def __init__(self, rules: Rules) -> None:
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

    def __init__(self, rules: Rules) -> None:
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
        found = self.index.get(word)
        if found is None:
            if len(self.types) >= MOST_TYPES:
                word = UNK
            found = self.index.setdefault(word, len(self.types))
            if found == len(self.types):
                self.types.append(word)
        return found


OPEN: dict[str, type[OpenEncoder]] = {"char": OpenChars, "word": OpenWords}


class Encoded(NamedTuple):
    """A store, the key that names it in the cache, and whether it was there already."""

    store: Store
    key: dict[str, Any]
    hit: bool


def encode_source(source: Source, rules: Rules, progress: Progress | None = None) -> Encoded:
    """The store of a source, one piece an example."""
    stream = source.task == "generate"
    key = {
        **source.key,
        "stream": stream,
        "rules": asdict(rules),
    }

    def build(folder: Path) -> None:
        encoder = OPEN[rules.kind](rules)
        examples = source.read(report_stage(progress, f"tokenising {source.name}"))
        with StoreWriter(folder) as writer:
            for batch in _batches(examples):
                _add(batch, encoder, writer, source, stream)
            writer.close(encoder.types)

    store, hit = cached(key, build, Store.load)
    return Encoded(store, key, hit)


def report_stage(progress: Progress | None, stage: str) -> Report | None:
    if progress is None:
        return None
    return lambda fraction: progress(stage, fraction)


def _batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
    batch: list[Example] = []
    size = 0
    for example in examples:
        batch.append(example)
        size += len(example.text)
        if size >= BATCH_CHARACTERS or len(batch) >= BATCH_TEXTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _add(
    batch: list[Example], encoder: OpenEncoder, writer: StoreWriter, source: Source, stream: bool
) -> None:
    texts, labels, lines = map(list, zip(*batch))
    if "" in labels:
        raise DataError(
            "the label is empty",
            where=source.where(lines[labels.index("")]),
            remedy="fill it in or remove the row",
        )
    if stream:
        labels = [None] * len(texts)
        if source.format != "text":
            texts = [text + NEWLINE for text in texts]
    ids, lengths = encoder.encode(texts)
    writer.add(ids, lengths, characters=list(map(len, texts)), lines=lines, labels=labels)
