"""Masks and what respects them."""

from __future__ import annotations

import pytest
import torch

from unspool.nn.masks import causal_mask, keep_mask, masked_softmax, reverse, zero_padding


def test_keep_mask_is_true_on_real_steps() -> None:
    mask = keep_mask(torch.tensor([2, 0, 3]), 3)
    assert mask.tolist() == [[True, True, False], [False] * 3, [True] * 3]


def test_causal_mask_sees_no_future() -> None:
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]


def test_softmax_over_kept_places_only() -> None:
    scores = torch.tensor([[1.0, 2.0, 50.0], [0.0, 0.0, 0.0]])
    keep = keep_mask(torch.tensor([2, 3]), 3)
    weights = masked_softmax(scores, keep)
    torch.testing.assert_close(weights[0, :2], torch.softmax(scores[0, :2], 0))
    assert weights[0, 2] == 0
    torch.testing.assert_close(weights.sum(-1), torch.ones(2))


@pytest.mark.parametrize("dtype", [torch.float, torch.double, torch.bfloat16])
def test_a_fully_masked_row_gives_zeros_in_values_and_gradients(dtype: torch.dtype) -> None:
    scores = torch.randn(2, 3, dtype=dtype, requires_grad=True)
    weights = masked_softmax(scores, keep_mask(torch.tensor([0, 2]), 3))
    weights.square().sum().backward()
    assert not weights[0].any()
    assert scores.grad is not None
    assert not scores.grad[0].any()
    assert scores.grad.isfinite().all()
    assert scores.grad[1].any()


def test_zero_padding_clears_whatever_stands_there() -> None:
    x = torch.full((2, 3, 4), float("nan"))
    x[0, :1] = 1
    assert zero_padding(x, keep_mask(torch.tensor([1, 0]), 3)).sum() == 4
    assert zero_padding(torch.full((1, 2), -100), keep_mask(torch.tensor([1]), 2)).tolist() == [
        [-100, 0]
    ]


def test_reverse_turns_each_sequence_within_its_length() -> None:
    x = torch.arange(8).view(2, 4)
    assert reverse(x, None).tolist() == [[3, 2, 1, 0], [7, 6, 5, 4]]
    assert reverse(x, torch.tensor([3, 1])).tolist() == [[2, 1, 0, 3], [4, 5, 6, 7]]


def test_reverse_is_its_own_inverse_and_differentiable_twice() -> None:
    lengths = torch.tensor([3, 1, 4])
    x = torch.randn(3, 4, 2, dtype=torch.double, requires_grad=True)
    assert torch.equal(reverse(reverse(x, lengths), lengths), x)
    assert torch.autograd.gradcheck(lambda x: reverse(x, lengths), [x])
    assert torch.autograd.gradgradcheck(lambda x: reverse(x, lengths).pow(3), [x])
