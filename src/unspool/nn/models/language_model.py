"""Tokens in, the scores of the next token out.

In: ids (B, T), perhaps the state after the tokens before them. Out: scores (B, T, V) for the token
after each, and the new state. `read` stops before the output layer, whose `loss` needs no scores;
`start`, `step` and `select` are for a search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoder
from unspool.nn.heads import MaskedOutput, TokenOutput
from unspool.nn.inputs import OneHot, SharedEmbedding, TokenEmbedding, TokenInput
from unspool.nn.network import Read, map_state
from unspool.nn.recurrent import Recurrent
from unspool.nn.transformer import DecoderState, TransformerDecoder
from unspool.nn.transformer_blocks import TransformerOptions


class NextToken(NamedTuple):
    """The scores of the token after each, and the state after the last."""

    logits: Tensor  # (B, T, V)
    state: Any


class NextTokenModel(nn.Module, ABC):
    """The interface of a language model; a subclass has an `encoder` and an `output` layer."""

    encoder: Encoder
    output: TokenOutput

    def forward(self, ids: Tensor, state: Any = None) -> NextToken:
        outputs, state = self.read(ids, state)
        return NextToken(self.output(outputs), state)

    @abstractmethod
    def read(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The inputs (B, T, H) of the output layer, and the new state; state None: no token came
        before."""

    @abstractmethod
    def start(self, batch: int) -> Any:
        """The state before the first token."""

    def step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One token a row, (B,) -> logits (B, V) for the next, and the new state."""
        logits, state = self(ids[:, None], state)
        return logits[:, 0], state

    def streaming_unsupported_reason(self) -> None:
        """A language model reads forwards."""
        return

    def extend(self, carried: Any, ids: Tensor, *rest: Any) -> Read:
        """The logits (B, T, V) of texts whose next tokens are ids (B, T); `carried`: of those
        before, None where there are none."""
        return Read(*self(ids, self.start(len(ids)) if carried is None else carried))

    @abstractmethod
    def select(self, state: Any, rows: Tensor) -> Any:
        """The state of some rows of the batch, for search."""


def _tied_to(encoder: Encoder) -> TokenEmbedding | OneHot:
    """The embedding whose matrix the output layer shares."""
    assert isinstance(encoder.input, TokenInput)
    assert not isinstance(encoder.input.embedding, SharedEmbedding)
    return encoder.input.embedding


class LanguageModel(NextTokenModel):
    """A recurrent encoder with a distribution over the next token at every step."""

    def __init__(self, encoder: Encoder, *, vocab: int, tied: bool, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = Dropout(dropout)
        self.output = TokenOutput(encoder.size, vocab, tied_to=_tied_to(encoder) if tied else None)

    def read(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        encoded = self.encoder(ids, state=state)
        return self.dropout(encoded.outputs), encoded.state

    def start(self, batch: int) -> Any:
        assert isinstance(self.encoder.network, Recurrent)
        return self.encoder.network.start(batch)

    def select(self, state: Any, rows: Tensor) -> Any:
        return map_state(state, lambda tensor: tensor[rows])


class Context(NamedTuple):
    """What a Transformer has read: the tokens (B, ≤ length), and the keys and values of them."""

    ids: Tensor
    decoder: DecoderState


class TransformerLanguageModel(NextTokenModel):
    """A Transformer whose tokens see those before them, `options.length` at most.

    A context that is full begins anew with its last half, which is read again. So step by step
    every token is predicted from at least half a context, as `StridedBatches` arranges evaluation.
    """

    def __init__(self, vocab: int, options: TransformerOptions, *, tied: bool) -> None:
        super().__init__()
        assert options.length is not None
        self.length = options.length
        inputs = options.token_input(vocab)
        self.encoder = Encoder(inputs, TransformerDecoder(options, cross=False))
        self.output = TokenOutput(options.width, vocab, tied_to=inputs.embedding if tied else None)

    def read(self, ids: Tensor, state: Context | None) -> tuple[Tensor, Context | None]:
        """Without a state, as in training, a window is read at once and leaves none."""
        if state is None:
            return self.encoder(ids).outputs, None
        read = []
        while ids.shape[1]:
            if state.ids.shape[1] == self.length:
                half = state.ids[:, self.length - self.length // 2 :]
                _, state = self._append(half, self.start(len(ids)))
            room = self.length - state.ids.shape[1]
            outputs, state = self._append(ids[:, :room], state)
            read.append(outputs)
            ids = ids[:, room:]
        return torch.cat(read, 1), state

    def _append(self, ids: Tensor, state: Context) -> tuple[Tensor, Context]:
        """Read ids (B, T) for which there is room."""
        encoded = self.encoder(ids, state=state.decoder)
        return encoded.outputs, Context(torch.cat([state.ids, ids], 1), encoded.state)

    @property
    def transformer(self) -> TransformerDecoder:
        assert isinstance(self.encoder.network, TransformerDecoder)
        return self.encoder.network

    def start(self, batch: int) -> Context:
        return Context(torch.empty(batch, 0, dtype=torch.int64), self.transformer.start())

    def select(self, state: Context, rows: Tensor) -> Context:
        return Context(state.ids[rows], self.transformer.select(state.decoder, rows))


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
