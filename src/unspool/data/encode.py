"""A source in, its store of token ids out, in one pass; stores are kept in the cache.

Characters and words are numbered in the order of their first appearance, which needs no vocabulary.
Many texts are encoded at once: joined by a NUL, which no text holds, so that the work is done by a
few calls on one long string, and the NULs give back the lengths.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from unspool.config import TokenizerConfig
from unspool.data.cache import cached
from unspool.data.files import Report
from unspool.data.readers import Source
from unspool.data.rows import Example
from unspool.data.store import Store, StoreWriter
from unspool.errors import DataError
from unspool.text.normalize import Normalizer
from unspool.text.tokenizers import BPETokenizer, Tokenizer, WordTokenizer
from unspool.text.vocab import UNK
from unspool.text.words import NEWLINE, SPLITTERS

BATCH_CHARACTERS = 1 << 18
BATCH_TEXTS = 1 << 13
MOST_CHUNKS = 1 << 20  # remembered chunks between spaces; forgotten all at once beyond
MOST_TYPES = 1 << 22  # distinct words; later ones are unknown, so that memory stays bounded
CODE_POINTS = 0x110000
END = "\0"

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
        unseen = codes[(ids == 0) & (codes != 0)]
        if len(unseen):
            found, first = np.unique(unseen, return_index=True)
            for code in found[np.argsort(first)]:
                self.table[code] = len(self.types)
                self.types.append(chr(code))
            ids = self.table[codes]
        return ids


class OpenWords(OpenEncoder):
    """Words by way of the chunks between spaces: most chunks come again, so each is split once."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.newlines = rules.newlines
        self.index: dict[str, int] = {}
        self.chunks = _Chunks(SPLITTERS[rules.split], self._id)
        self.chunks[END] = (0,)

    def _id(self, word: str) -> int:
        found = self.index.get(word)
        if found is None:
            if len(self.types) >= MOST_TYPES:
                word = UNK
                if word in self.index:
                    return self.index[word]
            found = self.index[word] = len(self.types)
            self.types.append(word)
        return found

    def raw(self, joined: str) -> np.ndarray:
        joined = joined.replace(END, f" {END} ")
        if self.newlines:
            joined = joined.replace(NEWLINE, f" {END}{END} ")
        if len(self.chunks) > MOST_CHUNKS:
            self.chunks.clear()
            self.chunks[END] = (0,)
        if self.newlines:
            self.chunks[END + END] = (self._id(NEWLINE),)
        found = map(self.chunks.__getitem__, joined.split())
        return np.fromiter(chain.from_iterable(found), dtype=np.uint32)


class _Chunks(dict[str, tuple[int, ...]]):
    """Chunk -> raw ids of its words, worked out when first asked for."""

    def __init__(self, split: Callable[[str], list[str]], number: Callable[[str], int]) -> None:
        super().__init__()
        self.split, self.number = split, number

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        ids = self[chunk] = tuple(map(self.number, self.split(chunk)))
        return ids


OPEN: dict[str, type[OpenEncoder]] = {"char": OpenChars, "word": OpenWords}


def encode_source(
    source: Source, rules: Rules, progress: Progress | None = None
) -> tuple[Store, bool]:
    """The store of a source, and whether it came from the cache."""
    stream = source.task == "generate"
    key = {
        "content": source.sha256,
        "layout": asdict(source.layout),
        "encoding": source.files[0].encoding,
        "stream": stream,
        "rules": asdict(rules),
    }

    def build(folder: Path) -> None:
        encoder, writer = OPEN[rules.kind](rules), StoreWriter(folder)
        for batch in _batches(source.read(_report(progress, f"tokenising {source.path}"))):
            _add(batch, encoder, writer, source, stream)
        writer.close(encoder.types)

    return cached(key, build, Store.load)


def _report(progress: Progress | None, stage: str) -> Report | None:
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


def texts_of(store: Store, spans: np.ndarray) -> Iterator[str]:
    """The normalised texts of stretches (N, 2) of a store of characters."""
    codes = np.array([ord(char or END) for char in store.types], dtype=np.uint32)
    for start, stop in spans:
        yield codes[store.ids[start:stop]].tobytes().decode("utf-32-le")


def encode_bpe(
    store: Store,
    spans: np.ndarray,
    tokenizer: BPETokenizer,
    key: dict[str, object],
    progress: Progress | None = None,
) -> tuple[Store, bool]:
    """The store of byte pairs, one piece a span, from the store of characters.

    Its ids are those of the tokenizer. Lines and labels go over where the spans are the pieces.
    """

    def build(folder: Path) -> None:
        writer = StoreWriter(folder)
        whole = len(spans) == len(store)
        names = None if store.labels is None else np.array(store.names, dtype=object)[store.labels]
        report = _report(progress, "byte-pair encoding")
        texts = texts_of(store, spans)
        for a in range(0, len(spans), 256):
            some = [text for text, _ in zip(texts, range(min(256, len(spans) - a)))]
            ids = tokenizer.encode_normal(some)
            lengths = np.array(list(map(len, ids)), dtype=np.int64)
            b = a + len(some)
            writer.add(
                np.concatenate(ids),
                lengths,
                characters=list(map(len, some)),
                lines=store.lines[a:b].tolist() if whole else [0] * len(some),
                labels=[None] * len(some) if names is None else names[a:b].tolist(),
            )
            if report is not None:
                report(b / len(spans))
        writer.close(tokenizer.vocab.tokens)

    return cached(key, build, Store.load)
