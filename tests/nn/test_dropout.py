"""Dropout: how much, where, and with which gradient."""

from __future__ import annotations

import pytest
import torch

from unspool.nn.dropout import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.93])
def test_share_and_mean(rate: float) -> None:
    torch.manual_seed(1)
    y = Dropout(rate)(torch.ones(400, 1001))
    share = (y == 0).double().mean()
    assert abs(share - rate) < 0.003
    kept = y[y != 0]
    assert torch.equal(kept, kept[0].expand_as(kept))
    assert kept[0].item() == pytest.approx(1 / (1 - rate), rel=2e-4)
    zeros = (y == 0).double()
    for a, b in ((zeros[:, 1:], zeros[:, :-1]), (zeros[1:], zeros[:-1])):  # neighbours alike
        assert abs((a * b).mean() - share**2) < 0.005


def test_gradient_falls_where_the_value_did() -> None:
    x = torch.randn(7, 13, requires_grad=True)
    y = Dropout(0.4)(x)
    y.backward(torch.full_like(y, 3.0))
    assert torch.equal(x.grad == 0, y == 0)
    torch.testing.assert_close(x.grad[y != 0], 3 * (y / x)[y != 0])


def test_seed_decides_and_evaluation_is_still() -> None:
    drop, x = Dropout(0.5), torch.randn(50)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(drop(x))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert drop.eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_other_types_and_shapes() -> None:
    for x in (torch.ones(3).bfloat16(), torch.ones(2, 3).double(), torch.ones(0, 4)):
        y = Dropout(0.5)(x)
        assert y.dtype == x.dtype
        assert y.shape == x.shape
    x = torch.ones(4, 6).T
    assert Dropout(0.5)(x).shape == (6, 4)
    with pytest.raises(ValueError, match="at least 0 and below 1; got 1"):
        Dropout(1.0)
