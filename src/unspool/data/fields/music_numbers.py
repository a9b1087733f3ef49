"""Music in numbers: how much of it is in one key, moves in parallel fifths, or stands still.

In: the frames of pieces. Out: `MusicNumbers`, of samples beside those of the data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from unspool.data.read.music import LOWEST

MAJOR = (0, 2, 4, 5, 7, 9, 11)  # pitch classes of C major, and of A minor
FIFTH = 7  # semitones


class MusicNumbers(NamedTuple):
    """Shares, from 0 to 1, and a mean.

    in_key           of the notes that sound at steps, those of the best of the twelve diatonic
                     scales, for each piece its own
    parallel_fifths  of the changes from one chord to another of as many notes, those in which two
                     voices a fifth apart move on, in the same direction, to a fifth
    repeated         of the steps, but for the first of each piece, those that are as the one before
    notes            that sound at a step
    """

    in_key: float
    parallel_fifths: float
    repeated: float
    notes: float

    def __str__(self) -> str:
        return (
            f"notes in key {100 * self.in_key:.1f} %, parallel fifths"
            f" {100 * self.parallel_fifths:.1f} %, repeated steps {100 * self.repeated:.1f} %,"
            f" {self.notes:.2f} notes a step"
        )


def music_numbers(pieces: Iterable[np.ndarray]) -> MusicNumbers:
    """Measure pieces, given as frames (T, 88)."""
    inside = sounding = parallel = changes = same = after = steps = 0
    for frames in pieces:
        on = frames > 0.5
        sounding += int(on.sum())
        inside += in_best_key(on)
        steps += len(on)
        after += max(0, len(on) - 1)
        same += int((on[1:] == on[:-1]).all(1).sum())
        chords = [np.flatnonzero(frame) + LOWEST for frame in on]
        for one, other in itertools.pairwise(chords):
            if len(one) == len(other) > 1 and (one != other).any():
                changes += 1
                parallel += has_parallel_fifth(one, other)
    return MusicNumbers(
        inside / max(1, sounding),
        parallel / max(1, changes),
        same / max(1, after),
        sounding / max(1, steps),
    )


def in_best_key(on: np.ndarray) -> int:
    """(T, 88) bool -> how many of its notes are in the scale that has most of them"""
    classes = (np.arange(on.shape[1]) + LOWEST) % 12
    counts = np.bincount(classes, on.sum(0), minlength=12)
    return int(
        max(counts[[(degree + tonic) % 12 for degree in MAJOR]].sum() for tonic in range(12))
    )


def has_parallel_fifth(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two voices, the n-th and m-th of each chord, keep a fifth and move alike."""
    moved = other - one
    fifths = ((one[None] - one[:, None]) % 12 == FIFTH) & (
        (other[None] - other[:, None]) % 12 == FIFTH
    )
    alike = np.sign(moved)[None] * np.sign(moved)[:, None] > 0
    return bool(np.triu(fifths & alike, 1).any())
