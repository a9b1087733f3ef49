"""Decoders made fast for search: the same interface, by native kernels.

In: a `TransformerSeqDecoder` or a `RecurrentDecoder` with attention. Out: something with its
`start`, `step` and `select` that gives the same scores, or nearly the same where products are int8.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool import native
from unspool.native.arrays import log_mixture
from unspool.native.attention_weights import SourceWeights
from unspool.native.decoder import WIDTH, CrossMemory, DecoderShape, PackedDecoder, Past
from unspool.native.recurrent_search import RecurrentSearch
from unspool.nn.copying import number_tokens
from unspool.nn.decoders import Decoder, TransformerSeqDecoder
from unspool.nn.encoder import Encoded
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.nn.transformer_blocks import DecoderBlock


def unsupported_reason(decoder: nn.Module) -> str | None:
    """None where `PackedSearch` can take a decoder, otherwise the reason."""
    if not isinstance(decoder, TransformerSeqDecoder):
        return "it is not a Transformer"
    if native.INSTRUCTIONS is None:
        return f"no native kernels: {native.ABOUT}"
    options = decoder.transformer.options
    if options.kind != "full" or options.positions == "rotary":
        return "native decoding knows full attention, and positions that are added"
    first, parameter = decoder.transformer.layers[0], decoder.output.b
    assert isinstance(first, DecoderBlock)
    if options.width % WIDTH or first.feed_forward.W_2.in_features % WIDTH:
        return f"its layers are not multiples of {WIDTH} wide"
    if parameter.dtype != torch.float32 or parameter.device.type != "cpu":
        return "native decoding computes in float32 on the CPU"
    return None


class SourceTokens(NamedTuple):
    """Tokens to copy from B sources: (B, S) of an extended vocabulary of `size`, -1 at
    padding. Rows of a search know their source, so nothing is copied for each of them."""

    tokens: Tensor
    vocab: int
    size: int

    @classmethod
    def of(cls, decoder: Decoder, encoded: Encoded) -> SourceTokens | None:
        """None where the decoder does not copy."""
        if not decoder.copying:
            return None
        copies, vocab = decoder.copies(encoded), len(decoder.output.b)
        if copies.size is None:
            copies = number_tokens(copies.ids, vocab)
        assert copies.size is not None
        ids, keep = copies.ids, encoded.keep
        tokens = ids if keep is None else ids.masked_fill(~keep, -1)
        return cls(tokens.contiguous(), vocab, copies.size)

    def mix(self, scores: Tensor, alignment: Tensor | None, sources: Tensor) -> Tensor:
        """Result of `CopyOutput.mix` for scores (R, K) with K > vocab, α (R, S) and the source
        (R,) of each row."""
        assert alignment is not None
        return log_mixture(
            scores, alignment, self.tokens, sources, vocab=self.vocab, size=self.size
        )


class PackedState(NamedTuple):
    past: Past
    memory: CrossMemory | None
    aligned: bool
    alignment: Tensor | None = None  # (R, S)
    copies: SourceTokens | None = None


class PackedSearch:
    """The interface of a decoder, see `nn/decoders.py`; its weights are copied when it is made."""

    def __init__(self, decoder: TransformerSeqDecoder, *, as_bytes: bool = False) -> None:
        reason = unsupported_reason(decoder)
        if reason is not None:
            raise ValueError(f"cannot pack this decoder: {reason}")
        self.decoder, self.copying = decoder, decoder.copying
        self.blocks = [b for b in decoder.transformer.layers if isinstance(b, DecoderBlock)]
        self.output = decoder.output.folded()
        self.vocab = len(self.output[1])
        layers = [_layer_weights(block) for block in self.blocks]
        self.packed = PackedDecoder(self._shape(), layers, self._output(), as_bytes=as_bytes)

    def start(
        self, encoded: Encoded | None = None, *, aligned: bool = False, batch: int = 1
    ) -> PackedState:
        """`batch` is that of a language model, which has no memory."""
        if encoded is None:
            return PackedState(self.packed.start(batch), None, aligned)
        memory, keep = encoded.outputs, encoded.keep
        if keep is None:
            keep = torch.ones(memory.shape[:2], dtype=torch.bool)
        width = self.packed.shape.width
        keys_values = []
        for block in self.blocks:
            attention = block.cross_attention
            assert attention is not None
            bias = None if attention.b is None else attention.b[width:]
            keys_values.append(F.linear(memory, attention.W[width:], bias).contiguous())
        read = CrossMemory(tuple(keys_values), keep.contiguous())
        copies = SourceTokens.of(self.decoder, encoded)
        past = self.packed.start(len(memory))
        return PackedState(past, read, aligned or self.copying, None, copies)

    def step(self, ids: Tensor, state: PackedState) -> tuple[Tensor, PackedState]:
        transformer = self.decoder.transformer
        steps = len(state.past.blocks)
        vectors = self.decoder.embedding(self.decoder.known(ids))
        x = transformer.prepare_input(vectors[:, None], offset=steps)[:, 0]
        aligning = self.decoder.aligning_layer if state.aligned else None
        logits, past, looked = self.packed.step(x, state.past, state.memory, aligning=aligning)
        if state.copies is not None:
            scores = state.copies.mix(logits, looked, past.sources)
        else:
            scores = logits[:, : self.vocab]
        return scores, state._replace(past=past, alignment=looked)

    def select(self, state: PackedState, rows: Tensor) -> PackedState:
        alignment = None if state.alignment is None else state.alignment[rows]
        return state._replace(past=state.past.select(rows), alignment=alignment)

    def _shape(self) -> DecoderShape:
        options, first = self.decoder.transformer.options, self.blocks[0]
        return DecoderShape(
            layers=options.layers,
            width=options.width,
            heads=options.heads,
            hidden=first.feed_forward.W_2.in_features,
            vocab=self.vocab + -self.vocab % WIDTH,
            cross=first.cross_attention is not None,
            pre_norm=options.norm == "pre",
            activation=options.activation,
            epsilon=options.epsilon,
        )

    def _output(self) -> dict[str, Tensor]:
        pad = -self.vocab % WIDTH
        W, b = self.output
        arrays = {"W": F.pad(W, (0, 0, 0, pad)), "b": F.pad(b, (0, pad))}
        last = self.decoder.transformer.norm
        if isinstance(last, nn.LayerNorm):
            arrays |= {"norm_w": last.weight, "norm_b": last.bias}
        return arrays


def _layer_weights(block: DecoderBlock) -> dict[str, Tensor]:
    """Weights of a layer, by the names of the kernel."""
    attention, cross, feed = block.attention, block.cross_attention, block.feed_forward
    width = len(attention.W_o)
    arrays = {
        "norm_w": block.norm1.weight, "norm_b": block.norm1.bias,
        "W_qkv": attention.W, "b_qkv": _bias(attention.b, attention.W),
        "W_o": attention.W_o, "b_o": _bias(attention.b_o, attention.W_o),
        "feed_norm_w": block.norm2.weight, "feed_norm_b": block.norm2.bias,
        "W_1": feed.W_1.weight, "b_1": feed.W_1.bias,
        "W_2": feed.W_2.weight, "b_2": feed.W_2.bias,
    }  # fmt: skip
    if cross is not None and block.cross_norm is not None:
        norm = block.cross_norm
        arrays |= {
            "cross_norm_w": norm.weight, "cross_norm_b": norm.bias,
            "cross_W_q": cross.W[:width], "cross_b_q": _bias(cross.b, cross.W)[:width],
            "cross_W_o": cross.W_o, "cross_b_o": _bias(cross.b_o, cross.W_o),
        }  # fmt: skip
    return arrays


def _bias(b: Tensor | None, W: Tensor) -> Tensor:
    return W.new_zeros(len(W)) if b is None else b


def recurrent_unsupported_reason(decoder: RecurrentDecoder) -> str | None:
    """None where `PackedRecurrentSearch` can take a decoder, otherwise the reason."""
    return decoder.unsupported_reason(decoder.embedding.weight[:1])


class PackedRecurrentState(NamedTuple):
    cells: Tensor  # (P, R, H)
    source: SourceWeights  # rows of one memory are not copied
    alignment: Tensor | None = None  # (R, S)
    copies: SourceTokens | None = None
    coverage: Tensor | None = None  # (R, S)


class PackedRecurrentSearch:
    """The interface of a decoder, see `nn/decoders.py`; its weights are copied when it is made, and
    there is no dropout."""

    def __init__(self, decoder: RecurrentDecoder) -> None:
        reason = recurrent_unsupported_reason(decoder)
        if reason is not None:
            raise ValueError(f"cannot pack this decoder: {reason}")
        self.decoder, self.copying = decoder, decoder.copying
        self.vocab = len(decoder.output.b)
        self.embedding = decoder.embedding.weight.detach() * decoder.embedding.scale
        weights = decoder.native_weights()
        units = decoder.size if weights.v is None else len(weights.v)
        with torch.no_grad():
            self.packed = RecurrentSearch(
                weights,
                *decoder.output.folded(),
                E=decoder.embedding.size,
                D=decoder.memory,
                A=units,
            )

    def start(
        self, encoded: Encoded | None = None, *, aligned: bool = False
    ) -> PackedRecurrentState:
        """Every state after a step has its alignment, asked for or not."""
        state = self.decoder.initial_state(encoded)
        assert encoded is not None
        assert state.memory is not None
        cells = self.packed.start([layer[0] for layer in state.cells])
        source = self.packed.source(*state.memory[:3])
        copies = SourceTokens.of(self.decoder, encoded)
        return PackedRecurrentState(cells, source, None, copies, state.coverage)

    def step(self, ids: Tensor, state: PackedRecurrentState) -> tuple[Tensor, PackedRecurrentState]:
        y = self.embedding.index_select(0, self.decoder.known(ids))
        source, copies, coverage = state.source, state.copies, state.coverage
        logits, cells, alignment = self.packed.step(y, state.cells, source, coverage)
        coverage = None if coverage is None else coverage + alignment
        if copies is not None:
            scores = copies.mix(logits, alignment, source.sources)
        else:
            scores = logits[:, : self.vocab]
        return scores, PackedRecurrentState(cells, source, alignment, copies, coverage)

    def select(self, state: PackedRecurrentState, rows: Tensor) -> PackedRecurrentState:
        def of_rows(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor.index_select(0, rows)

        return PackedRecurrentState(
            state.cells.index_select(1, rows),
            state.source.select(rows),
            of_rows(state.alignment),
            state.copies,
            of_rows(state.coverage),
        )
