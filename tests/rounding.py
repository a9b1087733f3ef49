"""How near two results must be that were computed in different ways: from the arithmetic alone.

Another processor adds in another order and has other instructions, so what one machine gave is no
measure.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

CERTAINTY = 4  # standard deviations


def rounding(
    terms: int,
    *,
    steps: int = 1,
    size: float = 1.0,
    dtype: torch.dtype = torch.float32,
    results: int = 2,
) -> float:
    """The largest difference that rounding explains between two sums of `terms` numbers.

    A computed sum of n products differs from Σ a_i b_i by at most n u Σ |a_i b_i|, where
    u = eps / 2 is the largest relative error of one rounding. That is the worst case, in which all
    roundings go one way. They are as good as independent, and then λ √n u Σ |a_i b_i| is exceeded
    with a probability of 2 exp(-λ² / 2) (Higham & Mary 2019, "A new approach to probabilistic
    rounding error analysis"); λ is `CERTAINTY`. `steps` such sums that read each other, as in time
    or layer above layer, count as one of n · steps terms, as long as they do not amplify what they
    read. `size` stands for Σ |a_i b_i|: the largest value, where that is not below 1. Both
    `results` may be off, or 1 where the other is exact.

    In float32 this is 5e-6 for a hundred terms of size 1: a term that is missing, a wrong index or
    a function that is only nearly right differ by far more.
    """
    u = torch.finfo(dtype).eps / 2
    return results * CERTAINTY * math.sqrt(terms * steps) * u * size


def same(a: Tensor, b: Tensor, terms: int, *, steps: int = 1, results: int = 2) -> None:
    """Within `rounding`, for the size of the largest value of b."""
    size = max(1.0, b.detach().abs().max().item()) if b.numel() else 1.0
    atol = rounding(terms, steps=steps, size=size, dtype=a.dtype, results=results)
    torch.testing.assert_close(a, b, rtol=0, atol=atol)
