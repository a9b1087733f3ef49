"""The same numbers over time twice: tracks in, pairs out.

    same    equal from the first value to the last, whenever they begin
    part    all of one track is a stretch of another
    near    nearly all values of the same times agree

What chance alone would give is left out: a track of H bits a value (the entropy of its values) that
changes c times equals another of M values in N tracks with a probability of about M N 2^(-H c).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unspool.data.check.duplicates import near_duplicates
from unspool.data.fields.examiner import SeriesTrack
from unspool.data.fields.ngrams import mix
from unspool.data.fields.series_values import digest
from unspool.data.store.ragged import Ragged

SURE = 10  # bits more than chance would explain
PIECE = 8  # values by which a stretch is looked for
TRIED = 64  # stretches that begin alike, at most, for each track
BLOCK = 1 << 20  # values hashed at once
BASE = 0x9E3779B97F4A7C15  # odd, so that it can be inverted
AGREE, WITHIN = 0.95, 0.01  # of the values, and by how many standard deviations
SIMILAR = 0.6  # of the sets by which near ones are looked for; then all values are compared
SAMPLED = 1024  # values of a set


class Repetition(NamedTuple):
    """A track that repeats another.

    share    of the values that agree
    first    for a part: the step of the other at which it begins
    """

    kind: str
    track: int
    other: int
    share: float = 1.0
    first: int = 0


def find_repetitions(tracks: Sequence[SeriesTrack]) -> list[Repetition]:
    spans = [span_of(track.values) for track in tracks]
    keys = [exact(track.values[span]) for track, span in zip(tracks, spans)]
    total = sum(map(len, keys))
    least = SURE + np.log2(max(1, total * len(tracks)))
    informative = [row for row, track in enumerate(keys) if information(track) >= least]
    repetitions: list[Repetition] = []
    firsts: dict[int, int] = {}
    for row in informative:
        first = firsts.setdefault(digest(keys[row]), row)
        if first != row:
            repetitions.append(Repetition("same", row, first))
    rows = list(firsts.values())
    parts = [
        Repetition("part", rows[track], rows[other], first=first + spans[rows[other]].start)
        for track, other, first in stretches([keys[row] for row in rows])
    ]
    known = {(track.track, track.other) for track in parts}
    near = near_tracks([tracks[row] for row in rows])
    for a, b, share in near:
        track, other = rows[b], rows[a]  # the later one repeats the earlier
        if not known & {(track, other), (other, track)}:
            parts.append(Repetition("near", track, other, share))
    return repetitions + parts


def span_of(x: np.ndarray) -> slice:
    seen = np.flatnonzero(~np.isnan(x))
    return slice(int(seen[0]), int(seen[-1]) + 1) if len(seen) else slice(0, 0)


def exact(x: np.ndarray) -> np.ndarray:
    """(T,) int32, equal where values are; all gaps are equal"""
    return np.where(np.isnan(x), np.float32(np.nan), x + np.float32(0)).astype("<f4").view("<i4")


def information(keys: np.ndarray) -> float:
    """Bits: the entropy of a value, times how often it changes."""
    if len(keys) < 2:
        return 0.0
    p = np.unique(keys, return_counts=True)[1] / len(keys)
    return float(-(p * np.log2(p)).sum() * np.count_nonzero(np.diff(keys)))


def stretches(keys: Sequence[np.ndarray]) -> list[tuple[int, int, int]]:
    """(track, other, first step) of tracks that are stretches of another, all of them different.

    Each is looked for by the hash of those of its pieces that changes most: the hashes of all
    pieces of all tracks are met with these, and what meets is compared value by value.
    """
    lengths = np.array([len(track) for track in keys])
    rows = np.flatnonzero(lengths >= PIECE).tolist()
    if len(rows) < 2:
        return []
    every = np.concatenate([keys[row] for row in rows])
    sizes = lengths[rows]
    starts = np.cumsum(sizes) - sizes
    hashes = piece_hashes(every)
    anchors = np.array([liveliest(keys[row]) for row in rows])
    wanted = hashes[starts + anchors]
    order = np.sort(wanted)
    place = np.minimum(np.searchsorted(order, hashes), len(order) - 1)
    met = np.flatnonzero(order[place] == hashes)
    met = met[np.argsort(hashes[met], kind="stable")]
    low = np.searchsorted(hashes[met], wanted, side="left")
    high = np.searchsorted(hashes[met], wanted, side="right")
    matches = []
    for track, (anchor, first, last) in enumerate(zip(anchors, low, high)):
        begins = met[first:last] - anchor
        hosts = np.searchsorted(starts, begins, side="right") - 1
        fits = (hosts >= 0) & (hosts != track)
        fits &= begins + sizes[track] <= starts[hosts] + sizes[hosts]
        for begin, host in zip(begins[fits][:TRIED], hosts[fits][:TRIED]):
            if np.array_equal(every[begin : begin + sizes[track]], keys[rows[track]]):
                matches.append((rows[track], rows[int(host)], int(begin - starts[host])))
                break
    return matches


def piece_hashes(keys: np.ndarray) -> np.ndarray:
    """(M,) uint64 of the PIECE values from each on: Σ_j h(x_{i+j}) B^j mod 2^64; 0 at the end."""
    hashes = np.zeros(len(keys), np.uint64)
    size = min(BLOCK, len(keys)) + 1
    powers = np.cumprod(np.r_[np.uint64(1), np.full(size, BASE, np.uint64)], dtype=np.uint64)
    inverse = np.full(size, pow(BASE, -1, 1 << 64), np.uint64)
    inverses = np.cumprod(np.r_[np.uint64(1), inverse], dtype=np.uint64)
    step = max(1, BLOCK - PIECE + 1)
    for start in range(0, max(0, len(keys) - PIECE + 1), step):
        mixed = mix(keys[start : start + BLOCK].astype(np.int64).astype(np.uint64) + np.uint64(1))
        sums = np.r_[np.uint64(0), np.cumsum(mixed * powers[: len(mixed)], dtype=np.uint64)]
        pieces = (sums[PIECE:] - sums[:-PIECE]) * inverses[: len(mixed) - PIECE + 1]
        hashes[start : start + len(pieces)] = pieces
    return hashes


def liveliest(keys: np.ndarray) -> int:
    """Where the piece begins that changes most often."""
    changes = np.r_[0, np.cumsum(keys[1:] != keys[:-1])]
    return int(np.argmax(changes[PIECE - 1 :] - changes[: len(keys) - PIECE + 1]))


def near_tracks(tracks: Sequence[SeriesTrack]) -> list[tuple[int, int, float]]:
    """(earlier, later, share of the values that agree)"""
    if len(tracks) < 2:
        return []
    longest = max(len(track.values) for track in tracks)
    every = max(1, longest // SAMPLED)

    def sets(rows: np.ndarray) -> Ragged:
        return Ragged.of([step_values(tracks[row], int(row), every) for row in rows])

    near = near_duplicates(sets, np.arange(len(tracks)), least=SIMILAR)
    near_pairs = []
    for a, b in near.pairs.tolist():
        share = agreement(tracks[a], tracks[b])
        if share >= AGREE:
            near_pairs.append((a, b, share))
    return near_pairs


def step_values(track: SeriesTrack, row: int, every: int) -> np.ndarray:
    """uint64 hashes of some steps with their values in coarse units, but for the median."""
    x = track.values.astype(np.float64)
    sd, median = spread(x)
    times = mix(np.ascontiguousarray(track.steps, np.float64).view(np.uint64).copy())
    kept = ~np.isnan(x) & (x != median) & (times % np.uint64(every) == 0)
    if not kept.any():
        return mix(np.array([row + 1], np.uint64))
    unit = 2.0 ** np.round(np.log2(sd)) / 4  # the same for nearly the same deviation
    level = np.floor(x[kept] / unit).astype(np.int64).astype(np.uint64)
    return mix(times[kept] + mix(level))


def agreement(one: SeriesTrack, other: SeriesTrack) -> float:
    """Share of values within WITHIN standard deviations of each other, but for two medians."""
    _, a, b = np.intersect1d(one.steps, other.steps, return_indices=True)
    x, y = one.values[a].astype(np.float64), other.values[b].astype(np.float64)
    (sd, median), (other_sd, other_median) = (spread(t.values.astype(float)) for t in (one, other))
    seen = ~(np.isnan(x) & np.isnan(y)) & ((x != median) | (y != other_median))
    alone = sum(int((~np.isnan(t.values)).sum()) for t in (one, other)) - int(
        (~np.isnan(x)).sum() + (~np.isnan(y)).sum()
    )
    agree = np.abs(x[seen] - y[seen]) <= WITHIN * min(sd, other_sd)
    return float(agree.sum() / max(1, seen.sum() + alone))


def spread(x: np.ndarray) -> tuple[float, float]:
    """Standard deviation, 1 where nothing moves, and median."""
    seen = x[~np.isnan(x)]
    if not len(seen):
        return 1.0, 0.0
    return float(seen.std()) or 1.0, float(np.median(seen))
