"""Character offsets of tokens: a tokenizer and a text in, spans of characters out."""

from __future__ import annotations

import numpy as np

from unspool.text.tokenizers import BPETokenizer, PretrainedTokenizer, Tokenizer, WordTokenizer
from unspool.text.words import token_spans


def token_offsets(tokenizer: Tokenizer, text: str) -> np.ndarray:
    """(T, 2): the first character of each token of `tokenizer.ids(text)`, and that after its last.

    Where a normal form changes the number of characters, which is rare, offsets of words are those
    in the text itself, and others may be off by as many.
    """
    if isinstance(tokenizer, PretrainedTokenizer):
        offsets = tokenizer.model.encode(text, add_special_tokens=False).offsets
        return as_offsets(offsets)
    if isinstance(tokenizer, WordTokenizer):
        return word_offsets(text, tokenizer.normalizer(text), split=tokenizer.split)
    normal = tokenizer.normalizer(text)
    if isinstance(tokenizer, BPETokenizer):  # a character of a piece is a byte of the text
        sizes = [len(tokenizer.vocab[int(i)]) for i in tokenizer.ids(text)]
        character = np.repeat(np.arange(len(normal)), [len(c.encode()) for c in normal])
        character = np.append(character, len(normal))
        stops = np.cumsum(sizes, dtype=np.int64)
        starts = character[np.minimum(stops - np.array(sizes, np.int64), len(character) - 1)]
        last = character[np.clip(stops - 1, 0, len(character) - 1)]
        return np.minimum(np.stack([starts, last + 1], 1), len(text))
    at = np.arange(len(normal))
    return np.minimum(np.stack([at, at + 1], 1), len(text))


def word_offsets(text: str, normal: str, *, split: str) -> np.ndarray:
    """Offsets of words and punctuation marks; `normal`: the text in its normal form."""
    spans = token_spans(normal, split=split)
    if len(normal) != len(text):
        raw = token_spans(text, split=split)
        if len(raw) == len(spans):
            spans = raw
    return np.minimum(as_offsets([(span.start, span.stop) for span in spans]), len(text))


def as_offsets(spans: list[tuple[int, int]]) -> np.ndarray:
    return np.array(spans, dtype=np.int64).reshape(-1, 2)
