"""A text that grows by tokens: ids in, one at a time, the characters that each adds out."""

from __future__ import annotations

from collections.abc import Iterable

from unspool.text.tokenizers import UNKNOWN_CHAR, Tokenizer


class GrowingText:
    """Incremental `decode`: the text of all ids, piece by piece, each in constant time.

    How a token is shown depends on what stands right before it: a space between two words, the
    bytes of one character. So the last piece is decoded again together with the new ids, and what
    it grows by is new. Bytes that are no whole character wait for the next.
    """

    def __init__(self, tokenizer: Tokenizer, ids: Iterable[int] = ()) -> None:
        self.tokenizer = tokenizer
        self.before = list(ids)  # of the last piece that was given
        self.shown = len(tokenizer.decode(self.before)) if self.before else 0
        self.waiting: list[int] = []

    def add(self, id: int) -> str:
        self.waiting.append(id)
        text = self.tokenizer.decode([*self.before, *self.waiting])
        if text.endswith(UNKNOWN_CHAR):
            return ""
        new = text[self.shown :]
        if new:  # what is not shown says nothing about what comes next
            self.before, self.waiting = self.waiting, []
            self.shown = len(self.tokenizer.decode(self.before))
        return new
