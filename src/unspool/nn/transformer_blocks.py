"""The parts of the Transformer (Vaswani et al. 2017), and what they are built from.

In: vectors (B, T, E); keep (B, T), True = keep. Out: (B, T, E), of which the rows at padding mean
nothing. A decoder's block also reads a memory (B, S, E).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.errors import choose
from unspool.nn import init
from unspool.nn.activations import Activation
from unspool.nn.attention import Memory
from unspool.nn.cache import Cache
from unspool.nn.dropout import Dropout
from unspool.nn.inputs import TokenEmbedding, TokenInput
from unspool.nn.masks import zero_padding
from unspool.nn.multihead import AttentionKind, MultiHeadAttention
from unspool.nn.packing import Packing
from unspool.nn.positions import Positions


def swiglu(a: Tensor) -> Tensor:
    """swish(a_1) ⊙ a_2, where a = [a_1, a_2] and swish(x) = x σ(x) (Shazeer 2020)"""
    gate, linear = a.chunk(2, -1)
    return F.silu(gate) * linear


def gelu_tanh(a: Tensor) -> Tensor:
    """GPT-2's approximation: a/2 · (1 + tanh(√(2/π) (a + 0.044715 a³)))"""
    return F.gelu(a, approximate="tanh")


FEED_FORWARDS: dict[str, Activation] = {
    "relu": Activation(torch.relu),
    "gelu": Activation(F.gelu),
    "gelu_tanh": Activation(gelu_tanh),
    "swiglu": Activation(swiglu, pieces=2),
}


@dataclass(frozen=True)
class TransformerOptions:
    """Hyperparameters of a Transformer.

    width              E, the size of the vectors
    heads              of each attention; they divide the width
    layers             blocks, one upon the other
    hidden             units of the feed-forward layers; None: 4 E, as in the paper
    dropout            on the input with its positions and on the output of each sublayer, as in
                       section 5.4 of the paper, in training
    attention_dropout  on the attention weights, in training
    activation         "relu" (the paper's), "gelu", "gelu_tanh" or "swiglu"
    norm               "post": norm(x + f(x)), the paper's; "pre": x + f(norm(x)) and one more norm
                       at the end (Xiong et al. 2020), which trains without a warm-up
    epsilon            what layer normalisation adds to the variance
    embedding_norm     normalise the input too, after its positions were added (BERT)
    positions          "sinusoidal" (the paper's), "learned", "rotary" or "none"
    length             the longest sequence that learned positions are for
    kind, window       of self-attention: see `MultiHeadAttention`
    embedding_std      spread of the initial token vectors; None: 1 where sinusoids are added to
                       them, which are that large, otherwise 0.02
    """

    width: int
    heads: int
    _: KW_ONLY
    layers: int = 1
    hidden: int | None = None
    dropout: float = 0.0
    attention_dropout: float = 0.0
    activation: str = "relu"
    norm: Literal["pre", "post"] = "pre"
    epsilon: float = 1e-5
    embedding_norm: bool = False
    positions: Positions = "sinusoidal"
    length: int | None = None
    kind: AttentionKind = "full"
    window: int | None = None
    embedding_std: float | None = None

    @property
    def scale(self) -> float:
        """Factor of the embedding's rows."""
        return math.sqrt(self.width) if self.positions == "sinusoidal" else 1.0

    @property
    def std(self) -> float:
        """Standard deviation of the initial rows, before they are multiplied."""
        std = self.embedding_std or (1.0 if self.positions == "sinusoidal" else 0.02)
        return std / self.scale

    def embedding(self, vocab: int) -> TokenEmbedding:
        return TokenEmbedding(vocab, self.width, std=self.std, scale=self.scale)

    def token_input(self, vocab: int, *, word_dropout: float = 0.0) -> TokenInput:
        return TokenInput(
            vocab, self.width, std=self.std, scale=self.scale, word_dropout=word_dropout
        )

    def self_attention(self) -> MultiHeadAttention:
        return MultiHeadAttention(
            self.width,
            self.heads,
            dropout=self.attention_dropout,
            kind=self.kind,
            window=self.window,
            rotary=self.positions == "rotary",
        )

    def cross_attention(self) -> MultiHeadAttention:
        return MultiHeadAttention(self.width, self.heads, dropout=self.attention_dropout)

    def feed_forward(self) -> FeedForward:
        hidden = 4 * self.width if self.hidden is None else self.hidden
        return FeedForward(self.width, hidden, activation=self.activation)

    def is_pre_norm(self) -> bool:
        return choose("norm", self.norm, ("pre", "post")) == "pre"

    def layer_norm(self) -> nn.LayerNorm:
        return nn.LayerNorm(self.width, eps=self.epsilon)

    def describe(self, what: str) -> str:
        blocks = f"{self.layers} {self.norm}-norm {what} block" + "s" * (self.layers != 1)
        kind = "" if self.kind == "full" else f" {self.kind} attention"
        return f"{blocks}, {self.heads}{kind} heads, {self.activation}"


