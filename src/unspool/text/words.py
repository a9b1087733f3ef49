"""Words: a text in, its normal form, words and punctuation marks out; and tokens back into text.

A chunk is a stretch of text without a space. Most come again and again, so each is split once:
`ChunkCache` is a dictionary that remembers the ids of a chunk. `ChunkTable` does the same for a
long text at once, without making a Python string of every chunk: it finds and hashes them all with
a few array operations, and only chunks never seen before become strings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

MOST_CHUNKS = 1 << 20
MOST_ROWS = 1 << 22
LONGEST = 256  # bytes of a chunk that are hashed eight at a time, characters of one in the cache
STEP = 8
SPACE = np.array([chr(code).isspace() and code < 128 for code in range(256)])
WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")
FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(STEP + 1)], dtype=np.uint64)
GOLDEN, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)

Encode = Callable[[str], Iterable[int]]


class ChunkCache(dict[str, tuple[int, ...]]):
    """chunk -> ids, worked out when first asked for; beyond `most` chunks it starts afresh.

    What is too long to come again is not remembered.
    """

    def __init__(self, encode: Encode, *, most: int = MOST_CHUNKS) -> None:
        super().__init__()
        self.encode, self.most = encode, most

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        ids = tuple(self.encode(chunk))
        if len(chunk) <= LONGEST:
            if len(self) >= self.most:
                self.clear()
            self[chunk] = ids
        return ids


class ChunkTable:
    """The ids of `text.split()`, one chunk after another.

    Chunks are distinguished by 64-bit hashes: four million of them meet by chance once in a million
    corpora. New chunks reach `encode` in the order of their first appearance.
    """

    def __init__(self, encode: Encode, *, most: int = MOST_ROWS) -> None:
        self.encode, self.most = encode, most
        self._forget()

    def _forget(self) -> None:
        self.hashes = np.empty(0, dtype=np.uint64)  # sorted
        self.rows = np.empty(0, dtype=np.int64)  # their rows in `starts` and `sizes`
        self.starts = np.empty(0, dtype=np.int64)  # where the ids of a row start in `ids`
        self.sizes = np.empty(0, dtype=np.int64)
        self.ids = np.empty(0, dtype=np.uint32)

    def __call__(self, text: str) -> np.ndarray:
        """uint32 ids of the whole text."""
        if len(self.rows) > self.most:
            self._forget()
        spans = find_chunks(text)
        first, group = group_equal(spans.hashes)
        rows = self._rows(spans, first)[group]
        sizes = self.sizes[rows]
        begins = np.cumsum(sizes) - sizes  # where the ids of each chunk begin in the result
        return self.ids[np.repeat(self.starts[rows] - begins, sizes) + np.arange(sizes.sum())]

    def _rows(self, spans: ByteSpans, chosen: np.ndarray) -> np.ndarray:
        """The rows of some chunks of a text, the unknown ones having been added."""
        hashes = spans.hashes[chosen]
        known, indices = self._look_up(hashes)
        if not known.all():
            self._add(spans, np.sort(chosen[~known]))
            _, indices = self._look_up(hashes)
        return self.rows[indices]

    def _look_up(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(whether each hash is known, its index in `self.hashes`)."""
        indices = np.searchsorted(self.hashes, hashes)
        if not len(self.hashes):
            return np.zeros(len(hashes), dtype=bool), indices
        return self.hashes[np.minimum(indices, len(self.hashes) - 1)] == hashes, indices

    def _add(self, spans: ByteSpans, chosen: np.ndarray) -> None:
        ids: list[int] = []
        ends = []
        stops = (spans.starts + spans.sizes)[chosen]
        for start, stop in zip(spans.starts[chosen].tolist(), stops.tolist()):
            ids += self.encode(spans.data[start:stop].decode("utf-8"))
            ends.append(len(ids))
        sizes = np.diff(ends, prepend=0)
        old = len(self.sizes)
        self.starts = np.append(self.starts, len(self.ids) + np.array(ends) - sizes)
        self.sizes = np.append(self.sizes, sizes)
        self.ids = np.append(self.ids, np.array(ids, dtype=np.uint32))
        hashes = spans.hashes[chosen]
        order = np.argsort(hashes)
        indices = np.searchsorted(self.hashes, hashes[order])
        self.hashes = np.insert(self.hashes, indices, hashes[order])
        self.rows = np.insert(self.rows, indices, old + order)


class ByteSpans(NamedTuple):
    """The chunks of a text as stretches of its UTF-8 bytes, and a hash of each."""

    data: bytes
    starts: np.ndarray
    sizes: np.ndarray
    hashes: np.ndarray


def find_chunks(text: str) -> ByteSpans:
    """Boundaries at which `text.split()` would cut."""
    if not text.isascii():
        text = WIDE_SPACE.sub(" ", text)
    data = text.encode("utf-8")
    codes = np.frombuffer(b" " + data + b" " * STEP, dtype=np.uint8)
    gap = SPACE[codes]
    edges = np.flatnonzero(gap[1:] != gap[:-1])  # indices in data: a start, a stop, a start, ...
    starts, sizes = edges[0::2], edges[1::2] - edges[0::2]
    hashes = _hashes(codes[1:], starts, sizes)
    for i in np.flatnonzero(sizes > LONGEST):
        hashes[i] = hash(data[starts[i] : starts[i] + sizes[i]]) & 0xFFFFFFFFFFFFFFFF
    return ByteSpans(data, starts, sizes, hashes)


