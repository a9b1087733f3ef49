"""The moving average of the weights."""

import pytest
import torch
from torch import nn

from unspool.training.average import WeightAverage


def test_follows_its_formula_and_swaps_in_and_out() -> None:
    model = nn.Linear(2, 1)
    average = WeightAverage(model, 0.9)
    expected = model.weight.detach().clone()
    for step in range(30):
        with torch.no_grad():
            model.weight += 0.1 * (step + 1)
        average.update(step)
        d = min(0.9, (1 + step) / (10 + step))
        expected = d * expected + (1 - d) * model.weight.detach()
    torch.testing.assert_close(average.weights["weight"], expected)
    last = model.weight.detach().clone()
    with average.applied():
        torch.testing.assert_close(model.weight.detach(), expected)
    torch.testing.assert_close(model.weight.detach(), last)


def test_comes_back_when_the_block_fails() -> None:
    model = nn.Linear(2, 1)
    average = WeightAverage(model, 0.9)
    with torch.no_grad():
        model.weight += 1
    last = model.weight.detach().clone()
    with pytest.raises(ZeroDivisionError), average.applied():
        1 / 0  # noqa: B018
    assert torch.equal(model.weight, last)
