"""From token ids to a vector for each token.

In: ids (B, T), lengths (B,), of a recurrent encoder also a state. Out: `outputs` (B, T, size) and
the final `state`. An encoder knows no task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn

from unspool.nn.cells import Cell
from unspool.nn.embeddings import ClassToken, OneHot, SharedEmbedding, TokenEmbedding, WordDropout
from unspool.nn.masks import keep_mask
from unspool.nn.recurrent import Fast, Recurrent, RecurrentOutput, check_lengths
from unspool.nn.state import RecurrentState
from unspool.nn.transformer import TransformerEncoder
from unspool.nn.transformer_blocks import TransformerOptions


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
        self.embedding: TokenEmbedding | SharedEmbedding | OneHot = (
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


class TransformerOutput(NamedTuple):
    """`outputs` (B, T, E), zeros at padding; a Transformer that reads a whole text has no state."""

    outputs: Tensor
    state: None = None


class TransformerTextEncoder(nn.Module):
    """Embedding and Transformer blocks, in which every token sees those before and after it.

    cls           begins each text with a learned vector: outputs are then (B, 1 + T, E), and
                  place 0 can stand for the text
    word_dropout  share of tokens that become <unk> (id 1) in training
    """

    bidirectional = False  # no half of a vector comes from reading backwards

    def __init__(
        self,
        vocab: int,
        options: TransformerOptions,
        *,
        cls: bool = False,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.word_dropout = WordDropout(word_dropout)
        self.embedding = options.embedding(vocab)
        self.cls = ClassToken(options.width) if cls else None
        self.transformer = TransformerEncoder(options)
        self.size = options.width

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> TransformerOutput:
        lengths = check_lengths(lengths, ids)
        x = self.embedding(self.word_dropout(ids))
        if self.cls is not None:
            x = self.cls(x)
            lengths = None if lengths is None else lengths + 1
        keep = None if lengths is None else keep_mask(lengths, x.shape[1])
        return TransformerOutput(self.transformer(x, keep))