def _hashes(codes: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """A hash of each stretch of bytes, up to LONGEST: eight bytes at a time, of all at once."""
    eights = np.ndarray(len(codes) - STEP + 1, dtype="<u8", buffer=codes, strides=(1,))
    hashes = sizes.astype(np.uint64) * GOLDEN
    for done in range(0, LONGEST, STEP):
        left = np.flatnonzero(sizes > done)
        if not len(left):
            break
        word = eights[starts[left] + done] & FIRST_BYTES[np.minimum(sizes[left] - done, STEP)]
        mixed = (hashes[left] ^ word) * GOLDEN
        hashes[left] = mixed ^ (mixed >> SHIFT)
    return hashes


class Groups(NamedTuple):
    """`first[g]` is an index of group g, its first; `group[i]` is the group of element i."""

    first: np.ndarray
    group: np.ndarray


def group_equal(hashes: np.ndarray) -> Groups:
    """Equal hashes in one group.

    Like np.unique with its indices, yet by one plain sort: the upper bits of the hash with the
    index in the lower bits. Where the upper bits of two hashes meet, a group may fall into several.
    """
    low = np.uint64((1 << max(1, len(hashes)).bit_length()) - 1)
    packed = (hashes & ~low) | np.arange(len(hashes), dtype=np.uint64)
    packed.sort()
    indices = (packed & low).astype(np.int64)
    ordered = hashes[indices]
    starts = np.ones(len(hashes), dtype=bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    group = np.empty(len(hashes), dtype=np.int64)
    group[indices] = np.cumsum(starts) - 1
    return Groups(indices[starts], group)


FORMS: dict[str, Literal["NFC", "NFKC"] | None] = {"none": None, "nfc": "NFC", "nfkc": "NFKC"}


@dataclass(frozen=True)
class Normalizer:
    """Unicode normal form first, then case folding by `str.lower`."""

    form: str = "nfc"
    lowercase: bool = False

    def __call__(self, text: str) -> str:
        form = FORMS[self.form]
        if form is not None and not text.isascii():
            text = unicodedata.normalize(form, text)
        return text.lower() if self.lowercase else text

    def form_only(self) -> Normalizer:
        """The same with the case kept."""
        return Normalizer(self.form)


NEWLINE = "\n"

# A word keeps its inner apostrophes (don't); a clitic that was already cut off stays whole ('s);
# <unk> is one token, as language-model corpora write it; other marks stand alone.
_PUNCTUATION = re.compile(
    r"<unk>|\w+(?:['’]\w+)*|['’](?:s|m|d|t|re|ve|ll)\b|[^\w\s]", re.IGNORECASE
)
_SPACE = re.compile(r"\s+")
_JOINERS = "\u200c\u200d"


def split_punctuation(chunk: str) -> list[str]:
    """The tokens of a chunk without white space.

    Combining marks belong to their word (as in Devanagari), yet `\\w` leaves them out; so the
    pattern looks at a shape of the chunk in which they are letters, and cuts the chunk itself.
    """
    if chunk.isalnum():
        return [chunk]
    if chunk.isascii():
        return _PUNCTUATION.findall(chunk)
    shape = "".join("a" if _is_mark(char) else char for char in chunk)
    return [chunk[match.start() : match.end()] for match in _PUNCTUATION.finditer(shape)]


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M" or char in _JOINERS


def split_space(chunk: str) -> list[str]:
    return [chunk]


SPLITTERS: dict[str, Callable[[str], list[str]]] = {
    "punctuation": split_punctuation,
    "space": split_space,
}


def words(text: str, *, split: str, newlines: bool) -> list[str]:
    """The tokens of a text; with `newlines` every line end is a token as well."""
    cut = SPLITTERS[split]
    if not newlines:
        tokens: list[str] = []
        for chunk in text.split():
            if chunk.isalnum():  # most are, and whole words to any splitter
                tokens.append(chunk)
            else:
                tokens += cut(chunk)
        return tokens
    first, *rest = text.split(NEWLINE)
    tokens = words(first, split=split, newlines=False)
    for line in rest:
        tokens.append(NEWLINE)
        tokens.extend(words(line, split=split, newlines=False))
    return tokens


def solid(word: str) -> str:
    """A word without white space, which would make it two."""
    return _SPACE.sub("_", word)


class TokenSpan(NamedTuple):
    """A token and where it stands: text[start:stop] == token."""

    token: str
    start: int
    stop: int


_CHUNK = re.compile(r"\S+")


def token_spans(text: str, *, split: str) -> list[TokenSpan]:
    """The tokens of a text with where they start and end.

    The pieces of a chunk follow each other without a gap, so that counting characters is enough.
    """
    cut = SPLITTERS[split]
    spans = []
    for chunk in _CHUNK.finditer(text):
        start = chunk.start()
        for token in cut(chunk[0]):
            spans.append(TokenSpan(token, start, start + len(token)))
            start += len(token)
    return spans


_NO_SPACE_BEFORE = re.compile(r"[.,;:!?%)\]}…”]|n't|['’](?:s|m|d|t|re|ve|ll)", re.IGNORECASE)
_NO_SPACE_AFTER = frozenset("([{$£€#“" + NEWLINE)


def join(tokens: Iterable[str], *, split: str) -> str:
    """Readable text: words apart, punctuation where a typesetter would put it.

    Where words were split at spaces only, spaces alone bring the text back.
    """
    parts: list[str] = []
    last = NEWLINE
    for token in tokens:
        glued = last == NEWLINE or token == NEWLINE
        if split == "punctuation":
            glued = glued or last in _NO_SPACE_AFTER or bool(_NO_SPACE_BEFORE.fullmatch(token))
        parts.append(token if glued else " " + token)
        last = token
    return "".join(parts)
