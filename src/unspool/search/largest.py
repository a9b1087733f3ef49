"""The k largest scores of each row, sooner than by looking at all of them alike.

In: scores (R, V). Out: the k largest (R, k) of each row, falling, and where they stand.
"""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 64  # scores whose largest one is compared first
LARGE = 1024  # scores of a row from which on blocks are worth it


def largest(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """What `scores.topk(k)` gives. The k largest are in the k blocks with the largest maxima, and a
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
