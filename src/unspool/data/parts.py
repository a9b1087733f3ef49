"""One split of a corpus: documents, pairs, or a stretch of a stream; ids made on demand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice

import numpy as np

from unspool.data.source import Source
from unspool.data.spelling import ByteSpellings
from unspool.data.store import Store
from unspool.text.tokenizers import Frame
from unspool.text.vocab import UNK_ID


class DocumentPart:
    """Some rows of a store of documents.

    lengths (N,) tokens after cutting, at least 1, with the tokenizer's `frame` around them;
    labels (N,) or None; lines (N,) in the file.
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
        frame: Frame = Frame(),  # noqa: B008
    ) -> None:
        self._ids, self._remap, self._frame = store.ids, remap, frame
        self.types = store.types
        self._starts = store.offsets[rows]
        full = store.offsets[rows + 1] - self._starts
        room = max(0, max_length - frame.size)
        self._stored = np.minimum(full, room) if max_length else full
        self.lengths = np.maximum(self._stored + frame.size, 1)
        self.rows, self.lines, self.labels = rows, lines, labels
        self.cut = int((full > self._stored).sum())

    def __len__(self) -> int:
        return len(self.lengths)

    def ids(self, row: int) -> np.ndarray:
        """int64 ids (T,) of one document; an empty one is a single <unk>, or the frame alone."""
        length = self._stored[row]
        if length == 0 and not self._frame.size:
            return np.array([UNK_ID], dtype=np.int64)
        ids = self._remap[self._raw(row)]
        return self._frame.around(ids) if self._frame.size else ids

    def words(self, row: int) -> np.ndarray:
        """(T,) which of the `byte_spellings` each token has; that of "" in an empty document."""
        return self._raw(row) if self._stored[row] else np.zeros(1, dtype=np.int64)

    @cached_property
    def byte_spellings(self) -> ByteSpellings:
        return ByteSpellings(self.types)

    def _raw(self, row: int) -> np.ndarray:
        start = self._starts[row]
        return self._ids[start : start + self._stored[row]]


class TextPart:
    """Documents in memory with the face of a part of a corpus.

    documents   the ids of each
    words       the words of each, one an id, for models that read their spelling
    """

    labels: np.ndarray | None = None

    def __init__(
        self, documents: list[np.ndarray], words: Sequence[Sequence[str]] | None = None
    ) -> None:
        self.documents = documents
        self.lengths = np.array([len(ids) for ids in documents], dtype=np.int64)
        types: dict[str, int] = {}
        self._words = [
            np.array([types.setdefault(word, len(types)) for word in each], dtype=np.int64)
            for each in words or ()
        ]
        self.byte_spellings = ByteSpellings(list(types))

    def __len__(self) -> int:
        return len(self.documents)

    def ids(self, row: int) -> np.ndarray:
        return self.documents[row]

    def words(self, row: int) -> np.ndarray:
        return self._words[row]


class PairPart:
    """Two parts side by side, row by row: what is read, and what is to be written.

    lengths (N, 2) tokens of both; `texts` are read again from the file they came from, as no
    tokenizer keeps everything.
    """

    def __init__(self, source: DocumentPart, target: DocumentPart, read: Source) -> None:
        self.source, self.target, self.read = source, target, read
        self.lengths = np.stack([source.lengths, target.lengths], axis=1)
        self.rows, self.lines = source.rows, source.lines
        self._texts: dict[int, tuple[str, str]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def texts(self, rows: np.ndarray) -> list[tuple[str, str]]:
        """The texts (source, target) of some rows, as they stand in the file."""
        places = self.rows[rows].tolist()
        missing = set(places) - self._texts.keys()
        if missing:
            examples = islice(zip(*self.read.sides), max(missing) + 1)
            for i, (source, target) in enumerate(examples):
                if i in missing:
                    self._texts[i] = (source.text, target.text)
        return [self._texts[place] for place in places]


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
