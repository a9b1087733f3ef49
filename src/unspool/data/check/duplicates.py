"""Rows that are nearly the same: sets of hashes in, pairs with their Jaccard similarity out.

MinHash (Broder 1997): of two sets, the least values under a random permutation are equal with the
probability J = |A ∩ B| / |A ∪ B|. Rows whose R least values in one of B bands are equal become a
candidate, with the probability 1 - (1 - J^R)^B; every candidate is then verified by its true J.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from unspool.data.fields.ngrams import mix
from unspool.data.store.ragged import Ragged, gather

LEAST = 0.8  # similarity of near-duplicates
BANDS, BAND = 16, 6  # found with the probability 0.992 at J = 0.8, 0.9999 at 0.9
ROWS = 4096  # hashed at once
PAIRS = 1 << 14  # verified at once, of fewer rows than 2^(64 - VALUE)
VALUE = 48  # bits of a hash that tell the elements of two sets apart
CROWD = 32  # rows of one band's group that are all compared with each other; fewer
MOST_PAIRS = 1 << 19  # where a band would have more pairs than this
KINDS = 8  # representatives of a larger group
THREADS = 2
SEED = 20261117

Sets = Callable[[np.ndarray], Ragged]  # rows -> the hashes of each, which may repeat


class Near(NamedTuple):
    """Pairs of rows, the first one smaller, and how similar they are."""

    pairs: np.ndarray  # (P, 2)
    similarity: np.ndarray  # (P,)


def near_duplicates(
    sets: Sets, rows: np.ndarray, least: float = LEAST, kinds: np.ndarray | None = None
) -> Near:
    """All pairs of `rows` (sorted), but for few that chance hides, of at least this similarity.

    In a crowd, rows that agree with very many others, each row is compared with representatives
    only, one of each of its `kinds` (N,), and no more once it is near one of them.
    """
    keys, size = signatures(sets, rows), len(rows)
    kinds = np.zeros(size, dtype=np.int64) if kinds is None else kinds
    done = near = np.empty(0, dtype=np.int64)  # codes of pairs: first * size + second
    settled, matches = np.zeros(size, dtype=bool), []
    with ThreadPoolExecutor(THREADS) as pool:
        for key in keys:
            few, crowd = band_pairs(key, kinds, settled)
            codes = merged(few, pair_codes(*crowd, size))
            codes = codes[~among(codes, done)]
            blocks = [codes[i : i + PAIRS] for i in range(0, len(codes), PAIRS)]
            pairs = [rows[np.stack([part // size, part % size], 1)] for part in blocks]
            similarity = list(pool.map(lambda block: similarities(sets, block), pairs))
            similar = np.concatenate([np.empty(0), *similarity])
            matches.append((codes[similar >= least], similar[similar >= least]))
            done, near = merged(done, codes), merged(near, matches[-1][0])
            settled[crowd[0][among(pair_codes(*crowd, size), near)]] = True
    codes, similar = (np.concatenate(part) for part in zip(*matches))
    order = np.argsort(codes)
    codes = codes[order]
    return Near(rows[np.stack([codes // size, codes % size], 1)], similar[order])


def pair_codes(one: np.ndarray, other: np.ndarray, size: int) -> np.ndarray:
    return np.minimum(one, other) * size + np.maximum(one, other)


def signatures(sets: Sets, rows: np.ndarray) -> np.ndarray:
    """(B, N) uint64: a number for each band of each row, equal where its R least values are."""
    rng = np.random.default_rng(SEED)
    factors = rng.integers(0, 1 << 63, (BANDS, BAND), dtype=np.uint64) * np.uint64(2)
    factors += np.uint64(1)
    keys = np.zeros((BANDS, len(rows)), dtype=np.uint64)

    def fill(first: int) -> None:
        some = sets(rows[first : first + ROWS])
        permuted = np.empty_like(some.values)
        for band in range(BANDS):
            key = keys[band, first : first + ROWS]
            for factor in factors[band]:
                np.multiply(some.values, factor, out=permuted)
                key += np.minimum.reduceat(permuted, some.starts)
                mix(key)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(fill, range(0, len(rows), ROWS)))
    return keys


def merged(*codes: np.ndarray) -> np.ndarray:
    """Sorted, each once. (np.unique of numbers makes a hash table, at ten times the cost.)"""
    every = np.sort(np.concatenate(codes))
    return every[np.append(True, every[1:] != every[:-1])[: len(every)]]


def among(codes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """bool: which of the codes are in `known`, which is sorted."""
    if not len(known):
        return np.zeros(len(codes), dtype=bool)
    return known[np.minimum(np.searchsorted(known, codes), len(known) - 1)] == codes


class BandPairs(NamedTuple):
    """Candidates of one band.

    few     codes of all pairs within small groups of equal keys
    crowd   rows of large groups, and for each one representative
    """

    few: np.ndarray
    crowd: tuple[np.ndarray, np.ndarray]


def band_pairs(key: np.ndarray, kinds: np.ndarray, settled: np.ndarray) -> BandPairs:
    """All pairs within small groups of equal keys (N,); rows of crowds with representatives."""
    size = len(key)
    order = np.argsort(key, kind="stable")
    new = np.append(True, key[order[1:]] != key[order[:-1]])
    group = np.cumsum(new) - 1
    counts = np.bincount(group)
    largest = min(CROWD, most_rows(counts))
    small = counts[group] <= largest
    few, ordered = order[small], group[small]
    same = [np.flatnonzero(ordered[step:] == ordered[:-step]) for step in range(1, largest)]
    codes = [few[at] * size + few[at + step] for step, at in enumerate(same, 1)]
    crowd = represented(order[~small], group[~small], kinds, settled)
    return BandPairs(np.concatenate([np.empty(0, np.int64), *codes]), crowd)


def most_rows(counts: np.ndarray) -> int:
    """The largest size of groups that have no more than MOST_PAIRS pairs together, at least 2."""
    sizes = np.bincount(counts)
    pairs = np.cumsum(sizes * (np.arange(len(sizes)) * (np.arange(len(sizes)) - 1) // 2))
    return max(2, int(np.searchsorted(pairs, MOST_PAIRS, side="right")) - 1)


def represented(
    rows: np.ndarray, group: np.ndarray, kinds: np.ndarray, settled: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Unsettled rows, each with the first row of up to KINDS kinds of its group."""
    if not len(rows):
        return rows, rows
    kind = np.unique(kinds[rows], return_inverse=True)[1].reshape(-1)
    first = np.unique(group * (int(kind.max()) + 1) + kind, return_index=True)[1]
    first = np.sort(first)
    chosen, of_group = rows[first], group[first]
    starts = np.searchsorted(of_group, group, side="left")
    counts = np.minimum(np.searchsorted(of_group, group, side="right") - starts, KINDS)
    counts[settled[rows]] = 0
    row = np.repeat(rows, counts)
    step = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = chosen[np.repeat(starts, counts) + step]
    return row[row != other], other[row != other]


