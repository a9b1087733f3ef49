"""Sequence to sequence: an encoder, and a decoder that starts from what it has read.

In: source ids (B, S) with lengths (B,), and the tokens (B, T) of the target that are already there.
Out: scores (B, T, V) for the next ones.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from unspool.nn.decoders import Decoder, TransformerSeqDecoder
from unspool.nn.encoder import Encoder
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

    def forward(self, source: Tensor, lengths: Tensor | None, inputs: Tensor) -> Tensor:
        return self.decoder(inputs, self.encoder(source, lengths))

    def start(self, source: Tensor, lengths: Tensor | None, *, aligned: bool = False) -> Any:
        """The decoder's state before the first token."""
        return self.decoder.start(self.encoder(source, lengths), aligned=aligned)
