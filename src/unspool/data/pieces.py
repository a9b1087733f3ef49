"""Long documents as several shorter ones: a part in, a part of its pieces out."""

from __future__ import annotations

import numpy as np

from unspool.data.batching import Documents
from unspool.data.spelling import ByteSpellings


class PiecesPart:
    """Documents cut into pieces of at most `length` tokens (0: not cut), each a row of its own."""

    labels: np.ndarray | None = None

    def __init__(self, part: Documents, length: int) -> None:
        self.part = part
        whole = part.lengths.astype(np.int64)
        self.size = length or int(whole.max(initial=1))
        counts = -(-whole // self.size)
        self.documents = np.repeat(np.arange(len(part)), counts)
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        self.starts = (np.arange(len(self.documents)) - firsts) * self.size
        self.lengths = np.minimum(self.size, whole[self.documents] - self.starts)

    def __len__(self) -> int:
        return len(self.documents)

    def ids(self, row: int) -> np.ndarray:
        start = self.starts[row]
        return self.part.ids(int(self.documents[row]))[start : start + self.lengths[row]]

    def words(self, row: int) -> np.ndarray:
        start = self.starts[row]
        return self.part.words(int(self.documents[row]))[start : start + self.lengths[row]]

    @property
    def byte_spellings(self) -> ByteSpellings:
        return self.part.byte_spellings
