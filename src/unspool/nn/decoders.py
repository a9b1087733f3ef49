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
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn.copying import Copied, CopyOutput, CopyTable, coverage_loss
from unspool.nn.encoder import Copies, Encoded
from unspool.nn.heads import TokenOutput
from unspool.nn.inputs import UNKNOWN, TokenEmbedding
from unspool.nn.masks import keep_mask, where_kept
from unspool.nn.taps import record
from unspool.nn.transformer import DecoderState, TransformerDecoder
from unspool.nn.transformer_blocks import TransformerOptions


class DecodedTargets(NamedTuple):
    """Result of a decoder on whole targets: the inputs (B, T, size) of its output layer; and of
    one that copies where each step looked, (B, T, S)."""

    vectors: Tensor
    alignment: Tensor | None = None


class Decoder(nn.Module, ABC):
    """The interface of a decoder. A subclass has an `output` layer, and computes its inputs.

    `encoded` is what an encoder has read; a language model is given none. A decoder whose output
    layer copies (`nn/copying.py`) is given the `copies` of the source with it, and gives log
    probabilities (B, T, V + X) of the extended vocabulary for scores. It reads a token beyond its
    own vocabulary as <unk>.

    coverage_weight   of the coverage loss, of a decoder that has one
    """

    output: TokenOutput
    embedding: TokenEmbedding
    coverage_weight: float = 0.0

    @property
    def copying(self) -> bool:
        """Whether tokens of the source may be copied; then scores are log probabilities."""
        return isinstance(self.output, CopyOutput)

    def forward(self, ids: Tensor, encoded: Encoded | None = None) -> Tensor:
        """Scores (B, T, V) for the token after each of ids (B, T), which are given: "teacher
        forcing". Padding after a sentence's end changes nothing before it."""
        vectors, alignment = self.read(ids, encoded)
        table = self.copy_table(encoded)
        scores = self.output(vectors)
        if table is None or alignment is None:
            return scores
        steps = ids.shape[1]
        rows = table.select(torch.arange(len(ids), device=ids.device).repeat_interleave(steps))
        return self.mixed(scores.flatten(0, 1), alignment.flatten(0, 1), rows).unflatten(
            0, (-1, steps)
        )

    def vectors(
        self, ids: Tensor, encoded: Encoded | None = None, *, lengths: Tensor | None = None
    ) -> Tensor:
        """The inputs (B, T, size) of `output`, whose `loss` needs no (B, T, V)."""
        return self.read(ids, encoded, lengths=lengths).vectors

    @abstractmethod
    def read(
        self, ids: Tensor, encoded: Encoded | None = None, *, lengths: Tensor | None = None
    ) -> DecodedTargets:
        """Whole targets, all steps at once where that can be.

        lengths   (B,) of the targets: what comes after them is not defined, and may be left out of
                  all computation
        """

    def loss(
        self, targets: Targets, encoded: Encoded | None = None, *, label_smoothing: float = 0.0
    ) -> Tensor:
        """Mean over the real targets of −log p, in little memory; with the coverage loss."""
        real = self._real(targets, encoded)
        if real.copied is None:
            return self.output.loss(real.vectors, real.ids, label_smoothing=label_smoothing)
        assert isinstance(self.output, CopyOutput)
        loss = self.output.copy_loss(
            real.vectors, real.ids, real.copied, label_smoothing=label_smoothing
        )
        return loss if real.coverage is None else loss + self.coverage_weight * real.coverage

    def token_losses(self, targets: Targets, encoded: Encoded | None = None) -> Tensor:
        """−log p of the N real targets, without a gradient."""
        real = self._real(targets, encoded)
        if real.copied is None:
            return self.output.token_losses(real.vectors, real.ids)
        assert isinstance(self.output, CopyOutput)
        return self.output.copy_token_losses(real.vectors, real.ids, real.copied)

    def _real(self, targets: Targets, encoded: Encoded | None) -> RealTargets:
        """Inputs of the output layer before each target token, without padding."""
        ids, lengths = targets.ids[:, 1:].contiguous(), targets.lengths - 1
        read = targets.ids if targets.read is None else targets.read
        vectors, alignment = self.read(read[:, :-1].contiguous(), encoded, lengths=lengths)
        keep = keep_mask(lengths, ids.shape[1])
        real = RealTargets(where_kept(vectors, keep), where_kept(ids, keep))
        if not isinstance(self.output, CopyOutput):
            return real
        source = self.copies(encoded)
        assert alignment is not None
        named = targets.ids if targets.copies is None else targets.copies
        copied = Copied.of(alignment, source.ids, named[:, 1:], self.output.vocab)
        real = real._replace(copied=Copied(*(where_kept(each, keep) for each in copied)))
        if not self.coverage_weight:
            return real
        return real._replace(coverage=coverage_loss(alignment, keep.to(alignment.device)))

    def copies(self, encoded: Encoded | None) -> Copies:
        if encoded is None or encoded.copies is None:
            raise ValueError("a decoder that copies needs the tokens of the source (`copies`)")
        return encoded.copies

    def copy_table(self, encoded: Encoded | None) -> CopyTable | None:
        """Tokens that a search may copy; None for a decoder that does not copy."""
        if not isinstance(self.output, CopyOutput):
            return None
        copies = self.copies(encoded)
        assert encoded is not None
        return CopyTable.of(copies, encoded.keep, self.output.vocab)

    def mixed(self, scores: Tensor, alignment: Tensor | None, table: CopyTable | None) -> Tensor:
        """The scores (R, V + 1) of the output layer with what is copied; as they are where nothing
        is."""
        if table is None or alignment is None:
            return scores
        assert isinstance(self.output, CopyOutput)
        return self.output.mix(scores, alignment, table)

    def known(self, ids: Tensor) -> Tensor:
        """<unk> for tokens beyond the vocabulary."""
        if not isinstance(self.output, CopyOutput):
            return ids
        return ids.where(ids < self.output.vocab, UNKNOWN)

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

    by_prefix: ClassVar[bool] = False  # `export_step` reads all tokens so far, not the latest

    @abstractmethod
    def export_start(self, encoded: Encoded) -> Any:
        """A state of tensors in tuples, without anything else, for a graph."""

    @abstractmethod
    def export_step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The latest token (B,), or all so far (B, T), -> scores (B, V), and the new state."""


class Targets(NamedTuple):
    """B padded texts that are to be written.

    ids       (B, 1 + T) from the start token on
    lengths   (B,) of these
    copies    (B, 1 + T) as the `Copies` of the source number them; None: as `ids` do
    read      (B, 1 + T) what the decoder reads of them, such as with words dropped; None: `ids`
    """

    ids: Tensor
    lengths: Tensor
    copies: Tensor | None = None
    read: Tensor | None = None


class RealTargets(NamedTuple):
    """N tokens that are to be written, without padding."""

    vectors: Tensor  # (N, size): what the output layer reads before each
    ids: Tensor  # (N,)
    copied: Copied | None = None
    coverage: Tensor | None = None  # () the coverage loss


class SeqDecoderState(NamedTuple):
    """That of a `TransformerSeqDecoder`'s blocks; and with `aligned` where the latest step looked,
    (B, S). `table`: what may be copied."""

    inner: DecoderState
    aligned: bool = False
    alignment: Tensor | None = None
    table: CopyTable | None = None


class TransformerSeqDecoder(Decoder):
    """An embedding, a `TransformerDecoder` and an output layer.

    cross   attends to a memory (B, S, E); otherwise it is a language model, without any memory
    tied    the output layer shares the matrix of the embedding, as in the paper
    copying tokens of the source may be copied, by the `alignment`

    Each head of each layer has an alignment of its own, at the taps
    `transformer.layers.*.cross_attention.weights`. The `alignment` of an aligned state is the mean
    of the heads of the last layer but one, whose alignments are the best (Garg et al. 2019); with
    copying, which teaches it, that of the last layer.
    """

    def __init__(
        self,
        vocab: int,
        options: TransformerOptions,
        *,
        cross: bool = True,
        tied: bool = True,
        copying: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = options.embedding(vocab)
        self.transformer = TransformerDecoder(options, cross=cross)
        self.size = options.width
        kind = CopyOutput if copying else TokenOutput
        self.output = kind(self.size, vocab, tied_to=self.embedding if tied else None)
        self.aligning_layer = options.layers - 1 if copying else max(0, options.layers - 2)
        self.aligning = f"layers.{self.aligning_layer}.cross_attention.weights"

    def start(self, encoded: Encoded | None = None, *, aligned: bool = False) -> SeqDecoderState:
        """The final state of a recurrent encoder is not used: the outputs contain it."""
        if encoded is None:
            return SeqDecoderState(self.transformer.start(), aligned)
        inner = self.transformer.start(encoded.outputs, encoded.keep)
        table = self.copy_table(encoded)
        return SeqDecoderState(inner, aligned or table is not None, None, table)

    def step(self, ids: Tensor, state: SeqDecoderState) -> tuple[Tensor, SeqDecoderState]:
        x, inner, alignment = self.embedding(self.known(ids)), state.inner, None
        if state.aligned:
            with record(self.transformer, self.aligning) as trace:
                y, inner = self.transformer.step(x, inner)
            memory = inner.memories[self.aligning_layer]
            assert memory is not None
            alignment = memory.part(trace[self.aligning].mean(1))[:, -1]  # (B, S)
        else:
            y, inner = self.transformer.step(x, inner)
        scores = self.mixed(self.output(y), alignment, state.table)
        return scores, SeqDecoderState(inner, state.aligned, alignment, state.table)

    def read(
        self, ids: Tensor, encoded: Encoded | None = None, *, lengths: Tensor | None = None
    ) -> DecodedTargets:
        x = self.embedding(self.known(ids))
        if encoded is None:
            return DecodedTargets(self.transformer(x).outputs)
        memory, keep = encoded.outputs, encoded.keep
        if not isinstance(self.output, CopyOutput):
            return DecodedTargets(self.transformer(x, memory=memory, memory_keep=keep).outputs)
        with record(self.transformer, self.aligning) as trace:
            outputs = self.transformer(x, memory=memory, memory_keep=keep).outputs
        return DecodedTargets(outputs, trace[self.aligning].mean(1))

    by_prefix = True

    def export_start(self, encoded: Encoded) -> Any:
        return encoded.outputs, encoded.ragged().lengths

    def export_step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        return self(ids, Encoded(*state))[:, -1], ()

    def select(self, state: SeqDecoderState, rows: Tensor) -> SeqDecoderState:
        alignment = None if state.alignment is None else state.alignment[rows]
        table = None if state.table is None else state.table.select(rows)
        inner = self.transformer.select(state.inner, rows)
        return SeqDecoderState(inner, state.aligned, alignment, table)
