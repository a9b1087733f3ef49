"""The Transformer (Vaswani et al. 2017): attention and feed-forward layers in turn.

In: vectors (B, T, E), such as embeddings; keep (B, T), True = keep. Out: (B, T, E), zeros at
padding. A decoder also reads a memory (B, S, E), and can go step by step with a `DecoderState`.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from unspool.nn.attention import Memory, check_keep
from unspool.nn.cache import Cache
from unspool.nn.positions import added_positions
from unspool.nn.transformer_blocks import DecoderBlock, EncoderBlock, TransformerOptions, clean


class TransformerEncoder(nn.Module):
    """Positions, dropout, `layers` blocks, and with norm="pre" a last normalisation."""

    def __init__(self, options: TransformerOptions) -> None:
        super().__init__()
        self.options = options
        self.size = options.width
        self.positions = added_positions(options.positions, options.width, length=options.length)
        self.dropout = nn.Dropout(options.dropout)
        self.layers = nn.ModuleList(EncoderBlock(options) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.width) if options.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        _check(x, keep, self.size)
        x = self.dropout(x if self.positions is None else self.positions(x))
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


class TransformerDecoder(nn.Module):
    """The same with causal blocks; with `cross` they also read a memory, and otherwise they make a
    language model.

    Whole sequences go through `forward`. Step by step, with the same result:

        state = decoder.start(memory, keep)
        y_t, state = decoder.step(x_t, state)
    """

    def __init__(self, options: TransformerOptions, *, cross: bool = True) -> None:
        super().__init__()
        self.options = options
        self.size = options.width
        self.positions = added_positions(options.positions, options.width, length=options.length)
        self.dropout = nn.Dropout(options.dropout)
        blocks = (DecoderBlock(options, cross=cross) for _ in range(options.layers))
        self.layers = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(options.width) if options.norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        keep: Tensor | None = None,
        memory_keep: Tensor | None = None,
    ) -> Tensor:
        _check(x, keep, self.size)
        x = self.dropout(x if self.positions is None else self.positions(x))
        for block in self.layers:
            x = block(x, memory, keep, memory_keep)
        return clean(self.norm(x), keep)

    def start(self, memory: Tensor | None = None, keep: Tensor | None = None) -> DecoderState:
        """The state before the first step; keep (B, S) is the memory's."""
        memories = tuple(block.prepare(memory, keep) for block in self._blocks())
        return DecoderState((None,) * len(memories), memories, 0)

    def step(self, x: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """The next step x (B, E), or the next few (B, T, E) -> the same shape."""
        if x.dim() == 2:
            y, state = self.step(x[:, None], state)
            return y[:, 0], state
        _check(x, None, self.size)
        x = self.dropout(x if self.positions is None else self.positions(x, state.steps))
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


def _check(x: Tensor, keep: Tensor | None, width: int) -> None:
    if x.dim() != 3 or x.shape[-1] != width:
        raise ValueError(f"the input must have shape (batch, time, {width}); got {tuple(x.shape)}")
    check_keep(keep, tuple(x.shape[:2]))
