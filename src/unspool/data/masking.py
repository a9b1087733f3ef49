"""Batches for masked-token pretraining (Devlin et al. 2019, section 3.1): documents in, the same
with some tokens hidden out, and what stood there; and texts in which the user has hidden some.

Which tokens are hidden depends on the seed, the epoch and the row alone: not on the batch it is in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.batching import WHOLE, BucketBatches, Share
from unspool.errors import DataError
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import MASK, MASK_ID, UNK_ID

CHOSEN = 0.15  # share of the tokens that are to be predicted; of these
MASKED = 0.8  # become <mask>,
REPLACED = 0.1  # become any token, and the rest is unchanged


class MaskedBatch(NamedTuple):
    """B documents padded to the longest, T tokens; N of them are to be predicted."""

    ids: Tensor  # (B, T) int64, some tokens hidden
    lengths: Tensor  # (B,) int64
    chosen: Tensor  # (B, T) bool: the positions to predict; stays on the CPU
    targets: Tensor  # (N,) int64: what stood there
    rows: np.ndarray  # (B,) rows of the part


class MaskedBatches:
    """The batches of a `BucketBatches`, masked.

    vocab      how many tokens there are, of which the first `specials` never replace one
    anew       choose other tokens in each epoch; otherwise always the same
    """

    def __init__(
        self, inner: BucketBatches, *, vocab: int, specials: int, seed: int, anew: bool
    ) -> None:
        self.inner, self.vocab, self.specials = inner, vocab, specials
        self.seed, self.anew = seed, anew

    def steps(self, epoch: int) -> int:
        return self.inner.steps(epoch)

    def where(self, batch: Any) -> str:
        return self.inner.where(batch)

    def rows(self, epoch: int, step: int) -> int:
        return self.inner.rows(epoch, step)

    def batch(self, epoch: int, step: int, share: Share = WHOLE) -> MaskedBatch:
        batch = self.inner.batch(epoch, step, share)
        plain = batch["text"]
        hidden, chosen = plain.ids.numpy().copy(), np.zeros(plain.ids.shape, dtype=bool)
        for i, (row, length) in enumerate(zip(batch.rows.tolist(), plain.lengths.tolist())):
            rng = np.random.default_rng([self.seed, epoch if self.anew else 0, row])
            ids, picked = hidden[i, :length], chosen[i, :length]  # padding has no part in it
            picked[:] = choose(ids, rng)
            ids[:] = hide(ids, picked, rng, first=self.specials, vocab=self.vocab)
        positions = torch.from_numpy(chosen)
        return MaskedBatch(
            torch.from_numpy(hidden), plain.lengths, positions, plain.ids[positions], batch.rows
        )


def choose(ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(T,) bool: about `CHOSEN` of the tokens, at least one; <unk> only where there is no other."""
    known = ids != UNK_ID
    if not known.any():
        known[:] = True
    chosen = known & (rng.random(len(ids)) < CHOSEN)
    if not chosen.any():
        chosen[rng.choice(np.flatnonzero(known))] = True
    return chosen


def hide(
    ids: np.ndarray, chosen: np.ndarray, rng: np.random.Generator, *, first: int, vocab: int
) -> np.ndarray:
    """ids (T,) with the chosen ones masked, replaced by a token from `first` on, or left."""
    fate = rng.random(len(ids))
    others = rng.integers(first, max(vocab, first + 1), size=len(ids))
    ids = np.where(chosen & (fate < MASKED), MASK_ID, ids)
    return np.where(chosen & (fate >= MASKED) & (fate < MASKED + REPLACED), others, ids)


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
