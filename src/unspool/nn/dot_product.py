"""Attention of queries to keys, head by head: all of them, or those in a window.

In: queries q (B, A, T, d), keys k and values v (B, A, S, d) of A heads; keep (B, S), or (B, T, S)
where each query has its own, True = keep. Out: (B, A, T, d). Under `causal` the last query is
at the last key, and none sees what comes after it.

Each kind has a fast path, and an explicit one that makes the weights (B, A, T, S) and passes them
through the tap `weights`; it runs while that is recorded.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn.attention import check_keep
from unspool.nn.cache import Cache, GrowingCache, KeyValueCache, WindowCache
from unspool.nn.masks import causal_mask, masked_softmax, visible
from unspool.nn.taps import Tap, overridable, recording

EXPLICIT_BF16 = 256  # time steps up to which a bfloat16 matrix of weights is faster to go through


def dot_product_weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q kᵀ / √d) over the keys that are seen: (B, A, T, S)"""
    scores = (q / math.sqrt(q.shape[-1])) @ k.mT  # q is smaller than the scores
    return torch.softmax(scores, -1) if mask is None else masked_softmax(scores, mask)


def fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """`dot_product_weights` times v by torch's kernel, which makes no T x S matrix.

    `causal` replaces a mask, where there is none and T = S.
    """
    if mask is None:
        return _kernel(q, k, v, None, causal=causal, dropout=dropout)
    # What a kernel gives for a query that sees nothing differs (NaN, a mean, zeros): such a query
    # is shown everything, and what it finds is cleared.
    seen = mask.any(-1, keepdim=True)
    return _kernel(q, k, v, mask | ~seen, causal=False, dropout=dropout).masked_fill(~seen, 0)


def _kernel(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, causal: bool, dropout: float
) -> Tensor:
    """torch's kernel; to learn short sequences in bfloat16 on a CPU, where going back through it is
    slow, two products and a softmax. Every query sees something."""
    slow = q.dtype == torch.bfloat16 and q.device.type == "cpu" and q.requires_grad
    if not slow or q.shape[2] * k.shape[2] > EXPLICIT_BF16**2:
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
    if causal:
        mask = causal_mask(q.shape[2], device=q.device)
    weights = torch.softmax(_scores(q, k, mask), -1).to(v.dtype)
    return F.dropout(weights, dropout) @ v


