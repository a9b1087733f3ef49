"""Vectors over time in; a text out, by CTC, by an attention decoder, or by both.

x (B, T, C) -> reduction (B, T', C') -> encoder (B, T', D) -> log p of tokens and a blank (B, T', V)
                                         or decoder, token by token (B, N, V)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn.decoders import Decoder
from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoded, Encoder
from unspool.nn.heads import TagScores
from unspool.nn.network import NextSteps
from unspool.nn.reduction import Reduction


class Transcribed(NamedTuple):
    """Output of a `Transcriber`.

    log_p    (B, T', V) of tokens and a blank at each step; None without CTC
    logits   (B, N, V) of the token after each that was given; None without any
    """

    log_p: Tensor | None
    logits: Tensor | None


class Transcriber(nn.Module):
    """h = encoder(reduction(x)); of CTC, log p_t = log softmax(V h_t + b).

    tokens    that CTC writes, the blank included; 0: there is no CTC
    decoder   reads h; None: there is CTC alone
    """

    def __init__(
        self,
        reduction: Reduction,
        encoder: Encoder,
        *,
        tokens: int,
        dropout: float,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.reduction, self.encoder, self.decoder = reduction, encoder, decoder
        self.dropout = Dropout(dropout)
        self.scores = TagScores(encoder.size, tokens) if tokens else None

    @property
    def patch(self) -> int:
        """Vectors that the reduction makes one of."""
        return self.reduction.factor

    @property
    def stride(self) -> int:
        """Vectors that become one step: the input layer may make one of several, too."""
        return self.reduction.factor * self.encoder.input.stride

    def steps(self, lengths: Tensor) -> Tensor:
        """(B,) how many steps are made of so many vectors."""
        return -(-lengths // self.stride)

    def encode(self, values: Tensor, lengths: Tensor) -> Encoded:
        """(B, T, C), (B,) -> (B, T', D)"""
        return self.encoder(*self.reduction(values, lengths))

    def log_p(self, encoded: Encoded) -> Tensor:
        """The logits of CTC (B, T', V)."""
        assert self.scores is not None
        return torch.log_softmax(self.scores(self.dropout(encoded.outputs)).float(), -1)

    def forward(self, values: Tensor, lengths: Tensor, inputs: Tensor | None = None) -> Transcribed:
        """(B, T, C), (B,) -> log p of CTC, and where `inputs` (B, N) are given what the decoder
        gives after each of them"""
        encoded = self.encode(values, lengths)
        return Transcribed(
            None if self.scores is None else self.log_p(encoded),
            None if self.decoder is None or inputs is None else self.decoder(inputs, encoded),
        )

    def streaming_unsupported_reason(self) -> str | None:
        """None where `extend` can read a sequence in chunks, otherwise the reason."""
        if self.scores is None:
            return "its decoder attends to a whole recording"
        return self.encoder.network.streaming_unsupported_reason()

    def extend(self, carried: Any, values: Tensor, lengths: Tensor) -> NextSteps:
        """log p of CTC of the next vectors of sequences, whole steps but at their ends; `carried`:
        of those before, None where there are none."""
        reduced, state = (None, None) if carried is None else carried
        x, reduced = self.reduction.extend(reduced, values, lengths)
        encoded = self.encoder(x, self.reduction.steps(lengths), state)
        return NextSteps(self.log_p(encoded), (reduced, encoded.state))
