"""Vectors over time in; at each of fewer steps the log probabilities of tokens and a blank out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoded, Encoder
from unspool.nn.heads import TagScores
from unspool.nn.network import Read
from unspool.nn.reduction import Reduction


class Transcriber(nn.Module):
    """log p_t = log softmax(V h_t + b), h = encoder(reduction(x))"""

    def __init__(
        self, reduction: Reduction, encoder: Encoder, *, tokens: int, dropout: float
    ) -> None:
        super().__init__()
        self.reduction, self.encoder = reduction, encoder
        self.dropout = Dropout(dropout)
        self.scores = TagScores(encoder.size, tokens)

    @property
    def patch(self) -> int:
        """Vectors that are read as one step."""
        return self.reduction.factor

    def steps(self, lengths: Tensor) -> Tensor:
        """(B,) how many steps are made of so many vectors."""
        return self.reduction.steps(lengths)

    def encode(self, values: Tensor, lengths: Tensor) -> Encoded:
        """(B, T, C), (B,) -> (B, T', D)"""
        return self.encoder(*self.reduction(values, lengths))

    def log_p(self, states: Tensor) -> Tensor:
        """(B, T', D) -> (B, T', V)"""
        return torch.log_softmax(self.scores(self.dropout(states)).float(), -1)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, C), (B,) -> (B, T', V), T' = ⌈T / patch⌉"""
        return self.log_p(self.encode(values, lengths).outputs)

    def streaming_unsupported_reason(self) -> str | None:
        """None where `extend` can read a sequence in chunks, otherwise the reason."""
        return self.encoder.network.streaming_unsupported_reason()

    def extend(self, carried: Any, values: Tensor, lengths: Tensor) -> Read:
        """`forward` of the next vectors of sequences, whole steps but at their ends; `carried`: of
        those before, None where there are none."""
        reduced, state = (None, None) if carried is None else carried
        x, reduced = self.reduction.extend(reduced, values, lengths)
        encoded = self.encoder(x, self.steps(lengths), state)
        return Read(self.log_p(encoded.outputs), (reduced, encoded.state))