def _scores(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """q kᵀ / √d, and -∞ for what is not seen, in one pass: (B, A, T, S)"""
    shape = (*q.shape[:3], k.shape[2])
    unseen = q.new_zeros(() if mask is None else mask.shape)
    if mask is not None:
        unseen.masked_fill_(~mask, -math.inf)
    return torch.baddbmm(
        unseen.expand(shape).flatten(0, 1),
        q.flatten(0, 1),
        k.flatten(0, 1).mT,
        beta=0 if mask is None else 1,
        alpha=1 / math.sqrt(q.shape[-1]),
    ).view(shape)


class HeadAttention(nn.Module, ABC):
    """A kind of attention. `dropout` falls on the weights, in training."""

    def __init__(self, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.weights = Tap()

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None = None, *, causal: bool = False
    ) -> Tensor:
        B, T, S = q.shape[0], q.shape[2], k.shape[2]
        check_keep(keep, (B, S), (B, T, S))
        if keep is not None:
            unseen = ~(keep if keep.dim() == 2 else keep.any(1))[:, None, :, None]
            k, v = k.masked_fill(unseen, 0), v.masked_fill(unseen, 0)
        return self.attend(q, k, v, keep, causal=causal)

    @overridable
    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None = None, *, causal: bool = False
    ) -> Tensor:
        """`forward` for k and v that are known to be finite where they are masked."""
        if not recording(self):
            return self.fast(q, k, v, keep, causal=causal)
        weights = self.weights(self.explicit(q, k, keep, causal=causal))
        return F.dropout(weights, self.dropout, self.training).to(v.dtype) @ v

    @abstractmethod
    def explicit(self, q: Tensor, k: Tensor, keep: Tensor | None, *, causal: bool) -> Tensor:
        """The weights (B, A, T, S); their rows sum to 1, or to 0 where nothing is seen."""

    @abstractmethod
    def fast(self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, *, causal: bool) -> Tensor:
        """The explicit weights times v, by other means: (B, A, T, d)"""

    @abstractmethod
    def step(self, q: Tensor, k: Tensor, v: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        """Causal attention of T new steps to themselves and those in the cache; None: no others."""

    def drop(self) -> float:
        return self.dropout if self.training else 0.0

    def extra_repr(self) -> str:
        return f"dropout={self.dropout}"


class ScaledDotProduct(HeadAttention):
    """Vaswani et al. (2017), section 3.2.1.

        Attention(Q, K, V) = softmax(Q Kᵀ / √d) V

    A query that sees no key gives zeros, with zero gradients.
    """

    def explicit(self, q: Tensor, k: Tensor, keep: Tensor | None, *, causal: bool) -> Tensor:
        return dot_product_weights(q, k, visible(q, k, keep, causal=causal))

    def fast(self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, *, causal: bool) -> Tensor:
        if causal and keep is None and q.shape[2] == k.shape[2]:
            return fused(q, k, v, causal=True, dropout=self.drop())
        return fused(q, k, v, visible(q, k, keep, causal=causal), dropout=self.drop())

    def step(self, q: Tensor, k: Tensor, v: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        if cache is None:
            cache = KeyValueCache(GrowingCache(k), GrowingCache(v))
        else:
            assert isinstance(cache, KeyValueCache)
            cache = KeyValueCache(cache.keys.append(k), cache.values.append(v))
        return self.attend(q, cache.keys.value, cache.values.value, causal=True), cache


class SlidingWindow(HeadAttention):
    """Scaled dot-product attention of each query to its neighbourhood (Beltagy et al. 2020, 3.1).

    Query i sees the keys j with |i - j| ≤ `window`, under `causal` those with 0 ≤ i - j ≤ `window`.
    The queries are cut into blocks of b; each block meets the b + 2 `window` keys around it, so
    time and memory grow with T and not with T². For self-attention: T = S; keep is (B, S).
    """

    def __init__(self, window: int, *, dropout: float = 0.0) -> None:
        super().__init__(dropout=dropout)
        if window < 0:
            raise ValueError(f"window must not be negative; got {window}")
        self.window = window

    def explicit(self, q: Tensor, k: Tensor, keep: Tensor | None, *, causal: bool) -> Tensor:
        mask = visible(q, k, self._check(q, k, keep), causal=causal, window=self.window)
        return dot_product_weights(q, k, mask)

    def fast(self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, *, causal: bool) -> Tensor:
        self._check(q, k, keep)
        B, _, T, _ = q.shape
        S, w = k.shape[2], self.window
        b = max(w, 16)
        ahead = 0 if causal else w
        N = -(-T // b)
        # The keys of a block begin w before its first query. F.pad crops where it gets a negative
        # number: cached keys that no query reaches.
        before, after = w - (S - T), N * b + ahead - T

        def around(x: Tensor) -> Tensor:
            blocks = F.pad(x, (0, 0, before, after)).unfold(2, b + w + ahead, b)
            return blocks.permute(0, 2, 1, 4, 3).flatten(0, 1)  # (B N, A, b + w + ahead, d)

        real = q.new_ones(1, S, dtype=torch.bool) if keep is None else keep
        real = F.pad(real, (before, after)).unfold(1, b + w + ahead, b)  # (B or 1, N, L)
        steps = torch.arange(b + w + ahead, device=q.device)
        age = steps[:b, None] + w - steps
        near = (age >= -ahead) & (age <= w)  # (b, L)
        mask = (real[:, :, None] & near).expand(B, -1, -1, -1).flatten(0, 1)[:, None]
        blocks = F.pad(q, (0, 0, 0, N * b - T)).unflatten(2, (N, b)).transpose(1, 2).flatten(0, 1)
        y = fused(blocks, around(k), around(v), mask, dropout=self.drop())  # (B N, A, b, d)
        y = y.unflatten(0, (B, N)).transpose(1, 2).flatten(2, 3)  # (B, A, N b, d)
        return F.pad(y, (0, 0, 0, T - N * b))

    def step(self, q: Tensor, k: Tensor, v: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        read = k.shape[2]
        if cache is not None:
            assert isinstance(cache, WindowCache)
            read += cache.steps
            k, v = torch.cat([cache.keys, k], 2), torch.cat([cache.values, v], 2)
        y = self.attend(q, k, v, causal=True)
        first = max(k.shape[2] - self.window, 0)
        return y, WindowCache(k[:, :, first:], v[:, :, first:], read)

    def _check(self, q: Tensor, k: Tensor, keep: Tensor | None) -> Tensor | None:
        if q.shape[2] > k.shape[2]:
            raise ValueError(
                f"a window needs a key for each query; got {q.shape[2]} and {k.shape[2]}"
            )
        check_keep(keep, (k.shape[0], k.shape[2]))
        return keep

    def extra_repr(self) -> str:
        return f"{self.window}, dropout={self.dropout}"
