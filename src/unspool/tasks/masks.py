"""Texts in which <mask> stands for a hidden token."""

from __future__ import annotations

import numpy as np

from unspool.errors import DataError
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import MASK, MASK_ID


def encode_masked(tokenizer: Tokenizer, text: str) -> np.ndarray:
    """The ids of a text in which <mask> stands for a hidden token."""
    if MASK not in text:
        raise DataError(
            "there is nothing to fill in",
            got=text,
            remedy=f'write {MASK} where a token is hidden: "the film was {MASK} ."',
        )
    pieces = text.split(MASK)
    # The space before a mask belongs to the token that it hides.
    ends = [piece.rstrip() for piece in pieces[:-1]] + pieces[-1:]
    encoded = [tokenizer.encode(end).tolist() if end.strip() else [] for end in ends]
    ids = [i for piece in encoded for i in (*piece, MASK_ID)]
    return np.array(ids[:-1], dtype=np.int64)
