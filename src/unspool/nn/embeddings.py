"""Tokens as vectors.

In: ids (B, T). Out: what a `Recurrent` reads: vectors (B, T, E), or the ids themselves, which it
takes as one-hot vectors.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

PAD = 0
UNKNOWN = 1


class TokenEmbedding(nn.Module):
    """A learned vector for each token, with dropout on its elements in training.

    `std` is the standard deviation of the Gaussian that the vectors start from.
    """

    def __init__(self, vocab: int, size: int, *, dropout: float = 0.0, std: float = 0.1) -> None:
        super().__init__()
        self.vocab = vocab
        self.size = size
        self.weight = nn.Parameter(torch.empty(vocab, size))
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.weight, std=std)

    def forward(self, ids: Tensor) -> Tensor:
        return self.dropout(nn.functional.embedding(ids, self.weight))  # (B, T, E)

    def describe(self) -> str:
        return f"embedding {self.vocab} x {self.size}"

    def extra_repr(self) -> str:
        return f"{self.vocab}, {self.size}"


class OneHot(nn.Module):
    """No embedding: ids pass through and stand for one-hot vectors of `size` = `vocab`.

    A cell turns them into rows of its input matrix; no vector and no product is ever made.
    """

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.vocab = vocab
        self.size = vocab

    def forward(self, ids: Tensor) -> Tensor:
        return ids

    def describe(self) -> str:
        return f"one-hot {self.vocab}"

    def extra_repr(self) -> str:
        return f"{self.vocab}"


class WordDropout(nn.Module):
    """In training, each token becomes <unk> with probability `rate` (Dai & Le 2015)."""

    def __init__(self, rate: float, *, unknown: int = UNKNOWN, padding: int = PAD) -> None:
        super().__init__()
        self.rate = rate
        self.unknown = unknown
        self.padding = padding

    def forward(self, ids: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return ids
        drop = torch.rand(ids.shape, device=ids.device) < self.rate
        return ids.masked_fill(drop & (ids != self.padding), self.unknown)

    def extra_repr(self) -> str:
        return f"{self.rate}"
