"""Tokens as vectors.

In: ids (B, T). Out: what a `Recurrent` reads: vectors (B, T, E), or the ids themselves, which it
takes as one-hot vectors.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unspool.nn.dropout import Dropout

PAD = 0
UNKNOWN = 1


class TokenEmbedding(nn.Module):
    """A learned vector for each token, with dropout on its elements in training.

    std     standard deviation of the Gaussian that the matrix starts from
    scale   what the rows of the matrix are multiplied by. √E is Vaswani et al. (2017), section 3.4:
            a matrix as small as an output layer tied to it needs, and vectors as large as the
            sinusoids that are added to them
    """

    def __init__(
        self, vocab: int, size: int, *, dropout: float = 0.0, std: float = 0.1, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.vocab = vocab
        self.size = size
        self.scale = scale
        self.weight = nn.Parameter(torch.empty(vocab, size))
        self.dropout = Dropout(dropout)
        nn.init.normal_(self.weight, std=std)

    def forward(self, ids: Tensor) -> Tensor:
        vectors = nn.functional.embedding(ids, self.weight)  # (B, T, E)
        return self.dropout(vectors if self.scale == 1 else vectors * self.scale)

    def describe(self) -> str:
        return f"embedding {self.vocab} x {self.size}"

    def extra_repr(self) -> str:
        return f"{self.vocab}, {self.size}"


class SharedEmbedding(nn.Module):
    """The vectors of an embedding that belongs to another module, where its matrix is registered
    once: a saved model holds it once."""

    def __init__(self, owner: TokenEmbedding) -> None:
        super().__init__()
        self.vocab, self.size = owner.vocab, owner.size
        self._owner = (owner,)  # in a tuple, so that it is not registered here too

    @property
    def owner(self) -> TokenEmbedding:
        return self._owner[0]

    @property
    def weight(self) -> Tensor:
        return self.owner.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.owner(ids)  # (B, T, E)

    def describe(self) -> str:
        return f"embedding {self.vocab} x {self.size}, shared"


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


class ClassToken(nn.Module):
    """A learned vector before the first token of each text, [CLS] in Devlin et al. (2019)."""

    def __init__(self, size: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(size))
        nn.init.normal_(self.vector, std=std)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.vector.to(x.dtype).expand(len(x), 1, -1), x], 1)  # (B, 1 + T, E)

    def describe(self) -> str:
        return "cls vector before the text"


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
