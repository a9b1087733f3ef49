"""A sequence in, one answer to all of it out (many-to-one): the scores of a label, or numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.dropout import Dropout
from unspool.nn.elmo import Contextual
from unspool.nn.encoder import Encoder
from unspool.nn.heads import Dense, LabelOutput, MultilabelOutput, NumberOutput
from unspool.nn.masks import keep_mask
from unspool.nn.network import NextSteps
from unspool.nn.pairs import PairPooling
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


class Carried(NamedTuple):
    """State after the steps so far: that of the network, and that of its pooling."""

    network: Any
    pooling: Any


class ManyToOne(nn.Module):
    """An encoder, a pooling over time, perhaps a dense layer, and an output layer.

    output   makes the output layer for vectors of a size
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        pooling: str,
        dense: int = 0,
        output: Callable[[int], nn.Module],
        dropout: float,
        contextual: Contextual | None = None,
    ) -> None:
        super().__init__()
        self.contextual = contextual
        self.encoder = encoder
        pool = POOLINGS[pooling](encoder.size, bidirectional=encoder.bidirectional)
        apart = encoder.between is not None
        self.pooling: Any = PairPooling(pool, encoder.size) if apart else pool
        self.dropout = Dropout(dropout)
        self.dense = Dense(self.pooling.size, dense) if dense else None
        self.output = output(dense or self.pooling.size)

    def forward(self, values: Tensor, lengths: Tensor, *more: Tensor) -> Tensor:
        """values (B, T, ...) of lengths (B,) -> scores (B, C).

        more   the spelling of the words, which contextual vectors are computed from; or of two
               texts in one sequence, the step (B,) where the second begins
        """
        if self.contextual is not None:
            encoded = self.encoder(values, lengths, extra=self.contextual(*more))
        else:
            encoded = self.encoder(values, lengths, firsts=more[0] if more else None)
        apart = more if isinstance(self.pooling, PairPooling) else ()
        return self.score(self.pooling(encoded.outputs, encoded.lengths, *apart))

    def streaming_unsupported_reason(self) -> str | None:
        """None where `extend` can read a sequence in chunks, otherwise the reason."""
        if self.contextual is not None:
            return self.contextual.streaming_unsupported_reason()
        return self.encoder.network.streaming_unsupported_reason()

    def extend(self, carried: Carried | None, values: Tensor, *rest: Any) -> NextSteps:
        """`forward` of sequences whose next steps are `values` (B, T, ...), T > 0."""
        encoded = self.encoder(values, state=None if carried is None else carried.network)
        pooled = self.pooling.extend(encoded.outputs, None if carried is None else carried.pooling)
        return NextSteps(self.score(pooled.vector), Carried(encoded.state, pooled.carried))

    def score(self, v: Tensor) -> Tensor:
        """The vectors of documents, (B, D·H) -> scores (B, C)."""
        v = self.dropout(v)
        return self.output(v if self.dense is None else self.dropout(self.dense(v)))


class Classifier(ManyToOne):
    """The scores of C classes, of which one applies, or with `multilabel` any number."""

    def __init__(
        self, encoder: Encoder, *, classes: int, multilabel: bool = False, **options: Any
    ) -> None:
        kind = MultilabelOutput if multilabel else LabelOutput
        super().__init__(encoder, output=lambda size: kind(size, classes), **options)


class Regressor(ManyToOne):
    """K numbers."""

    def __init__(self, encoder: Encoder, *, numbers: int, **options: Any) -> None:
        super().__init__(encoder, output=lambda size: NumberOutput(size, numbers), **options)
