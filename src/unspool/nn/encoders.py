"""From token ids to a vector for each token.

In: ids (B, T), lengths (B,), for a recurrent encoder also a state; perhaps further vectors of the
tokens, which stand `beside` those of the embedding. Out: `outputs` (B, T, size) and the final
`state`. An encoder knows no task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.cells import Cell
from unspool.nn.convolution import WIDTHS, ConvolutionStack
from unspool.nn.embeddings import ClassToken, OneHot, SharedEmbedding, TokenEmbedding, WordDropout
from unspool.nn.masks import keep_mask
from unspool.nn.recurrent import Fast, Recurrent, RecurrentOutput, check_lengths
from unspool.nn.state import RecurrentState
from unspool.nn.transformer import TransformerEncoder
from unspool.nn.transformer_blocks import TransformerOptions


def join(x: Tensor, beside: Tensor | None) -> Tensor:
    """The vectors of the embedding (B, T, E), and those beside them (B, T, K): (B, T, E + K).

    One-hot vectors (B, T) give way to what stands beside them.
    """
    if beside is None:
        return x
    return torch.cat([x, beside], -1) if x.is_floating_point() else beside


def joined_size(embedding: nn.Module, beside: int) -> int:
    """Of what `join` gives."""
    assert isinstance(embedding, TokenEmbedding | SharedEmbedding | OneHot)
    return beside if beside and isinstance(embedding, OneHot) else embedding.size + beside


class TextEncoder(nn.Module):
    """Embedding and recurrent layers.

    embedding     size of the token vectors; 0 feeds one-hot vectors, or what stands `beside` alone
    embedding_std standard deviation of the Gaussian that the token vectors start from
    dropout       on the token vectors and between layers, in training
    word_dropout  share of tokens that become <unk> (id 1) in training
    beside        size of further vectors of the tokens, which `forward` is given
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
        beside: int = 0,
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
            joined_size(self.embedding, beside),
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
        self,
        ids: Tensor,
        lengths: Tensor | None = None,
        state: RecurrentState | None = None,
        *,
        beside: Tensor | None = None,
    ) -> RecurrentOutput:
        x = join(self.embedding(self.word_dropout(ids)), beside)
        return self.recurrent(x, lengths, state)


class StatelessOutput(NamedTuple):
    """`outputs` (B, T, size), zeros at padding; what reads a whole text at once has no state."""

    outputs: Tensor
    state: None = None


class ConvolutionTextEncoder(nn.Module):
    """Embedding and convolutional layers: each place sees the tokens around it.

    filters       of each width, in each layer
    The other arguments are those of `TextEncoder`.
    """

    bidirectional = False  # no half of a vector comes from reading backwards

    def __init__(
        self,
        vocab: int,
        *,
        embedding: int,
        embedding_std: float = 0.1,
        filters: int,
        widths: Sequence[int] = WIDTHS,
        layers: int = 1,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        beside: int = 0,
    ) -> None:
        super().__init__()
        self.word_dropout = WordDropout(word_dropout)
        self.embedding: TokenEmbedding | OneHot = (
            TokenEmbedding(vocab, embedding, dropout=dropout, std=embedding_std)
            if embedding
            else OneHot(vocab)
        )
        self.convolution = ConvolutionStack(
            joined_size(self.embedding, beside),
            filters,
            widths=widths,
            layers=layers,
            dropout=dropout,
        )
        self.size = self.convolution.size

    def forward(
        self, ids: Tensor, lengths: Tensor | None = None, *, beside: Tensor | None = None
    ) -> StatelessOutput:
        x = join(self.embedding(self.word_dropout(ids)), beside)
        return StatelessOutput(self.convolution(x, lengths))


class Added(nn.Module):
    """Vectors (B, T, E), and W times others (B, T, K) that are known of the same tokens."""

    def __init__(self, size: int, others: int) -> None:
        super().__init__()
        self.W = nn.Linear(others, size, bias=False)
        init.linear_(self.W)

    def forward(self, x: Tensor, others: Tensor) -> Tensor:
        return x + self.W(others)

    def describe(self) -> str:
        return f"{self.W.in_features} numbers more for each token, added"


class TransformerTextEncoder(nn.Module):
    """Embedding and Transformer blocks, in which every token sees those before and after it.

    cls           begins each text with a learned vector: outputs are then (B, 1 + T, E), and
                  place 0 can stand for the text
    word_dropout  share of tokens that become <unk> (id 1) in training
    beside        size of further vectors of the tokens; a linear layer gives them the size of the
                  embedding's, to which they are added, as positions are
    """

    bidirectional = False  # no half of a vector comes from reading backwards

    def __init__(
        self,
        vocab: int,
        options: TransformerOptions,
        *,
        cls: bool = False,
        word_dropout: float = 0.0,
        beside: int = 0,
    ) -> None:
        super().__init__()
        self.word_dropout = WordDropout(word_dropout)
        self.embedding = options.embedding(vocab)
        self.beside = Added(options.width, beside) if beside else None
        self.cls = ClassToken(options.width) if cls else None
        self.transformer = TransformerEncoder(options)
        self.size = options.width

    def forward(
        self, ids: Tensor, lengths: Tensor | None = None, *, beside: Tensor | None = None
    ) -> StatelessOutput:
        lengths = check_lengths(lengths, ids)
        x = self.embedding(self.word_dropout(ids))
        if self.beside is not None and beside is not None:
            x = self.beside(x, beside)
        if self.cls is not None:
            x = self.cls(x)
            lengths = None if lengths is None else lengths + 1
        keep = None if lengths is None else keep_mask(lengths, x.shape[1])
        return StatelessOutput(self.transformer(x, keep))
