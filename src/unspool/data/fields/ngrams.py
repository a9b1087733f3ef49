"""The n-grams of sequences as 64-bit hashes: tokens in, numbers that are equal where n-grams are.

A token is hashed by its spelling, so that the same n-gram of two files has the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from unspool.data.store.ragged import Ragged, gather

SPACE = 1  # the code of what stands between words that are spelled


def mix(numbers: np.ndarray) -> np.ndarray:
    """uint64 numbers, in place, so that every bit depends on all (the finaliser of MurmurHash3)."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        numbers ^= numbers >> np.uint64(33)
        numbers *= np.uint64(factor)
    numbers ^= numbers >> np.uint64(33)
    return numbers


FACTORS = mix(np.arange(1, 65, dtype=np.uint64)) | np.uint64(1)  # one for each position of a gram


def hash_of(token: str) -> int:
    return int.from_bytes(blake2b(token.encode("utf-8", "replace"), digest_size=8).digest())


class Alphabet:
    """The symbols of sequences, as hashes; case is folded.

    types     the tokens that ids are numbers of
    spelled   a token counts as its characters and a space, not as one symbol
    """

    def __init__(self, types: Sequence[str], *, spelled: bool) -> None:
        folded = [token.casefold() for token in types]
        if spelled:
            codes = [np.array([*map(ord, token), SPACE], dtype=np.uint64) for token in folded]
            symbols = Ragged.of(codes)
            self.values = mix(symbols.values.astype(np.uint64))
            self.starts, self.lengths = symbols.starts, symbols.lengths
        else:
            count = len(folded)
            self.values = np.fromiter(map(hash_of, folded), dtype=np.uint64, count=count)
            self.starts, self.lengths = np.arange(count), np.ones(count, dtype=np.int64)
        self.spelled = spelled

    def sequences(self, ids: Ragged) -> Ragged:
        """The hashes of the symbols of some sequences of ids."""
        flat = gather(ids)
        if not self.spelled:
            return Ragged.of_lengths(self.values[flat], ids.lengths)
        sizes = self.lengths[flat]
        spelled = gather(Ragged(self.values, self.starts[flat], sizes))
        ends = np.concatenate([[0], np.cumsum(sizes)])
        edges = np.concatenate([[0], np.cumsum(ids.lengths)])
        return Ragged.of_lengths(spelled, np.diff(ends[edges]))


def ngrams(sequences: Ragged, n: int) -> Ragged:
    """The hashes of all runs of n symbols; a shorter sequence is one run, padded.

    Sequences lie one after the other. hash(x_1 ... x_n) = mix(Σ x_i f_i) mod 2^64
    """
    lengths = sequences.lengths.astype(np.int64)
    values = sequences.values
    if (lengths < n).any():
        padded = np.maximum(lengths, n)
        inside = np.arange(int(padded.sum())) - np.repeat(np.cumsum(padded) - padded, padded)
        filled = np.zeros(len(inside), dtype=np.uint64)
        filled[inside < np.repeat(lengths, padded)] = values
        values, lengths = filled, padded
    counts = lengths - n + 1
    last = len(values) - n + 1
    sums = np.zeros(max(last, 0), dtype=np.uint64)
    for i in range(n if last > 0 else 0):
        sums += values[i : last + i] * FACTORS[i]
    if n > 1 and len(counts) > 1:  # leave out the runs over the end of a sequence
        whole = np.ones(len(sums), dtype=bool)
        ends = np.cumsum(lengths)[:-1]
        for i in range(1, n):
            whole[ends - i] = False
        sums = sums[whole]
    return Ragged.of_lengths(mix(sums), counts)
