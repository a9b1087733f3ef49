"""A question and a context in, the scores of where its answer begins and ends out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoder
from unspool.nn.masks import keep_mask
from unspool.nn.pooling import POOLINGS


class SpanOutput(nn.Module):
    """(start, end) = V h + b, (..., size) -> (..., 2)"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, 2)
        init.linear_(self.linear)

    def forward(self, h: Tensor) -> Tensor:
        return self.linear(h)

    def describe(self) -> str:
        return "scores of start and end"


class SpanFinder(nn.Module):
    """An encoder over `question <sep> context`, and an output layer (Devlin et al. 2019, section
    4.3):

        y_t = V h_t + b          (start, end) at each step t of the context
        y_0 = V' pool(h) + b'    that there is no answer, at step 0

    Steps of the question, and those after the context, score the lowest number.

    after   steps that stand after the context
    """

    def __init__(self, encoder: Encoder, *, pooling: str, dropout: float, after: int) -> None:
        super().__init__()
        self.encoder, self.after = encoder, after
        self.pooling = POOLINGS[pooling](encoder.size, bidirectional=encoder.bidirectional)
        self.dropout = Dropout(dropout)
        self.output = SpanOutput(encoder.size)
        self.none = SpanOutput(encoder.size)

    def forward(self, ids: Tensor, lengths: Tensor, firsts: Tensor) -> Tensor:
        """ids (B, T), lengths (B,), firsts (B,) -> (B, T, 2)"""
        outputs, real, *_ = self.encoder(ids, lengths, firsts=firsts)
        none = self.none(self.dropout(self.pooling(outputs, real))).float()  # (B, 2)
        y = self.output(self.dropout(outputs)).float()  # (B, T, 2)
        steps = ids.shape[1]
        inside = keep_mask(lengths - self.after, steps) & ~keep_mask(firsts, steps)
        y = y.masked_fill(~inside.to(y.device)[..., None], torch.finfo(y.dtype).min)
        return torch.cat([none[:, None], y[:, 1:]], 1)
