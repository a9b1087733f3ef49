"""Sequences of different lengths, one after the other in one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Ragged:
    """N sequences: number n is values[starts[n] : starts[n] + lengths[n]].

    `values` (M, ...) may be memory-mapped, and is shared by all selections of rows.
    """

    def __init__(self, values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> None:
        self.values, self.starts, self.lengths = values, starts, lengths

    @classmethod
    def of(cls, sequences: Sequence[np.ndarray]) -> Ragged:
        """Sequences in memory."""
        lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
        values = np.concatenate(sequences) if len(sequences) else np.empty(0, dtype=np.int64)
        return cls(values, np.cumsum(lengths) - lengths, lengths)

    @classmethod
    def of_offsets(cls, values: np.ndarray, offsets: np.ndarray) -> Ragged:
        return cls(values, offsets[:-1], np.diff(offsets))

    @classmethod
    def of_lengths(cls, values: np.ndarray, lengths: np.ndarray) -> Ragged:
        """Sequences that lie one after the other."""
        return cls(values, np.cumsum(lengths) - lengths, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> np.ndarray:
        start = self.starts[row]
        return self.values[start : start + self.lengths[row]]

    def select(self, rows: np.ndarray) -> Ragged:
        return Ragged(self.values, self.starts[rows], self.lengths[rows])

    def cut(self, longest: int) -> Ragged:
        """Every sequence to its first `longest` values."""
        return Ragged(self.values, self.starts, np.minimum(self.lengths, longest))

    def windows(self, windows: Windows) -> Ragged:
        """Stretches of the sequences, as sequences."""
        return Ragged(
            self.values, self.starts[windows.origin] + windows.first, windows.lengths.copy()
        )


class Windows(NamedTuple):
    """W stretches of sequences: `lengths` (W,) steps from step `first` (W,) on of sequence `origin`
    (W,)."""

    origin: np.ndarray
    first: np.ndarray
    lengths: np.ndarray


def cut_windows(lengths: np.ndarray, size: int, stride: int) -> Windows:
    """Every sequence in windows of `size` steps, each `stride` after the one before; the last one
    ends with its sequence. A shorter sequence is one window."""
    lengths = lengths.astype(np.int64)
    counts = 1 + -(-np.maximum(lengths - size, 0) // stride)
    origin = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(origin)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = np.minimum(number * stride, np.maximum(lengths - size, 0)[origin])
    return Windows(origin, first, np.minimum(size, lengths[origin]))


def gather(sequences: Ragged) -> np.ndarray:
    """The values of sequences one after the other, wherever they lie."""
    lengths = sequences.lengths.astype(np.int64)
    firsts = np.cumsum(lengths) - lengths
    index = np.arange(int(lengths.sum())) + np.repeat(sequences.starts - firsts, lengths)
    return np.asarray(sequences.values[index])


def side_by_side(sequences: Sequence[Ragged]) -> Ragged:
    """Several sequences of each row as one."""
    lengths = np.stack([sequence.lengths for sequence in sequences], 1).astype(np.int64)  # (N, K)
    values = np.empty(int(lengths.sum()), dtype=sequences[0].values.dtype)
    starts = (np.cumsum(lengths) - lengths.ravel()).reshape(lengths.shape)
    for k, sequence in enumerate(sequences):
        shifts = starts[:, k] - (np.cumsum(lengths[:, k]) - lengths[:, k])
        values[np.arange(int(lengths[:, k].sum())) + np.repeat(shifts, lengths[:, k])] = gather(
            sequence
        )
    return Ragged.of_lengths(values, lengths.sum(1))
