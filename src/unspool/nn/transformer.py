"""The Transformer (Vaswani et al. 2017): attention and feed-forward layers in turn.

In: vectors (B, T, E), such as embeddings; lengths (B,). Out: (B, T, E), zeros at
padding. A decoder also reads a memory (B, S, E), and can go step by step with a `DecoderState`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn.attention import Memory, check_keep
from unspool.nn.cache import Cache
from unspool.nn.dropout import Dropout
from unspool.nn.masks import check_lengths, keep_mask
from unspool.nn.network import Network, NetworkOutput
from unspool.nn.packing import Packing
from unspool.nn.positions import added_positions
from unspool.nn.taps import recording
from unspool.nn.transformer_blocks import DecoderBlock, EncoderBlock, TransformerOptions, clean


class Stack(Network):
    """Base of encoder and decoder: positions and dropout before the blocks, a last normalisation
    after them."""

    def __init__(self, options: TransformerOptions, layers: nn.ModuleList) -> None:
        super().__init__()
        self.options = options
        self.inputs = self.size = options.width
        self.positions = added_positions(options.positions, options.width, length=options.length)
        self.embedding_norm = options.layer_norm() if options.embedding_norm else None
        self.dropout = Dropout(options.dropout)
        self.layers = layers
        self.norm = options.layer_norm() if options.norm == "pre" else nn.Identity()

    def prepare_input(
        self,
        x: Tensor,
        keep: Tensor | None = None,
        packing: Packing | None = None,
        *,
        offset: int = 0,
    ) -> Tensor:
        """The input of the first block: x (B, T, E), of the steps from `offset` on, with positions,
        normalisation and dropout; with a `packing` (N, E)."""
        if x.dim() != 3 or x.shape[-1] != self.size:
            raise ValueError(
                f"the input must have shape (batch, time, {self.size}); got {tuple(x.shape)}"
            )
        check_keep(keep, tuple(x.shape[:2]))
        if self.positions is not None:
            x = self.positions(x, offset)
        if packing is not None:
            x, keep = packing.pack(x), None
        if self.embedding_norm is not None:
            x = self.embedding_norm(clean(x, keep))
        return self.dropout(x)


def mask_of(lengths: Tensor | None, x: Tensor) -> Tensor | None:
    """keep (B, T), None where all of x is real."""
    return None if lengths is None else keep_mask(lengths, x.shape[1], device=x.device)


class TransformerEncoder(Stack):
    """Positions, dropout, `layers` blocks, and with norm="pre" a last normalisation.

    fast   without padding: all that is done to each token by itself is done to real ones only, and
           sequences attend to themselves (`MultiHeadAttention.packed`). False: the padded batch
           goes through it all, which is the reference, and the way while a tap is recorded, where
           the model is exported or compiled, and on a GPU.
    """

    def __init__(self, options: TransformerOptions, *, fast: bool = True) -> None:
        blocks = (EncoderBlock(options) for _ in range(options.layers))
        super().__init__(options, nn.ModuleList(blocks))
        self.fast = fast

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, state: None = None
    ) -> NetworkOutput:
        """It reads all steps at once, so there is no state."""
        lengths = check_lengths(lengths, x)
        if lengths is None or not self._may_pack(x):
            return NetworkOutput(self._padded(x, mask_of(lengths, x)))
        packing = Packing.of(x.shape[0], x.shape[1], lengths, by_time=False, device=x.device)
        x = self.prepare_input(x, mask_of(lengths, x), packing)
        for block in self.layers:
            x = block(x, packing=packing)
        return NetworkOutput(packing.unpack(self.norm(x)))

    def streaming_unsupported_reason(self) -> str:
        return "its self-attention reads all steps of a sequence at once"

    def _may_pack(self, x: Tensor) -> bool:
        away = torch.compiler.is_compiling() or x.device.type != "cpu"
        return self.fast and not away and not recording(self)

    def _padded(self, x: Tensor, keep: Tensor | None) -> Tensor:
        x = self.prepare_input(x, keep)
        for block in self.layers:
            x = block(x, keep)
        return clean(self.norm(x), keep)

    def describe(self) -> str:
        return self.options.describe("encoder")


class DecoderState(NamedTuple):
    """After `steps` steps: of each block what it has read of x, and its keys and values of the
    memory."""

    caches: tuple[Cache | None, ...]
    memories: tuple[Memory | None, ...]
    steps: int


class TransformerDecoder(Stack):
    """The same with causal blocks; with `cross` they also read a memory, and otherwise they make a
    language model.

    Whole sequences go through `forward`. Step by step, with the same result:

        state = decoder.start(memory, keep)
        y_t, state = decoder.step(x_t, state)
    """

    def __init__(self, options: TransformerOptions, *, cross: bool = True) -> None:
        blocks = (DecoderBlock(options, cross=cross) for _ in range(options.layers))
        super().__init__(options, nn.ModuleList(blocks))

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        state: DecoderState | None = None,
        *,
        memory: Tensor | None = None,
        memory_keep: Tensor | None = None,
    ) -> NetworkOutput:
        """With a state, x are the steps after those it has read; without one, all there are, and
        no state is made. memory_keep (B, S) is the memory's mask."""
        if state is not None:
            return NetworkOutput(*self.step(x, state))
        keep = mask_of(check_lengths(lengths, x), x)
        x = self.prepare_input(x, keep)
        for block in self.layers:
            x = block(x, memory, keep, memory_keep)
        return NetworkOutput(clean(self.norm(x), keep))

    def start(self, memory: Tensor | None = None, keep: Tensor | None = None) -> DecoderState:
        """The state before the first step; keep (B, S) is the memory's."""
        memories = tuple(block.prepare(memory, keep) for block in self._blocks())
        return DecoderState((None,) * len(memories), memories, 0)

    def step(self, x: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """The next step x (B, E), or the next few (B, T, E) -> the same shape."""
        if x.dim() == 2:
            y, state = self.step(x[:, None], state)
            return y[:, 0], state
        x = self.prepare_input(x, offset=state.steps)
        caches = []
        for block, before, memory in zip(self._blocks(), state.caches, state.memories):
            x, cache = block.step(x, before, memory)
            caches.append(cache)
        steps = state.steps + x.shape[1]
        return self.norm(x), DecoderState(tuple(caches), state.memories, steps)

    def select(self, state: DecoderState, rows: Tensor) -> DecoderState:
        """The state of some rows of the batch, which may repeat, as a beam search asks for."""
        caches = tuple(None if cache is None else cache.select(rows) for cache in state.caches)
        memories = tuple(None if m is None else m.select(rows) for m in state.memories)
        return DecoderState(caches, memories, state.steps)

    def _blocks(self) -> list[DecoderBlock]:
        return [block for block in self.layers if isinstance(block, DecoderBlock)]

    def describe(self) -> str:
        return self.options.describe("decoder")
