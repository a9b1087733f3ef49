"""One split of a corpus: documents with labels, or a stretch of a stream; ids made on demand."""

from __future__ import annotations

import numpy as np

from unspool.data.store import Store
from unspool.text.vocab import UNK_ID


class DocumentPart:
    """Some rows of a store of documents.

    lengths (N,) tokens after cutting, at least 1; labels (N,) or None; lines (N,) in the file.
    """

    def __init__(
        self,
        store: Store,
        rows: np.ndarray,
        *,
        remap: np.ndarray,
        lines: np.ndarray,
        labels: np.ndarray | None,
        max_length: int = 0,
    ) -> None:
        self._ids, self._remap = store.ids, remap
        self._starts = store.offsets[rows]
        full = store.offsets[rows + 1] - self._starts
        self._stored = np.minimum(full, max_length) if max_length else full
        self.lengths = np.maximum(self._stored, 1)
        self.rows, self.lines, self.labels = rows, lines, labels
        self.cut = int((full > self._stored).sum())

    def __len__(self) -> int:
        return len(self.lengths)

    def ids(self, row: int) -> np.ndarray:
        """int64 ids (T,) of one document; an empty one is a single <unk>."""
        start, length = self._starts[row], self._stored[row]
        if length == 0:
            return np.array([UNK_ID], dtype=np.int64)
        return self._remap[self._ids[start : start + length]]


class StreamPart:
    """Tokens `start` to `stop` of a store that holds a stream."""

    def __init__(self, store: Store, start: int, stop: int, *, remap: np.ndarray) -> None:
        self._ids, self._remap = store.ids, remap
        self.start, self.stop = start, stop
        self.characters = store.characters_before(stop) - store.characters_before(start)

    def __len__(self) -> int:
        return self.stop - self.start

    def slice(self, a: int, b: int) -> np.ndarray:
        """int64 ids of the tokens a to b, counted from the start of the part."""
        if not 0 <= a <= b <= len(self):
            raise IndexError(f"tokens {a} to {b} of {len(self)}")
        return self._remap[self._ids[self.start + a : self.start + b]]
