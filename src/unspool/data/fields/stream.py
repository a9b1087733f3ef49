"""text as a stream: all rows are one long text. Among words, line ends are tokens, too."""

from __future__ import annotations

import numpy as np

from unspool.data.fields.bytepairs import TokenStretches
from unspool.data.fields.field import Cuts, Measure
from unspool.data.fields.text import TokenField
from unspool.data.fields.tokens import Tokens
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import Ragged, TokenColumn
from unspool.text.tokenizers import Frame
from unspool.text.words import NEWLINE

CHUNK = 1 << 20  # tokens that are looked at at once


class TextStream(TokenField):
    """A column of texts that are read as one; its values are one row for each part."""

    kind = "text"
    compared = False
    newlines = True

    @property
    def frame(self) -> Frame:
        return Frame()

    def follow_line(self, line: str) -> str:
        """Line ends are tokens, and no line ends the text."""
        return line

    def blank(self, column: TokenColumn) -> np.ndarray:
        if not any(token.strip() for token in column.types):
            return np.ones(len(column), dtype=bool)
        return super().blank(column)

    def steps(self, column: TokenColumn) -> int:
        return column.tokens

    def fit_stream(self, column: TokenColumn, cuts: Cuts, progress: Progress = None) -> list[str]:
        spans = column.spans(sorted({edge for pair in cuts.values() for edge in pair}))
        inside = spans[spans[:, 1] <= cuts["train"][1]]
        return self.fit_spans([TokenStretches(column, inside)], progress)

    def streams(
        self, column: TokenColumn, cuts: Cuts, progress: Progress = None
    ) -> dict[str, Tokens]:
        spans = column.spans(sorted({edge for pair in cuts.values() for edge in pair}))
        numbered, remap = self.numbered(column, spans, progress)
        edges = np.append(spans[:, 0], column.tokens)
        streams = {}
        for name, (first, end) in cuts.items():
            characters = column.characters_before(end) - column.characters_before(first)
            if numbered is not column:  # positions among characters to those among pieces of words
                first, end = numbered.offsets[np.searchsorted(edges, [first, end])]
            raw = Ragged(numbered.ids, np.array([first]), np.array([end - first]))
            streams[name] = Tokens(
                raw, remap=remap, characters=np.array([characters]), types=numbered.types
            )
        return streams

    def measure(self, values: Tokens) -> Measure:
        return super().measure(values)._replace(lengths=line_lengths(values))


def line_lengths(values: Tokens) -> np.ndarray:
    """Tokens of each line of a stream; none where no token is a line end."""
    if NEWLINE not in values.types:
        return np.empty(0, dtype=np.int64)
    tokens, size, newline = values.raw[0], int(values.sizes[0]), list(values.types).index(NEWLINE)
    last, lengths = -1, list[np.ndarray]()
    for start in range(0, size, CHUNK):  # positions are eight times as large as tokens
        ends = start + np.flatnonzero(tokens[start : start + CHUNK] == newline)
        lengths.append(narrowest(np.diff(ends, prepend=last) - 1))
        last = int(ends[-1]) if len(ends) else last
    if last != size - 1 or not size:
        lengths.append(narrowest(np.array([size - last - 1])))
    return np.concatenate(lengths)


def narrowest(counts: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest type that holds them: there may be 10^8 lines."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