class FeedForward(nn.Module):
    """Section 3.3: the same two layers at each step.

        FFN(x) = W_2 f(W_1 x + b_1) + b_2

    With "swiglu", W_1 has twice the rows. Parameters: 2 E · hidden + hidden + E; for swiglu
    3 E · hidden + 2 hidden + E.
    """

    def __init__(self, width: int, hidden: int, *, activation: str = "relu") -> None:
        super().__init__()
        f = FEED_FORWARDS[choose("activation", activation, FEED_FORWARDS)]
        self.f: Callable[[Tensor], Tensor] = f.function
        self.W_1 = nn.Linear(width, f.pieces * hidden)
        self.W_2 = nn.Linear(hidden, width)
        init.input_matrix_(self.W_1.weight, f.pieces)
        nn.init.zeros_(self.W_1.bias)
        init.linear_(self.W_2)

    def forward(self, x: Tensor) -> Tensor:
        return self.W_2(self.f(self.W_1(x)))


def clean(x: Tensor, keep: Tensor | None) -> Tensor:
    """x with zeros at padding.

    Needed although padding is not attended to: the gradient of a weight is a product with all rows
    of x, and 0 · NaN = NaN.
    """
    return x if keep is None else zero_padding(x, keep)


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward layer, each with a residual connection.

        pre     x + dropout(f(norm(x)))
        post    norm(x + dropout(f(x)))

    x is (B, T, E) with padding where `keep` is False, or with a `packing` (N, E) without any.
    """

    def __init__(self, options: TransformerOptions) -> None:
        super().__init__()
        self.pre = options.is_pre_norm()
        self.attention = options.self_attention()
        self.feed_forward = options.feed_forward()
        self.norm1 = options.layer_norm()
        self.norm2 = options.layer_norm()
        self.dropout = Dropout(options.dropout)

    def forward(
        self, x: Tensor, keep: Tensor | None = None, packing: Packing | None = None
    ) -> Tensor:
        x = clean(x, keep)
        if self.pre:
            x = x + self.dropout(self._attend(self.norm1(x), keep, packing))
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(self._attend(x, keep, packing)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))

    def _attend(self, x: Tensor, keep: Tensor | None, packing: Packing | None) -> Tensor:
        if packing is not None:
            return self.attention.packed(x, packing)
        return self.attention(x, keep=keep)


class DecoderBlock(nn.Module):
    """Causal self-attention, with `cross` attention to a memory, then a feed-forward layer, each
    with a residual connection as in `EncoderBlock`."""

    def __init__(self, options: TransformerOptions, *, cross: bool = True) -> None:
        super().__init__()
        self.pre = options.is_pre_norm()
        self.attention = options.self_attention()
        self.cross_attention = options.cross_attention() if cross else None
        self.feed_forward = options.feed_forward()
        self.norm1 = options.layer_norm()
        self.cross_norm = options.layer_norm() if cross else None
        self.norm2 = options.layer_norm()
        self.dropout = Dropout(options.dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        keep: Tensor | None = None,
        memory_keep: Tensor | None = None,
    ) -> Tensor:
        x = clean(x, keep)
        read = self.prepare(memory, memory_keep)
        return self._block(x, lambda z: self.attention(z, keep=keep, causal=True), read)

    def prepare(self, memory: Tensor | None, keep: Tensor | None = None) -> Memory | None:
        """The keys and values of the memory, for `step`."""
        if (memory is None) != (self.cross_attention is None):
            raise ValueError(
                "this decoder was built without attention to a memory (cross=False)"
                if memory is not None
                else "this decoder reads a memory: give one, or build it with cross=False"
            )
        if memory is None or self.cross_attention is None:
            return None
        return self.cross_attention.prepare(memory, keep)

    def step(
        self, x: Tensor, cache: Cache | None, memory: Memory | None
    ) -> tuple[Tensor, Cache | None]:
        """The next steps x (B, T, E), after those in the cache."""

        def attend(z: Tensor) -> Tensor:
            nonlocal cache
            y, cache = self.attention.step(z, cache)
            return y

        return self._block(x, attend, memory), cache

    def _block(
        self, x: Tensor, attend: Callable[[Tensor], Tensor], memory: Memory | None
    ) -> Tensor:
        cross, cross_norm = self.cross_attention, self.cross_norm
        if self.pre:
            x = x + self.dropout(attend(self.norm1(x)))
            if cross and cross_norm and memory is not None:
                x = x + self.dropout(cross.read(cross_norm(x), memory))
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(attend(x)))
        if cross and cross_norm and memory is not None:
            x = cross_norm(x + self.dropout(cross.read(x, memory)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))
