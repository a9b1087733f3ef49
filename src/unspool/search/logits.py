"""From logits to a distribution one may draw from: temperature, top-k, top-p."""

from __future__ import annotations

import torch
from torch import Tensor


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """All but the k largest logits of each row become -inf; ties at the k-th place are kept."""
    if k <= 0 or k >= logits.shape[-1]:
        return logits
    least = logits.topk(k, -1).values[..., -1:]
    return logits.masked_fill(logits < least, -torch.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """The nucleus (Holtzman et al. 2020): the fewest tokens whose probability reaches p."""
    if p >= 1:
        return logits
    ordered, places = logits.sort(-1, descending=True)
    probabilities = ordered.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities  # the mass of all likelier tokens
    ordered = ordered.masked_fill(before >= p, -torch.inf)
    return torch.empty_like(logits).scatter_(-1, places, ordered)
