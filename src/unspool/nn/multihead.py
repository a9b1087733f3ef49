"""Several attentions side by side.

In: vectors x (B, T, E), and for cross-attention a memory (B, S, E); keep (B, S), True = keep.
Out: (B, T, E). Step by step a `Cache` goes in and comes out.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.errors import choose
from unspool.nn import init
from unspool.nn.attention import Memory, check_keep
from unspool.nn.cache import Cache
from unspool.nn.dot_product import HeadAttention, ScaledDotProduct, SlidingWindow
from unspool.nn.linear_attention import LinearAttention
from unspool.nn.masks import keep_mask, zero_padding
from unspool.nn.packing import Packing
from unspool.nn.positions import Rotary

AttentionKind = Literal["full", "window", "linear"]
ATTENTION_KINDS: tuple[AttentionKind, ...] = ("full", "window", "linear")

SHORT = 64  # time steps up to which padding costs attention less than a call for each length


def head_attention(kind: AttentionKind, *, window: int | None, dropout: float) -> HeadAttention:
    choose("kind of attention", kind, ATTENTION_KINDS)
    if (kind == "window") != (window is not None):
        raise ValueError(f"window is for kind 'window', which needs it; got {kind!r} and {window}")
    if window is not None:
        return SlidingWindow(window, dropout=dropout)
    return ScaledDotProduct(dropout=dropout) if kind == "full" else LinearAttention()


class MultiHeadAttention(nn.Module):
    """Vaswani et al. (2017), section 3.2.2, with A = `heads` heads of d = E / A elements.

        head_a = Attention(x W_aᵠ, m W_aᴷ, m W_aⱽ)         m = x, or a memory
        output = [head_1, ..., head_A] Wᴼ

    Blocks of W: Q, K, V, each with its heads one below the other; so W, b, W_o, b_o are the
    in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias of torch.nn.MultiheadAttention.
    Parameters: 4(E² + E).

    dropout   on the attention weights, in training; linear attention has none to drop
    kind      "full": scaled dot-product; "window": of neighbours at most `window` steps away;
              "linear": without softmax
    rotary    turns queries and keys by their positions; not when a memory is read

    The tap `weights` passes (B, A, T, S). A query that sees nothing gives b_o.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        dropout: float = 0.0,
        bias: bool = True,
        kind: AttentionKind = "full",
        window: int | None = None,
        rotary: bool = False,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"the width must be a multiple of the heads; got {width} and {heads}")
        self.width = width
        self.heads = heads
        self.kind = kind
        inner = head_attention(kind, window=window, dropout=dropout)
        # One tap under two paths: the first one registered, the shorter, is its name.
        self.weights = inner.weights
        self.inner = inner
        self.rotary = Rotary(width // heads) if rotary else None
        self.W = nn.Parameter(torch.empty(3 * width, width))
        self.b = nn.Parameter(torch.zeros(3 * width)) if bias else None
        self.W_o = nn.Parameter(torch.empty(width, width))
        self.b_o = nn.Parameter(torch.zeros(width)) if bias else None
        init.input_matrix_(self.W, blocks=3)
        init.input_matrix_(self.W_o, blocks=1)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        keep: Tensor | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """x attends to the memory, or where there is none to itself.

        keep (B, S) marks the real steps of what is attended to. For self-attention of kind
        "full" it may also be (B, T, T): which steps each step sees.
        """
        if memory is not None:
            if causal:
                raise ValueError("causal is for self-attention: a memory has no order with x")
            return self.read(x, self.prepare(memory, keep))
        B, T, _ = x.shape
        check_keep(keep, (B, T), (B, T, T))
        if keep is not None:
            x = zero_padding(x, keep if keep.dim() == 2 else keep.any(1) | keep.any(2))
        y = self._attend(F.linear(x, self.W, self.b), keep, causal=causal)
        return F.linear(y, self.W_o, self.b_o)

    def packed(self, x: Tensor, packing: Packing, *, causal: bool = False) -> Tensor:
        """Self-attention within each sequence of a batch without padding: x (N, E) -> (N, E).

        Sequences of one length are attended to together, each by itself where no two are alike: a
        call costs less than padding, unless all of them are short.
        """
        rows = F.linear(x, self.W, self.b)  # (N, 3 E)
        if packing.steps <= SHORT:
            keep = keep_mask(packing.offsets.diff(), packing.steps, device=x.device)
            y = packing.pack(self._attend(packing.unpack(rows), keep, causal=causal))
        else:
            runs = list(packing.runs())
            parts = rows.split([count * length for count, length in runs])
            y = joined(
                [
                    self._attend(part.unflatten(0, run), None, causal=causal).flatten(0, 1)
                    for run, part in zip(runs, parts)
                ]
            )
        return F.linear(y, self.W_o, self.b_o)

    def prepare(self, memory: Tensor, keep: Tensor | None = None) -> Memory:
        """Keys and values of a memory (B, S, E), computed once for every `read`."""
        if self.kind == "window":
            raise ValueError("attention with a window reads no memory: the window is in x itself")
        check_keep(keep, tuple(memory.shape[:2]))
        if keep is not None:
            memory = zero_padding(memory, keep)
        k, v = self._split(memory, 1, 3)
        return Memory(k, v, keep)

    def read(self, x: Tensor, memory: Memory) -> Tensor:
        """x (B, T, E) attends to a prepared memory."""
        (q,) = self._split(memory.join(x), 0, 1)
        return memory.part(
            self._join(self.inner.attend(q, memory.keys, memory.values, memory.keep))
        )

    def step(self, x: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        """The next T steps of causal self-attention, x (B, T, E); None: the first ones."""
        q, k, v = self._split(x, 0, 3)
        if self.rotary is not None:
            read = 0 if cache is None else cache.steps
            q, k = self.rotary(q, read), self.rotary(k, read)
        y, cache = self.inner.step(q, k, v, cache)
        return self._join(y), cache

    def _split(self, x: Tensor, first: int, end: int) -> tuple[Tensor, ...]:
        """x times the blocks `first` to `end` of W, each as (B, A, T, d)."""
        rows = slice(first * self.width, end * self.width)
        return self._heads(F.linear(x, self.W[rows], None if self.b is None else self.b[rows]))

    def _heads(self, y: Tensor) -> tuple[Tensor, ...]:
        """(B, T, blocks · E) -> of each block (B, A, T, d).

        Cut into blocks first: the gradients of the blocks are then put together in one copy.
        """
        blocks = y.chunk(y.shape[-1] // self.width, -1)
        return tuple(block.unflatten(-1, (self.heads, -1)).transpose(1, 2) for block in blocks)

    def _attend(self, rows: Tensor, keep: Tensor | None, *, causal: bool) -> Tensor:
        """Self-attention of x W + b (B, T, 3 E), before the output matrix: (B, T, E)"""
        q, k, v = self._heads(rows)
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        return self.inner.attend(q, k, v, keep, causal=causal).transpose(1, 2).flatten(2)

    def _join(self, y: Tensor) -> Tensor:
        return F.linear(y.transpose(1, 2).flatten(2), self.W_o, self.b_o)  # (B, T, E)

    def extra_repr(self) -> str:
        return f"{self.width}, {self.heads}, kind={self.kind!r}"


def joined(parts: list[Tensor]) -> Tensor:
    """Rows (n, E) of several parts one after the other. `torch.cat` copies them on one thread, so
    they are copied by themselves where no gradient is asked for."""
    if len(parts) == 1:
        return parts[0]
    if torch.is_grad_enabled():
        return torch.cat(parts)
    sizes = [len(part) for part in parts]
    y = parts[0].new_empty(sum(sizes), *parts[0].shape[1:])
    for target, part in zip(y.split(sizes), parts):
        target.copy_(part)
    return y
