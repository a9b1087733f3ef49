"""Tokens in, the scores of the next token out: a causal model (`causal.py`) of tokens, and one that
reads in both directions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoder
from unspool.nn.heads import MaskedOutput, TokenOutput
from unspool.nn.inputs import OneHot, SharedEmbedding, TokenEmbedding, TokenInput
from unspool.nn.models.causal import CausalModel, RecurrentCausal, TransformerCausal
from unspool.nn.transformer import TransformerDecoder
from unspool.nn.transformer_blocks import TransformerOptions


class NextTokenModel(CausalModel):
    """A language model: its steps are tokens, ids (B, T), and `output.loss` needs no scores."""

    output: TokenOutput


def _tied_to(encoder: Encoder) -> TokenEmbedding | OneHot:
    """The embedding whose matrix the output layer shares."""
    assert isinstance(encoder.input, TokenInput)
    assert not isinstance(encoder.input.embedding, SharedEmbedding)
    return encoder.input.embedding


class LanguageModel(RecurrentCausal, NextTokenModel):
    """A recurrent encoder with a distribution over the next token at every step."""

    def __init__(self, encoder: Encoder, *, vocab: int, tied: bool, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = Dropout(dropout)
        self.output = TokenOutput(encoder.size, vocab, tied_to=_tied_to(encoder) if tied else None)


class TransformerLanguageModel(TransformerCausal, NextTokenModel):
    """A Transformer whose tokens see those before them, `options.length` at most."""

    def __init__(self, vocab: int, options: TransformerOptions, *, tied: bool) -> None:
        super().__init__()
        assert options.length is not None
        self.length = options.length
        inputs = options.token_input(vocab)
        self.encoder = Encoder(inputs, TransformerDecoder(options, cross=False))
        self.output = TokenOutput(options.width, vocab, tied_to=inputs.embedding if tied else None)

    def nothing(self, batch: int) -> Tensor:
        return torch.empty(batch, 0, dtype=torch.int64, device=self.output.b.device)


class MaskedModel(nn.Module):
    """An encoder that reads in both directions, and at each step a score for every token."""

    def __init__(self, encoder: Encoder, *, activation: str) -> None:
        super().__init__()
        self.encoder = encoder
        assert isinstance(encoder.input, TokenInput)
        assert isinstance(encoder.input.embedding, TokenEmbedding)
        self.output = MaskedOutput(encoder.input.embedding, activation=activation)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.output(self.read(ids, lengths))  # (B, T, V)

    def read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, E), a vector for each token."""
        return self.encoder(ids, lengths).outputs
