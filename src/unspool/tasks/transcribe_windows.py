"""Long recordings in windows that overlap: lengths in, windows and the steps of each that are kept
out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.data.store.ragged import Windows

WINDOW = 6000  # frames that are read at once, where no window is set: a minute
MARGIN = 8  # of a window, one in so many at each side is read, but not believed


class Overlapping(NamedTuple):
    """Windows, and (W, 2) which of the steps of each are believed: from, up to before."""

    windows: Windows
    kept: np.ndarray


def overlapping(lengths: np.ndarray, window: int, patch: int) -> Overlapping:
    """Each recording in windows whose margins overlap; each step is believed in one window."""
    size = (window or WINDOW) // patch * patch
    margin = size // MARGIN // patch * patch
    origin, first, sizes, kept = [], [], [], []
    for row, length in enumerate(lengths.tolist()):
        start = 0
        while True:
            stop = min(length, start + size)
            last = stop == length
            origin.append(row)
            first.append(start)
            sizes.append(stop - start)
            low = margin // patch if start else 0
            high = -(-(stop - start) // patch) if last else (stop - start - margin) // patch
            kept.append((low, high))
            if last:
                break
            start = stop - 2 * margin
    return Overlapping(
        Windows(*(np.array(each, dtype=np.int64) for each in (origin, first, sizes))),
        np.array(kept, dtype=np.int64).reshape(-1, 2),
    )
