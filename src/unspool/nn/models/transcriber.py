"""Vectors over time in; at each of fewer steps the log probabilities of tokens and a blank out."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoder
from unspool.nn.heads import TagScores
from unspool.nn.masks import keep_mask, zero_padding


def stacked(x: Tensor, lengths: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Every `size` steps as one: (B, T, C) -> (B, ⌈T / size⌉, size · C), and how many are real.

    The last one of a sequence may end with zeros.
    """
    x = zero_padding(x, keep_mask(lengths, x.shape[1], device=x.device))
    x = F.pad(x, (0, 0, 0, -x.shape[1] % size))
    return x.reshape(len(x), -1, size * x.shape[2]), -(-lengths // size)


class Transcriber(nn.Module):
    """log p_t = log softmax(V h_t + b), h = encoder(x); `patch` steps of what is read make one,
    and the input layer may make one of several, in all of `stride`."""

    def __init__(self, encoder: Encoder, *, tokens: int, patch: int, dropout: float) -> None:
        super().__init__()
        self.encoder, self.patch = encoder, patch
        self.stride = patch * encoder.input.stride
        self.dropout = Dropout(dropout)
        self.scores = TagScores(encoder.size, tokens)

    def steps(self, lengths: Tensor) -> Tensor:
        """(B,) how many steps are made of so many."""
        return -(-lengths // self.stride)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, C), (B,) -> (B, ⌈T / stride⌉, V)"""
        x, steps = stacked(values, lengths, self.patch)
        states = self.encoder(x, steps).outputs
        return torch.log_softmax(self.scores(self.dropout(states)).float(), -1)
