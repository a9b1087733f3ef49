"""From what an encoder has read to tokens: the face of every decoder, and the Transformer's.

In: an `Encoded` source, and the tokens y_0, ..., y_{T-1} (B, T) that are already there, of which
the first is a start token. Out: scores (B, T, V) for y_1, ..., y_T. Training reads whole sentences;
a search goes step by step, with the same result:

    state = decoder.start(*encoded)
    logits, state = decoder.step(ids, state)          # (B,) -> (B, V)
    state = decoder.select(state, rows)               # some rows of the batch, which may repeat
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn

from unspool.nn.embeddings import TokenEmbedding
from unspool.nn.heads import TokenOutput
from unspool.nn.source import scaled
from unspool.nn.state import RecurrentState
from unspool.nn.transformer import DecoderState, TransformerDecoder
from unspool.nn.transformer_blocks import TransformerOptions


class Decoder(nn.Module, ABC):
    """The one face. A subclass has an `output` layer and says how the vectors before it are made.

    `memory`, `keep` and `encoder_state` are the parts of an `Encoded`; a language model has none.
    """

    output: TokenOutput

    def forward(
        self,
        ids: Tensor,
        memory: Tensor | None = None,
        keep: Tensor | None = None,
        encoder_state: RecurrentState | None = None,
    ) -> Tensor:
        """Scores (B, T, V) for the token after each of ids (B, T), which are given: "teacher
        forcing". Padding after a sentence's end changes nothing before it."""
        return self.output(self.vectors(ids, memory, keep, encoder_state))

    @abstractmethod
    def vectors(
        self,
        ids: Tensor,
        memory: Tensor | None = None,
        keep: Tensor | None = None,
        encoder_state: RecurrentState | None = None,
    ) -> Tensor:
        """What `output` gets to see, (B, T, size): its `loss` needs no (B, T, V)."""

    @abstractmethod
    def start(
        self,
        memory: Tensor | None = None,
        keep: Tensor | None = None,
        encoder_state: RecurrentState | None = None,
    ) -> Any:
        """The state before the first token."""

    @abstractmethod
    def step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One token a row, (B,) -> scores (B, V) for the next, and the new state."""

    @abstractmethod
    def select(self, state: Any, rows: Tensor) -> Any:
        """The state of some rows of the batch, which may repeat."""


class TransformerSeqDecoder(Decoder):
    """An embedding, a `TransformerDecoder` and an output layer.

    cross   attends to a memory (B, S, E); otherwise it is a language model, without any memory
    tied    the output layer shares the matrix of the embedding, as in the paper

    There is no alignment in the state: each head of each layer has its own, at the taps
    `transformer.layers.*.cross_attention.weights`.
    """

    def __init__(
        self, vocab: int, options: TransformerOptions, *, cross: bool = True, tied: bool = True
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocab, options.width, std=options.width**-0.5)
        self.transformer = TransformerDecoder(options, cross=cross)
        self.size = options.width
        self.output = TokenOutput(self.size, vocab, tied_to=self.embedding if tied else None)

    def start(
        self,
        memory: Tensor | None = None,
        keep: Tensor | None = None,
        encoder_state: RecurrentState | None = None,
    ) -> DecoderState:
        """A recurrent encoder's state is of no use here: the memory says it all."""
        return self.transformer.start(memory, keep)

    def step(self, ids: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        y, state = self.transformer.step(scaled(self.embedding, ids), state)
        return self.output(y), state

    def vectors(
        self,
        ids: Tensor,
        memory: Tensor | None = None,
        keep: Tensor | None = None,
        encoder_state: RecurrentState | None = None,
    ) -> Tensor:
        return self.transformer(scaled(self.embedding, ids), memory, memory_keep=keep)

    def select(self, state: DecoderState, rows: Tensor) -> DecoderState:
        return self.transformer.select(state, rows)

    def describe(self) -> str:
        return self.transformer.describe()
