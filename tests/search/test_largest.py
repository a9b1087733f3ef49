"""The largest scores by blocks against torch's topk."""

from __future__ import annotations

import pytest
import torch

from unspool.search.logits import BLOCK, LARGE, largest


@pytest.mark.parametrize("size", [3, LARGE - 1, LARGE, LARGE + 1, LARGE + BLOCK - 1, 8000])
@pytest.mark.parametrize("k", [1, 5, 15, 40])
def test_like_topk(size: int, k: int) -> None:
    scores = torch.randn(7, size, generator=torch.Generator().manual_seed(size + k))
    wanted = scores.topk(min(k, size))
    values, places = largest(scores, k)
    assert torch.equal(values, wanted.values)
    assert torch.equal(places, wanted.indices)


def test_equal_and_impossible_scores() -> None:
    scores = torch.full((2, 4 * LARGE), -torch.inf)
    scores[:, [5, 2000, 4000]] = 1.0
    values, places = largest(scores, 4)
    assert values.tolist() == [[1.0, 1.0, 1.0, -torch.inf]] * 2
    assert torch.equal(scores.gather(1, places), values)
    assert all(len(set(row)) == 4 for row in places.tolist())
