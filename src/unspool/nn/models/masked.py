"""A text with hidden tokens in, the scores of what each token is out (Devlin et al. 2018)."""

from __future__ import annotations

from torch import Tensor, nn

from unspool.nn.encoder import Encoder
from unspool.nn.heads import MaskedOutput
from unspool.nn.inputs import TokenEmbedding, TokenInput


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
