"""Share of a batch: the rows that one of several processes, or passes, computes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Share(NamedTuple):
    """Share `index` of `of`: every `of`-th row of a batch, so that long and short rows mix."""

    index: int = 0
    of: int = 1

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows of this share; where none is left, the first, which then counts for nothing."""
        return rows[self.index :: self.of] if self.counts(len(rows)) else rows[:1]

    def counts(self, rows: int) -> bool:
        """Whether a batch of so many rows has one for this share."""
        return self.index < rows


WHOLE = Share()
