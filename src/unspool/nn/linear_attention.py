"""Attention without a softmax, in time and memory that grow with T and not with T².

In, out: as in `dot_product.py`, with keep (B, S).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from unspool.nn.attention import check_keep
from unspool.nn.cache import Cache, LinearCache
from unspool.nn.dot_product import HeadAttention
from unspool.nn.masks import visible

CHUNK = 32


def phi(x: Tensor) -> Tensor:
    """φ(x) = elu(x) + 1, which is positive."""
    return F.elu(x) + 1


class LinearAttention(HeadAttention):
    """Katharopoulos et al. (2020), sections 3.2 and 3.3.

        y_i = φ(q_i)ᵀ S_i / φ(q_i)ᵀ z_i
        S_i = Σ_j φ(k_j) v_jᵀ,   z_i = Σ_j φ(k_j)       over all real j, under `causal` over j ≤ i

    φ(x) = elu(x) + 1 rather than the random features of the Performer (Choromanski et al. 2021):
    there is nothing random to draw, keep or save, whole sequences, chunks of them and single steps
    agree to rounding, and a trained model does not need the softmax that these would approximate.

    Below S and z are one matrix [S, z], made with the values [v_j, 1]. The weights that the tap
    shows are φ(q_i)ᵀ φ(k_j) / φ(q_i)ᵀ z_i; otherwise they are never made, so none can be dropped.
    """

    def __init__(self) -> None:
        super().__init__(dropout=0.0)

    def explicit(self, q: Tensor, k: Tensor, keep: Tensor | None, *, causal: bool) -> Tensor:
        self._check(q, k, keep, causal)
        scores = phi(q) @ phi(k).mT  # (B, A, T, S)
        mask = visible(q, k, keep, causal=causal)
        if mask is not None:
            scores = scores.masked_fill(~mask, 0)
        total = scores.sum(-1, keepdim=True)
        return scores / total.masked_fill(total == 0, 1)

    def fast(self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, *, causal: bool) -> Tensor:
        self._check(q, k, keep, causal)
        features = phi(k)
        if keep is not None:
            features = features.masked_fill(~keep[:, None, :, None], 0)
        if causal:
            y, _ = _prefix_sums(phi(q), features, _with_ones(v), None)
        else:
            y = phi(q) @ (features.mT @ _with_ones(v))  # (B, A, T, d + 1)
        return _divide(y)

    def step(self, q: Tensor, k: Tensor, v: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        """The tap is not passed: the cache holds sums, not the keys that weights belong to."""
        assert cache is None or isinstance(cache, LinearCache)
        start, read = (None, 0) if cache is None else cache
        y, sums = _prefix_sums(phi(q), phi(k), _with_ones(v), start)
        return _divide(y), LinearCache(sums, read + k.shape[2])

    @staticmethod
    def _check(q: Tensor, k: Tensor, keep: Tensor | None, causal: bool) -> None:
        check_keep(keep, (k.shape[0], k.shape[2]))
        if causal and q.shape[2] != k.shape[2]:
            raise ValueError(
                "causal linear attention needs as many queries as keys; "
                f"got {q.shape[2]} and {k.shape[2]}"
            )


def _with_ones(v: Tensor) -> Tensor:
    return torch.cat([v, v.new_ones(*v.shape[:-1], 1)], -1)


def _divide(y: Tensor) -> Tensor:
    """φ(q) [S, z] (..., d + 1) over its last column -> (..., d); zeros where nothing was seen."""
    above, below = y[..., :-1], y[..., -1:]
    return above / below.masked_fill(below == 0, 1)


def _prefix_sums(q: Tensor, k: Tensor, v: Tensor, start: Tensor | None) -> tuple[Tensor, Tensor]:
    """q_iᵀ (start + Σ_{j ≤ i} k_j v_jᵀ) for each i, and start + Σ_j k_j v_jᵀ over all j.

    In chunks of C steps: within a chunk the masked C x C products, from the chunks before it their
    sums. So no (T, d, d) tensor of every prefix is made.
    """
    T = q.shape[2]
    C = CHUNK if T > 1 else 1
    N = -(-T // C)
    if torch.compiler.is_compiling():
        N += 1  # one chunk of nothing: an exported model then has no case N = 1, and takes any T
    q, k, v = (F.pad(x, (0, 0, 0, N * C - T)).unflatten(2, (N, C)) for x in (q, k, v))
    each = k.mT @ v  # (B, A, N, d, d + 1)
    first = torch.zeros_like(each[:, :, 0]) if start is None else start
    sums = torch.cat([first[:, :, None], each], 2).cumsum(2)
    y = (q @ k.mT).tril() @ v + q @ sums[:, :, :-1]  # (B, A, N, C, d + 1)
    return F.pad(y.flatten(2, 3), (0, 0, 0, T - N * C)), sums[:, :, -1]
