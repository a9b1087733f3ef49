"""From scores of tags to tags.

In: scores (B, T, C) of C tags at each step, lengths (B,). Out: the loss of given tags, the best
tags, and the probabilities of spans of them. `SeparateTags` is a softmax at each step; `crf.CRF`
scores the tags of a sequence together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn import init
from unspool.nn.masks import keep_mask, where_kept


class Allowed(NamedTuple):
    """Of C tags: which may follow which (C, C), which may begin and which may end a sequence (C,)
    each; boolean."""

    transitions: Tensor
    start: Tensor
    end: Tensor


class SpanScores(NamedTuple):
    """Logarithms (B, T) along one sequence of tags y, for the probability of any span of it:

    p(y_s ... y_e) = exp(before[s] + inside[e] - inside[s] + after[e])
    """

    before: Tensor
    inside: Tensor
    after: Tensor


class TagScores(nn.Module):
    """x_t = W h_t + c: a score for each tag, (B, T, size) -> (B, T, C)."""

    def __init__(self, size: int, tags: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, tags)
        init.linear_(self.linear)

    def forward(self, h: Tensor) -> Tensor:
        return self.linear(h)

    def describe(self) -> str:
        return f"scores of {self.linear.out_features} tags"


class TagOutput(nn.Module, ABC):
    """What follows from scores (B, T, C). Padding has no part in it."""

    def forward(self, x: Tensor) -> Tensor:
        """The scores themselves; the other methods choose from them."""
        return x

    @abstractmethod
    def loss(self, x: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """-log p (B,) of tags (B, T)."""

    @abstractmethod
    def best(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The most probable tags (B, T), zero at padding."""

    @abstractmethod
    def span_scores(self, x: Tensor, tags: Tensor, lengths: Tensor) -> SpanScores:
        """What the probability of any span of tags (B, T) is computed from."""

    @abstractmethod
    def describe(self) -> str: ...


class SeparateTags(TagOutput):
    """p(y) = Π_t softmax(x_t)[y_t]: each tag independently.

    label_smoothing   share of the target that is spread over all tags, in training
    """

    def __init__(self, *, label_smoothing: float = 0.0) -> None:
        super().__init__()
        self.label_smoothing = label_smoothing

    def loss(self, x: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        keep = keep_mask(lengths, x.shape[1])  # on the CPU
        smoothing = self.label_smoothing if self.training else 0.0
        losses = F.cross_entropy(
            where_kept(x, keep).float(),
            where_kept(tags, keep),
            reduction="none",
            label_smoothing=smoothing,
        )
        rows = keep.nonzero()[:, 0].to(x.device)
        return losses.new_zeros(len(x)).index_add(0, rows, losses)

    def best(self, x: Tensor, lengths: Tensor) -> Tensor:
        return x.argmax(2).masked_fill(~keep_mask(lengths, x.shape[1], device=x.device), 0)

    def span_scores(self, x: Tensor, tags: Tensor, lengths: Tensor) -> SpanScores:
        own = x.double().log_softmax(2).gather(2, tags[..., None])[..., 0]
        own = own.masked_fill(~keep_mask(lengths, x.shape[1], device=x.device), 0)
        return SpanScores(own, own.cumsum(1), torch.zeros_like(own))

    def describe(self) -> str:
        return "softmax at each step"
