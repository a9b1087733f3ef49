"""Sequence to sequence: an encoder, and a decoder that starts from what it has read.

In: source ids (B, S) with lengths (B,), and the tokens (B, T) of the target that are already there.
Out: scores (B, T, V) for the next ones.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from unspool.nn.decoders import Decoder, TransformerSeqDecoder
from unspool.nn.encoder import Copies, Encoded, Encoder
from unspool.nn.inputs import TokenInput
from unspool.nn.recurrent_decoder import RecurrentDecoder


class Seq2Seq(nn.Module):
    """Any encoder with any decoder.

    shared   the encoder reads with the decoder's embedding: one vocabulary for both sides
    """

    def __init__(
        self,
        encoder: Encoder,
        decoder: RecurrentDecoder | TransformerSeqDecoder,
        *,
        shared: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder: Decoder = decoder
        if shared:
            assert isinstance(encoder.input, TokenInput)
            encoder.input.share(decoder.embedding)

    def forward(
        self, source: Tensor, lengths: Tensor | None, inputs: Tensor, copies: Copies | None = None
    ) -> Tensor:
        """`copies` are the tokens of the source for a decoder that copies; it gives log
        probabilities (B, T, V + X)."""
        return self.decoder(inputs, self.encode(source, lengths, copies))

    def encode(
        self, source: Tensor, lengths: Tensor | None, copies: Copies | None = None
    ) -> Encoded:
        return self.encoder(source, lengths)._replace(copies=copies)

    def start(
        self,
        source: Tensor,
        lengths: Tensor | None,
        copies: Copies | None = None,
        *,
        aligned: bool = False,
    ) -> Any:
        """The decoder's state before the first token."""
        return self.decoder.start(self.encode(source, lengths, copies), aligned=aligned)
