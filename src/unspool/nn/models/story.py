"""A story and a question in, the scores of answers out: a memory of sentences that is looked at
several times."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoder
from unspool.nn.heads import LabelOutput
from unspool.nn.masks import keep_mask, masked_softmax
from unspool.nn.pooling import POOLINGS
from unspool.nn.taps import Tap


class MemoryHops(nn.Module):
    """End-to-end memory (Sukhbaatar et al. 2015) of vectors of sentences m_s, asked by a vector u:

        e_s     = uᵀ (A m_s + a_age(s)) / √H
        α       = softmax(e) over the sentences
        o       = Σ_s α_s (C m_s + c_age(s))
        u       = u + o                          once a hop, each with its own A and C

    The age of the latest sentence is 0; those older than there are ages share the oldest. A tap on
    the weights of all hops, `alignment` (B, K, S).
    """

    def __init__(self, size: int, *, hops: int, ages: int) -> None:
        super().__init__()
        self.size, self.hops = size, hops
        self.keys = nn.ModuleList(nn.Linear(size, size) for _ in range(hops))
        self.values = nn.ModuleList(nn.Linear(size, size) for _ in range(hops))
        self.ages = nn.Parameter(torch.empty(2, ages, size))
        self.alignment = Tap()
        for layer in (*self.keys, *self.values):
            init.linear_(layer)
        nn.init.normal_(self.ages, std=0.1)

    def forward(self, m: Tensor, u: Tensor, sizes: Tensor) -> Tensor:
        """m (B, S, H), the latest last; u (B, H); sizes (B,) -> (B, H)"""
        steps = m.shape[1]
        age = torch.arange(steps - 1, -1, -1, device=m.device).clamp(max=self.ages.shape[1] - 1)
        keep = keep_mask(sizes, steps, device=m.device).flip(1)  # the first are padding
        key_age, value_age = self.ages[0, age], self.ages[1, age]  # (S, H)
        found = []
        for key, value in zip(self.keys, self.values):
            e = ((key(m) + key_age) @ u[:, :, None]).squeeze(2) / self.size**0.5  # (B, S)
            alpha = masked_softmax(e, keep)
            found.append(alpha)
            u = u + (alpha[:, None] @ (value(m) + value_age)).squeeze(1)
        self.alignment(torch.stack(found, 1))
        return u

    def describe(self) -> str:
        return f"memory of sentences, {self.hops} hops"


class Projection(nn.Module):
    """W v + b, (..., size) -> (..., H)"""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, hidden)
        init.linear_(self.linear)

    def forward(self, v: Tensor) -> Tensor:
        return self.linear(v)

    def describe(self) -> str:
        return f"linear {self.linear.in_features} -> {self.linear.out_features}"


class StoryReader(nn.Module):
    """A network reads each sentence, and the question; pooled and projected to H they are the
    memory and what is asked of it."""

    def __init__(
        self,
        encoder: Encoder,
        *,
        pooling: str,
        hidden: int,
        hops: int,
        ages: int,
        classes: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = POOLINGS[pooling](encoder.size, bidirectional=encoder.bidirectional)
        self.project = Projection(encoder.size, hidden)
        self.memory = MemoryHops(hidden, hops=hops, ages=ages)
        self.dropout = Dropout(dropout)
        self.output = LabelOutput(hidden, classes)

    def forward(
        self, ids: Tensor, lengths: Tensor, sentences: Tensor, sizes: Tensor, questions: Tensor
    ) -> Tensor:
        """ids (M, T) of distinct texts, lengths (M,), sentences (B, S), sizes (B,), questions (B,)
        -> scores (B, C)"""
        encoded: Any = self.encoder(ids, lengths)
        v = self.project(self.dropout(self.pooling(encoded.outputs, encoded.lengths)))  # (M, H)
        return self.output(self.dropout(self.memory(v[sentences], v[questions], sizes)))
