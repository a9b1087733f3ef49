"""Spelled words in, the scores of the next word and of the one before out (Peters et al. 2018)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn.elmo import Elmo
from unspool.nn.heads import TokenOutput
from unspool.nn.masks import keep_mask, where_kept


class Predicted(NamedTuple):
    """N states of one direction, and the words that they are to predict."""

    h: Tensor  # (N, P)
    targets: Tensor  # (N,)
    rows: Tensor  # (N,) of the batch; on the CPU


class ElmoModel(nn.Module):
    """The language models of both directions, and the softmax that they share."""

    def __init__(self, encoder: Elmo, *, vocab: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = TokenOutput(encoder.size, vocab)

    def forward(self, spellings: Tensor, sizes: Tensor, indices: Tensor, lengths: Tensor) -> Tensor:
        """Scores (B, T + 2, 2, V), forwards and backwards, for small inputs."""
        found = self.encoder(spellings, sizes, indices, lengths)
        return self.output(torch.stack([found.forwards[-1], found.backwards[-1]], 2))

    def read(
        self, words: Tensor, spellings: Tensor, sizes: Tensor, indices: Tensor, lengths: Tensor
    ) -> tuple[Predicted, Predicted]:
        """What the forward and the backward model have to predict, and from what: the ids of the
        words (B, T + 2) in their frame; then what an `Elmo` reads."""
        found = self.encoder(spellings, sizes, indices, lengths)
        keep = keep_mask(lengths + 1, words.shape[1] - 1)  # (B, T + 1)
        rows = keep.nonzero()[:, 0]
        return (
            Predicted(
                where_kept(found.forwards[-1][:, :-1], keep), where_kept(words[:, 1:], keep), rows
            ),
            Predicted(
                where_kept(found.backwards[-1][:, 1:], keep), where_kept(words[:, :-1], keep), rows
            ),
        )
