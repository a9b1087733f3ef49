"""Rows that are nearly the same: sets of hashes in, pairs with their Jaccard similarity out.

MinHash (Broder 1997): of two sets, the least values under a random permutation are equal with the
probability J = |A ∩ B| / |A ∪ B|. Rows whose R least values in one of B bands are equal become a
candidate, with the probability 1 - (1 - J^R)^B; every candidate is then verified by its true J.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from unspool.data.fields.ngrams import mix
from unspool.data.store.ragged import Ragged, gather

LEAST = 0.8  # similarity of near-duplicates
BANDS, BAND = 16, 6  # found with the probability 0.992 at J = 0.8, 0.9999 at 0.9
ROWS = 4096  # hashed at once
PAIRS = 1 << 14  # verified at once
CROWD = 32  # rows of one band's group that a row is compared with at most; fewer
MOST_PAIRS = 1 << 19  # where a band has more pairs than this
THREADS = 2
SEED = 20261117

Sets = Callable[[np.ndarray], Ragged]  # rows -> the hashes of each, which may repeat


class Near(NamedTuple):
    """Pairs of rows, the first one smaller, and how similar they are."""

    pairs: np.ndarray  # (P, 2)
    similarity: np.ndarray  # (P,)


def near_duplicates(sets: Sets, rows: np.ndarray, least: float = LEAST) -> Near:
    """All pairs of `rows` (sorted), but for few that chance hides, of at least this similarity."""
    candidates = candidate_pairs(signatures(sets, rows))
    blocks = [candidates[i : i + PAIRS] for i in range(0, len(candidates), PAIRS)]
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda block: similarities(sets, rows[block]), blocks))
    similarity = np.concatenate([np.empty(0), *found])
    near = similarity >= least
    return Near(rows[candidates[near]], similarity[near])


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


def candidate_pairs(keys: np.ndarray) -> np.ndarray:
    """(P, 2) pairs of columns that agree in a row; in a crowd, each with the next ones only."""
    size = keys.shape[1]
    found = [np.empty(0, dtype=np.int64)]
    for key in keys:
        codes = np.concatenate([np.empty(0, np.int64), *agreeing(key, size)])
        found.append(np.unique(codes))
    codes = np.unique(np.concatenate(found))
    return np.stack([codes // size, codes % size], axis=1)


def agreeing(key: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """first * size + second of pairs of equal keys."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    count = 0
    for step in range(1, CROWD + 1):
        same = np.flatnonzero(ordered[step:] == ordered[:-step])
        yield order[same] * size + order[same + step]
        count += len(same)
        if not len(same) or count > MOST_PAIRS:
            return


def similarities(sets: Sets, pairs: np.ndarray) -> np.ndarray:
    """(P,) the Jaccard similarity of pairs (P, 2) of rows."""
    if not len(pairs):
        return np.empty(0)
    rows, index = np.unique(pairs, return_inverse=True)
    single = distinct(sets(rows))
    index = index.reshape(pairs.shape)
    sizes = single.lengths[index]
    numbers = np.arange(len(pairs), dtype=np.uint64)
    # The same hash in the same pair is the same number, which no two others are.
    marks = [
        gather(single.select(index[:, side])) ^ np.repeat(mix(numbers + 1), sizes[:, side])
        for side in (0, 1)
    ]
    both = np.isin(marks[0], marks[1], kind="sort")
    common = np.add.reduceat(both, np.cumsum(sizes[:, 0]) - sizes[:, 0], dtype=np.int64)
    return common / (sizes.sum(1) - common)


def distinct(sets: Ragged) -> Ragged:
    """Each set without repetitions."""
    owner = np.repeat(np.arange(len(sets)), sets.lengths)
    values = gather(sets)
    order = np.lexsort((values, owner))
    values, owner = values[order], owner[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = (values[1:] != values[:-1]) | (owner[1:] != owner[:-1])
    return Ragged.of_lengths(values[new], np.bincount(owner[new], minlength=len(sets)))
