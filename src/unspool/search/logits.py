"""From logits to a distribution to sample from: temperature, top-k, top-p."""

from __future__ import annotations

import torch
from torch import Tensor


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """All but the k largest logits of each row become -inf; ties with the k-th are kept."""
    if k <= 0 or k >= logits.shape[-1]:
        return logits
    least = logits.topk(k, -1).values[..., -1:]
    return logits.masked_fill(logits < least, -torch.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """The nucleus (Holtzman et al. 2020): the fewest tokens whose probability reaches p."""
    if p >= 1:
        return logits
    ordered, indices = logits.sort(-1, descending=True)
    probabilities = ordered.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities  # the mass of all more probable tokens
    ordered = ordered.masked_fill(before >= p, -torch.inf)
    return torch.empty_like(logits).scatter_(-1, indices, ordered)


def sample(
    logits: Tensor,
    *,
    temperature: float,
    top_k: int,
    top_p: float,
    generator: torch.Generator | None,
) -> Tensor:
    """A token a row, (B, V) -> (B,), from p^(1 / temperature): of the top_k (0: all) most probable,
    and of these the fewest whose probability reaches top_p."""
    # The largest becomes 0, which no temperature turns into an infinity.
    logits = (logits - logits.amax(-1, keepdim=True)).double() / temperature
    p = keep_top_p(keep_top_k(logits, top_k), top_p).softmax(-1)
    return torch.multinomial(p, 1, generator=generator)[:, 0]
