"""Linear recurrences: both forms, their gradients, and a plain loop."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from unspool.nn import linear_scan
from unspool.nn.masks import keep_mask

METHODS: list[Any] = ["loop", "doubling"]


def problem(steps: int, dtype: torch.dtype = torch.double) -> list[Tensor]:
    torch.manual_seed(1)
    a = torch.rand(3, steps, 4, dtype=dtype)
    b, h0 = torch.randn(3, steps, 4, dtype=dtype), torch.randn(3, 4, dtype=dtype)
    return [tensor.requires_grad_() for tensor in (a, b, h0)]


def plain(a: Tensor, b: Tensor, h: Tensor) -> Tensor:
    states = []
    for t in range(a.shape[1]):
        h = a[:, t] * h + b[:, t]
        states.append(h)
    return torch.stack(states, 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 33])
def test_values_and_gradients_are_those_of_a_plain_loop(method: Any, steps: int) -> None:
    a, b, h0 = problem(steps)
    weight = torch.randn(3, steps, 4, dtype=torch.double)
    ours, theirs = linear_scan(a, b, h0, method=method), plain(a, b, h0)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    found = torch.autograd.grad((ours * weight).sum(), [a, b, h0])
    wanted = torch.autograd.grad((theirs * weight).sum(), [a, b, h0])
    for one, other in zip(found, wanted):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_gradcheck(method: Any) -> None:
    assert torch.autograd.gradcheck(lambda *x: linear_scan(*x, method=method), problem(5))


@pytest.mark.parametrize("method", METHODS)
def test_a_of_one_and_b_of_zero_keep_the_state(method: Any) -> None:
    a, b, h0 = problem(6)
    lengths = torch.tensor([6, 2, 4])
    keep = keep_mask(lengths, 6)[..., None]
    h = linear_scan(torch.where(keep, a, 1), torch.where(keep, b, 0), h0, method=method)
    whole = plain(a, b, h0)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(h[row, -1], whole[row, length - 1])


def test_a_gradient_that_is_not_contiguous() -> None:
    a, b, h0 = problem(4)
    linear_scan(a, b, h0).sum().backward()  # an expanded scalar comes back
    assert a.grad is not None


def test_mixed_types_meet_in_the_widest() -> None:
    a, b, h0 = problem(4, torch.float)
    h = linear_scan(a.bfloat16(), b.bfloat16(), h0)
    assert h.dtype == torch.float
    h.sum().backward()
    assert all(t.grad is not None and t.grad.dtype == torch.float for t in (a, b, h0))


def test_long_products_neither_overflow_nor_become_nan() -> None:
    a = torch.full((1, 2000, 1), 0.01)
    b = torch.ones(1, 2000, 1)
    for method in METHODS:
        h = linear_scan(a, b, torch.zeros(1, 1), method=method)
        torch.testing.assert_close(h[0, -1, 0], torch.tensor(1 / 0.99))
