"""From what was stored to the ids of a vocabulary: a store and a tokenizer in, `Tokens` out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.data.bytepairs import encode_subwords
from unspool.data.encode import Encoded, Progress
from unspool.data.store import Store
from unspool.text.tokenizers import SubwordTokenizer, Tokenizer
from unspool.text.vocab import UNK_ID


class Tokens(NamedTuple):
    """A store, and its raw ids -> ids of the vocabulary."""

    store: Store
    remap: np.ndarray


def spans_of(store: Store, *, cuts: list[int] | None = None) -> np.ndarray:
    """(N, 2) stretches of the pieces of a store, cut at further places as well."""
    edges = store.offsets if cuts is None else np.union1d(store.offsets, cuts)
    return np.stack([edges[:-1], edges[1:]], axis=1)


def tokens_of(
    encoded: Encoded, tokenizer: Tokenizer, spans: np.ndarray, progress: Progress | None
) -> Tokens:
    """The store that parts read from; pieces of words have one of their own, with the final ids."""
    if isinstance(tokenizer, SubwordTokenizer):
        store = encode_subwords(encoded, spans, tokenizer, progress)
        return Tokens(store, np.arange(len(tokenizer), dtype=np.int64))
    index, types = tokenizer.vocab.index, encoded.store.types
    ids = (index.get(token, UNK_ID) for token in types)
    return Tokens(encoded.store, np.fromiter(ids, dtype=np.int64, count=len(types)))