def similarities(sets: Sets, pairs: np.ndarray) -> np.ndarray:
    """(P,) the Jaccard similarity of pairs (P, 2) of rows; fastest where the first ones are few."""
    if not len(pairs):
        return np.empty(0)
    rows, index = np.unique(pairs, return_inverse=True)
    single = distinct(sets(rows))
    index = index.reshape(pairs.shape)
    sizes = single.lengths[index]
    firsts, first = np.unique(index[:, 0], return_inverse=True)
    known = owned(single.select(firsts), np.arange(len(firsts)))  # sorted
    others = owned(single.select(index[:, 1]), first)
    starts = np.cumsum(sizes[:, 1]) - sizes[:, 1]
    common = np.add.reduceat(among(others, known), starts, dtype=np.int64)
    return common / (sizes.sum(1) - common)


def distinct(sets: Ragged) -> Ragged:
    """Each set sorted and without repetitions, of hashes cut to VALUE bits, by one sort."""
    values = Ragged.of_lengths(gather(sets) >> np.uint64(64 - VALUE), sets.lengths)
    marks = np.sort(owned(values, np.arange(len(sets))))
    new = np.append(True, marks[1:] != marks[:-1])
    owner = (marks[new] >> np.uint64(VALUE)).astype(np.int64)
    kept = marks[new] & np.uint64((1 << VALUE) - 1)
    return Ragged.of_lengths(kept, np.bincount(owner, minlength=len(sets)))


def owned(sets: Ragged, owners: np.ndarray) -> np.ndarray:
    """All values, below VALUE bits, with the number of their owner above."""
    above = owners.astype(np.uint64) << np.uint64(VALUE)
    return gather(sets) | np.repeat(above, sets.lengths)
