"""Baselines: a bag of n-grams, or features of a series, in; scores of labels or numbers out.

They have no hidden layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unspool.nn.taps import Tap


class Linear(nn.Module):
    """y = W x + b of features x, in float64. Of a `pair` of classes one is scored: y = (0, y),
    p = σ(y).

    features  numbers of them
    outputs   classes, labels or numbers
    """

    def __init__(self, features: int, *, outputs: int, pair: bool = False) -> None:
        super().__init__()
        columns = 1 if pair else outputs
        self.pair = pair
        self.W = nn.Parameter(torch.zeros(features, columns, dtype=torch.float64))
        self.b = nn.Parameter(torch.zeros(columns, dtype=torch.float64))
        self.contributions = Tap()

    def paired(self, y: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(y), y], 1) if self.pair else y


class LinearFeatures(Linear):
    """A linear model of dense features, which every input has."""

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, F) -> scores (B, C)"""
        return self.paired(self.contributions(x[..., None] * self.W).sum(1) + self.b)

    def describe(self) -> str:
        return f"linear, {len(self.W):,} features of a series"


class LinearText(Linear):
    """A linear model of TF-IDF, in float64.

    x_f = (1 + ln c_f) · idf_f            for the c_f > 0 occurrences of n-gram f in a text
    y = Σ_f W_f x_f / ‖x‖ + b

    With n-grams of words and of characters ‖x‖ is taken of each kind by itself, as if they were two
    texts.

    words     n-grams of words; they come first
    spelling  n-grams of characters
    idf       (words + spelling,); None: ones, until weights are loaded
    """

    def __init__(
        self,
        words: int,
        spelling: int,
        *,
        outputs: int,
        pair: bool = False,
        idf: Tensor | None = None,
    ) -> None:
        size = words + spelling
        super().__init__(size, outputs=outputs, pair=pair)
        self.words = words
        self.idf: Tensor
        self.register_buffer("idf", torch.ones(size).double() if idf is None else idf.double())

    def forward(self, ids: Tensor, counts: Tensor) -> Tensor:
        """ids (B, T) of n-grams that occur counts (B, T) times, 0 for padding -> scores (B, C)"""
        if not len(self.W):
            return self.paired(self.b.expand(len(ids), -1))
        x = self.weigh(ids, counts)[..., None] * self.W[ids]
        return self.paired(self.b + self.contributions(x).sum(1))

    def weigh(self, ids: Tensor, counts: Tensor) -> Tensor:
        """(B, T) the normalised weight of each n-gram in its text"""
        x = torch.where(counts > 0, 1 + counts.clamp(min=1).log(), 0) * self.idf[ids]
        words = ids < self.words
        squares = x * x
        one, other = (squares * words).sum(1, True), (squares * ~words).sum(1, True)
        norm = torch.where(words, one, other).sqrt()
        return x / torch.where(norm > 0, norm, 1)

    def describe(self) -> str:
        return f"linear, TF-IDF of {len(self.W):,} n-grams"


class Constant(nn.Module):
    """The same scores y = b for every text: the most frequent class, or the mean."""

    pair = False

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.b = nn.Parameter(torch.zeros(outputs, dtype=torch.float64))
        self.scores = Tap()

    def forward(self, ids: Tensor, counts: Tensor) -> Tensor:
        return self.scores(torch.zeros_like(ids[:, :1], dtype=self.b.dtype) + self.b)

    def describe(self) -> str:
        return "constant"
