"""From what an encoder has read to tokens: the interface of every decoder, and the Transformer's.

In: an `Encoded` source, and the tokens y_0, ..., y_{T-1} (B, T) that are already there, of which
the first is a start token. Out: scores (B, T, V) for y_1, ..., y_T. Training reads whole sentences;
a search goes step by step, with the same result:

    state = decoder.start(encoded)
    logits, state = decoder.step(ids, state)          # (B,) -> (B, V)
    state = decoder.select(state, rows)               # some rows of the batch, which may repeat
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from torch import Tensor, nn

from unspool.nn.encoder import Encoded
from unspool.nn.heads import TokenOutput
from unspool.nn.taps import record
from unspool.nn.transformer import DecoderState, TransformerDecoder
from unspool.nn.transformer_blocks import TransformerOptions


class Decoder(nn.Module, ABC):
    """The interface of a decoder. A subclass has an `output` layer, and computes its inputs.

    `encoded` is what an encoder has read; a language model is given none.
    """

    output: TokenOutput

    def forward(self, ids: Tensor, encoded: Encoded | None = None) -> Tensor:
        """Scores (B, T, V) for the token after each of ids (B, T), which are given: "teacher
        forcing". Padding after a sentence's end changes nothing before it."""
        return self.output(self.vectors(ids, encoded))

    @abstractmethod
    def vectors(
        self, ids: Tensor, encoded: Encoded | None = None, *, lengths: Tensor | None = None
    ) -> Tensor:
        """The inputs (B, T, size) of `output`, whose `loss` needs no (B, T, V).

        lengths   (B,) of the targets: the vectors after them are not defined, and may be left out
                  of all computation
        """

    @abstractmethod
    def start(self, encoded: Encoded | None = None, *, aligned: bool = False) -> Any:
        """The state before the first token.

        aligned   the states after a step have an `alignment` (B, S), where the step looked. Not all
                  decoders have one, and some have one anyway.
        """

    @abstractmethod
    def step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One token a row, (B,) -> scores (B, V) for the next, and the new state."""

    @abstractmethod
    def select(self, state: Any, rows: Tensor) -> Any:
        """The state of some rows of the batch, which may repeat."""


class SeqDecoderState(NamedTuple):
    """That of a `TransformerSeqDecoder`'s blocks; and with `aligned` where the latest step looked,
    (B, S)."""

    inner: DecoderState
    aligned: bool = False
    alignment: Tensor | None = None


class TransformerSeqDecoder(Decoder):
    """An embedding, a `TransformerDecoder` and an output layer.

    cross   attends to a memory (B, S, E); otherwise it is a language model, without any memory
    tied    the output layer shares the matrix of the embedding, as in the paper

    Each head of each layer has an alignment of its own, at the taps
    `transformer.layers.*.cross_attention.weights`. The `alignment` of an aligned state is the mean
    of the heads of the last layer but one, whose alignments are the best (Garg et al. 2019).
    """

    def __init__(
        self, vocab: int, options: TransformerOptions, *, cross: bool = True, tied: bool = True
    ) -> None:
        super().__init__()
        self.embedding = options.embedding(vocab)
        self.transformer = TransformerDecoder(options, cross=cross)
        self.size = options.width
        self.output = TokenOutput(self.size, vocab, tied_to=self.embedding if tied else None)
        self.aligning_layer = max(0, options.layers - 2)
        self.aligning = f"layers.{self.aligning_layer}.cross_attention.weights"

    def start(self, encoded: Encoded | None = None, *, aligned: bool = False) -> SeqDecoderState:
        """The final state of a recurrent encoder is not used: the outputs contain it."""
        if encoded is None:
            return SeqDecoderState(self.transformer.start(), aligned)
        return SeqDecoderState(self.transformer.start(encoded.outputs, encoded.keep), aligned)

    def step(self, ids: Tensor, state: SeqDecoderState) -> tuple[Tensor, SeqDecoderState]:
        x, inner, alignment = self.embedding(ids), state.inner, None
        if state.aligned:
            with record(self.transformer, self.aligning) as trace:
                y, inner = self.transformer.step(x, inner)
            memory = inner.memories[self.aligning_layer]
            assert memory is not None
            alignment = memory.part(trace[self.aligning].mean(1))[:, -1]  # (B, S)
        else:
            y, inner = self.transformer.step(x, inner)
        return self.output(y), SeqDecoderState(inner, state.aligned, alignment)

    def vectors(
        self, ids: Tensor, encoded: Encoded | None = None, *, lengths: Tensor | None = None
    ) -> Tensor:
        x = self.embedding(ids)
        if encoded is None:
            return self.transformer(x).outputs
        return self.transformer(x, memory=encoded.outputs, memory_keep=encoded.keep).outputs

    def select(self, state: SeqDecoderState, rows: Tensor) -> SeqDecoderState:
        alignment = None if state.alignment is None else state.alignment[rows]
        return SeqDecoderState(self.transformer.select(state.inner, rows), state.aligned, alignment)
