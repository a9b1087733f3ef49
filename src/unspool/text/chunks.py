"""Chunks: stretches of text without a space. Most come again and again, so each is worked on once.

`ChunkCache` remembers what a chunk became. `distinct` finds the different chunks of a long text
without making a Python string of every one, which is what tokenising would otherwise spend its
time on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

MOST_CHUNKS = 1 << 20
LONGEST = 256  # bytes of a chunk that are hashed eight at a time
STEP = 8
SPACE = np.zeros(256, dtype=bool)
SPACE[[ord(char) for char in map(chr, range(128)) if char.isspace()]] = True
WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")
FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(STEP + 1)], dtype=np.uint64)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class ChunkCache(dict[str, tuple[int, ...]]):
    """chunk -> ids, worked out when first asked for; beyond `most` chunks it starts afresh."""

    def __init__(self, encode: Callable[[str], Iterable[int]], *, most: int = MOST_CHUNKS) -> None:
        super().__init__()
        self.encode, self.most = encode, most

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        if len(self) >= self.most:
            self.clear()
        ids = self[chunk] = tuple(self.encode(chunk))
        return ids


class Distinct(NamedTuple):
    """`[chunks[i] for i in order]` is `text.split()`; chunks stand in order of appearance."""

    chunks: list[str]
    order: np.ndarray


def distinct(text: str) -> Distinct:
    """The different chunks of a text, told apart by 64-bit hashes of their UTF-8 bytes."""
    if not text.isascii():
        text = WIDE_SPACE.sub(" ", text)
    data = text.encode("utf-8")
    codes = np.frombuffer(b" " + data + b" " * STEP, dtype=np.uint8)
    gap = SPACE[codes]
    edges = np.flatnonzero(gap[1:] != gap[:-1])  # positions in data, starts and stops in turn
    starts, stops = edges[0::2], edges[1::2]
    hashes = _hashes(codes[1:], starts, stops - starts)
    for i in np.flatnonzero(stops - starts > LONGEST):
        hashes[i] = hash(data[starts[i] : stops[i]]) & 0xFFFFFFFFFFFFFFFF
    _, first, order = np.unique(hashes, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    rank = np.empty_like(by_appearance)
    rank[by_appearance] = np.arange(len(rank))
    first = first[by_appearance]
    spans = zip(starts[first].tolist(), stops[first].tolist())
    return Distinct([data[a:b].decode("utf-8") for a, b in spans], rank[order])


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
        hashes[left] = mixed ^ (mixed >> np.uint64(29))
    return hashes
