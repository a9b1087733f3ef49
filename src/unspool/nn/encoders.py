"""From token ids to a vector for each token.

In: ids (B, T), lengths (B,), a state. Out: a `RecurrentOutput`. An encoder knows no task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from unspool.nn.cells import Cell
from unspool.nn.embeddings import OneHot, TokenEmbedding, WordDropout
from unspool.nn.recurrent import Fast, Recurrent, RecurrentOutput
from unspool.nn.state import RecurrentState


class TextEncoder(nn.Module):
    """Embedding and recurrent layers.

    embedding     size of the token vectors; 0 feeds one-hot vectors
    embedding_std standard deviation of the Gaussian that the token vectors start from
    dropout       on the token vectors and between layers, in training
    word_dropout  share of tokens that become <unk> (id 1) in training
    """

    def __init__(
        self,
        vocab: int,
        *,
        embedding: int,
        embedding_std: float = 0.1,
        cell: str | type[Cell],
        hidden: int,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        fast: Fast = "auto",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.word_dropout = WordDropout(word_dropout)
        self.embedding: TokenEmbedding | OneHot = (
            TokenEmbedding(vocab, embedding, dropout=dropout, std=embedding_std)
            if embedding
            else OneHot(vocab)
        )
        self.recurrent = Recurrent(
            cell,
            self.embedding.size,
            hidden,
            layers=layers,
            bidirectional=bidirectional,
            dropout=dropout,
            fast=fast,
            options=options,
        )
        self.size = self.recurrent.size
        self.bidirectional = bidirectional

    def start(self, batch: int) -> RecurrentState:
        return self.recurrent.start(batch)

    def forward(
        self, ids: Tensor, lengths: Tensor | None = None, state: RecurrentState | None = None
    ) -> RecurrentOutput:
        return self.recurrent(self.embedding(self.word_dropout(ids)), lengths, state)
