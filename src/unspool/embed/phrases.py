"""Pairs of words that go together, joined: a column of words in, one with phrases out.

Mikolov et al. (2013b), section 4: a pair of neighbours is a phrase where

    score(a, b) = (count(a b) − δ) · T / (count(a) · count(b))

is larger than a threshold, with T words in the text and δ against pairs of rare words. Further
passes join what was joined before, each with half the threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unspool.data.store.cache import cached
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import TokenColumn, TokenWriter

WINDOW = 1 << 22  # tokens looked at together
MOST_PAIRS = 1 << 23  # that are counted; rarer ones are forgotten, so that memory stays bounded
JOINT = "_"


class PairCounts(NamedTuple):
    """Pairs of raw ids as first · 2³² + second, in order, and how often each occurs."""

    pairs: np.ndarray
    counts: np.ndarray


def join_phrases(
    column: TokenColumn, *, score: float, least: int, progress: Progress | None = None
) -> TokenColumn:
    """One pass; kept in the cache. `least` is δ, and a pair that is not more frequent is none."""
    key = {"of": column.key, "phrases": score, "least": least}

    def build(folder: Path) -> None:
        phrases = find_phrases(column, score=score, least=least)
        types = column.types
        words = [f"{types[p >> 32]}{JOINT}{types[p & 0xFFFFFFFF]}" for p in phrases.tolist()]
        writer = TokenWriter(folder, "phrases")
        for start, stop in _windows(column):
            _add(column, start, stop, phrases, writer)
            if progress is not None:
                progress("joining phrases", stop / len(column))
        writer.close([*types, *words])

    return cached(key, build, lambda folder: TokenColumn.load(folder, "phrases", key))[0]


def find_phrases(column: TokenColumn, *, score: float, least: int) -> np.ndarray:
    """The pairs that are phrases, in order."""
    pairs, together = count_pairs(column, least=least)
    counts = column.counts.astype(np.float64)
    alone = counts[pairs >> 32] * counts[pairs & 0xFFFFFFFF]
    return pairs[(together > least) & ((together - least) * counts.sum() > score * alone)]


def count_pairs(column: TokenColumn, *, least: int) -> PairCounts:
    """Frequency of each pair of neighbours; where there are very many, the rarest are dropped on
    the way."""
    total = PairCounts(np.empty(0, np.int64), np.empty(0, np.int64))
    for start, stop in _windows(column):
        counts = PairCounts(*np.unique(_pairs(column, start, stop).pairs, return_counts=True))
        total = _merged(total, counts)
        while len(total.pairs) > MOST_PAIRS:
            often = total.counts > max(1, total.counts.min())
            total = PairCounts(total.pairs[often], total.counts[often])
    often = total.counts > least
    return PairCounts(total.pairs[often], total.counts[often])


def _merged(a: PairCounts, b: PairCounts) -> PairCounts:
    pairs, place = np.unique(np.concatenate([a.pairs, b.pairs]), return_inverse=True)
    counts = np.bincount(place, np.concatenate([a.counts, b.counts]), minlength=len(pairs))
    return PairCounts(pairs, counts.astype(np.int64))


class _Neighbours(NamedTuple):
    ids: np.ndarray  # (M,) int64: the tokens of some pieces
    inside: np.ndarray  # (M - 1,) bool: whether the next token is of the same piece
    all: np.ndarray  # (M - 1,) int64: each token with the next

    @property
    def pairs(self) -> np.ndarray:
        return self.all[self.inside]


def _pairs(column: TokenColumn, start: int, stop: int) -> _Neighbours:
    """The neighbouring pairs of the pieces `start` to `stop`."""
    edges = column.offsets[start : stop + 1]
    ids = column.ids[edges[0] : edges[-1]].astype(np.int64)
    inside = np.ones(max(0, len(ids) - 1), bool)
    ends = edges[1:-1] - edges[0]
    inside[ends[(ends > 0) & (ends < len(ids))] - 1] = False
    return _Neighbours(ids, inside, (ids[:-1] << 32) | ids[1:])


def _windows(column: TokenColumn) -> Iterator[tuple[int, int]]:
    """Stretches of pieces of about WINDOW tokens each."""
    start = 0
    while start < len(column):
        stop = int(np.searchsorted(column.offsets, column.offsets[start] + WINDOW, "right")) - 1
        stop = min(max(stop, start + 1), len(column))
        yield start, stop
        start = stop


def _add(
    column: TokenColumn, start: int, stop: int, phrases: np.ndarray, writer: TokenWriter
) -> None:
    """Write the pieces `start` to `stop` with their phrases joined, from the left."""
    ids, inside, pairs = _pairs(column, start, stop)
    place = np.searchsorted(phrases, pairs)
    is_phrase = inside & (place < len(phrases))
    is_phrase[is_phrase] = phrases[place[is_phrase]] == pairs[is_phrase]
    joined = every_other(is_phrase)
    ids = ids.copy()
    ids[:-1][joined] = len(column.types) + place[joined]
    kept = np.ones(len(ids), bool)
    kept[1:][joined] = False
    before = np.concatenate([[0], np.cumsum(kept)])
    edges = column.offsets[start : stop + 1] - column.offsets[start]
    writer.add(ids[kept], np.diff(before[edges]), column.characters[start:stop].tolist())


def every_other(marks: np.ndarray) -> np.ndarray:
    """The first, third, ... of each run of True: of two overlapping phrases the left counts."""
    places = np.arange(len(marks))
    starts = np.where(marks & ~np.concatenate([[False], marks[:-1]]), places, 0)
    return marks & ((places - np.maximum.accumulate(starts)) % 2 == 0)
