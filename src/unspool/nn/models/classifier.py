"""A sequence in, the scores of its label out (many-to-one)."""

from __future__ import annotations

from torch import Tensor, nn

from unspool.nn.dropout import Dropout
from unspool.nn.elmo import Contextual
from unspool.nn.encoder import Encoder
from unspool.nn.heads import Dense, LabelOutput
from unspool.nn.pooling import POOLINGS


class Classifier(nn.Module):
    """An encoder, a pooling over time, perhaps a dense layer, and a linear layer."""

    def __init__(
        self,
        encoder: Encoder,
        *,
        pooling: str,
        dense: int = 0,
        classes: int,
        dropout: float,
        contextual: Contextual | None = None,
    ) -> None:
        super().__init__()
        self.contextual = contextual
        self.encoder = encoder
        self.pooling = POOLINGS[pooling](encoder.size, bidirectional=encoder.bidirectional)
        self.dropout = Dropout(dropout)
        self.dense = Dense(encoder.size, dense) if dense else None
        self.output = LabelOutput(dense or encoder.size, classes)

    def forward(self, values: Tensor, lengths: Tensor, *words: Tensor) -> Tensor:
        """values (B, T, ...) of lengths (B,) -> logits (B, C). `words`: the spelling of the words,
        which contextual vectors are computed from."""
        extra = None if self.contextual is None else self.contextual(*words)
        encoded = self.encoder(values, lengths, extra=extra)
        return self.score(self.pooling(encoded.outputs, encoded.lengths))

    def score(self, v: Tensor) -> Tensor:
        """The vectors of documents, (B, D·H) -> logits (B, C)."""
        v = self.dropout(v)
        return self.output(v if self.dense is None else self.dropout(self.dense(v)))
