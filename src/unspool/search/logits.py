"""Logits: the k largest of each row, and sampling with temperature, top-k and top-p."""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 64  # scores whose largest one is compared first
LARGE = 1024  # scores of a row from which on blocks are worth it


def largest(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`scores.topk(k)`, faster: the k largest are in the k blocks with the largest maxima, and a
    maximum is found much sooner than an order."""
    rows, size = scores.shape
    whole = size - size % BLOCK
    if size < LARGE or k * BLOCK >= whole:
        values, at = scores.topk(min(k, size))
        return values, at
    maxima = scores[:, :whole].unflatten(1, (-1, BLOCK)).amax(-1)  # (R, V / BLOCK)
    inside = torch.arange(BLOCK, device=scores.device)
    # In the order of the row, as of equal scores any may be taken, but always the same one.
    blocks = maxima.topk(k).indices.sort(-1).values
    indices = (blocks[..., None] * BLOCK + inside).flatten(1)  # (R, k·BLOCK)
    rest = torch.arange(whole, size, device=scores.device).expand(rows, -1)
    indices = torch.cat([indices, rest], 1)
    values, at = scores.gather(1, indices).topk(k)
    return values, indices.gather(1, at)


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
