"""Outputs of forecasts against scipy's and torch's distributions."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional as F

from unspool.nn.distributions import LEVELS, UNCERTAIN, Gaussian, Point, Quantiles, StudentT


@pytest.fixture
def outputs():
    return torch.randn(50, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture
def y():
    return torch.randn(50, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_gaussian_is_scipys(outputs, y) -> None:
    own = outputs[..., :2]
    mean, std = (x.numpy() for x in Gaussian().split(own))
    expected = -stats.norm.logpdf(y.numpy(), mean, std)
    assert np.allclose(Gaussian().loss(own, y).numpy(), expected, atol=1e-10)
    for level in (0.025, 0.5, 0.9):
        found = Gaussian().quantile(own, level)
        assert np.allclose(found.numpy(), stats.norm.ppf(level, mean, std))


def test_student_is_scipys(outputs, y) -> None:
    mean, scale, nu = (x.numpy() for x in StudentT().split(outputs))
    expected = -stats.t.logpdf(y.numpy(), nu, mean, scale)
    assert np.allclose(StudentT().loss(outputs, y).numpy(), expected, atol=1e-10)
    for level in (0.025, 0.5, 0.9):
        found = StudentT().quantile(outputs, level)
        assert np.allclose(found.numpy(), stats.t.ppf(level, nu, mean, scale))


@pytest.mark.parametrize("name", UNCERTAIN)
def test_gradients(name, outputs, y) -> None:
    own = UNCERTAIN[name]()
    x = torch.randn(5, own.size, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: own.loss(x, y[:5, 0]), (x,))


@pytest.mark.parametrize("name", ["gaussian", "student"])
def test_samples_follow_the_distribution(name) -> None:
    own = UNCERTAIN[name]()
    outputs = torch.tensor([0.5, 0.3, 2.0][: own.size], dtype=torch.float64).expand(20_000, -1)
    u = torch.rand(20_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = own.sample(outputs, u).numpy()
    split = [float(x[0]) for x in own.split(outputs)]
    exact = stats.norm(*split) if name == "gaussian" else stats.t(split[2], split[0], split[1])
    assert stats.kstest(found, exact.cdf).pvalue > 0.01


def test_quantiles_learn_quantiles() -> None:
    y = torch.from_numpy(np.random.default_rng(0).exponential(size=4000))
    own, x = Quantiles(), torch.zeros(len(LEVELS), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([x], lr=0.02)
    for _ in range(1500):
        optimizer.zero_grad()
        own.loss(x.expand(len(y), -1), y).mean().backward()
        optimizer.step()
    assert np.allclose(x.detach().numpy(), np.quantile(y.numpy(), LEVELS), atol=0.06)


def test_quantiles_are_sorted_and_lie_between() -> None:
    own = Quantiles((0.1, 0.5, 0.9))
    outputs = torch.tensor([[3.0, 1.0, 2.0]])
    assert own.quantile(outputs, 0.1) == 1
    assert own.center(outputs) == 2
    assert own.quantile(outputs, 0.7) == pytest.approx(2.5)
    assert own.quantile(outputs, 0.95) is None


def test_points(y) -> None:
    x = torch.zeros(50, 4, 1, dtype=torch.float64)
    assert torch.equal(Point().loss(x, y), y**2)
    assert torch.equal(Point("absolute").loss(x, y), y.abs())
    assert Point().quantile(x, 0.5) is None
    assert not Point.samples
    assert F.mse_loss(Point().center(x), y) == Point().loss(x, y).mean()
