"""The mixture density output against torch.distributions, at its edges, and its samples."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import (
    Bernoulli,
    Categorical,
    MixtureSameFamily,
    MultivariateNormal,
)

from unspool.nn.mixture import LEAST, Move, PenMixture, PenOutput, mixture_of

M = 5


def mixture(shape=(4, 7), dtype=torch.float64, spread=1.0, seed=0) -> PenMixture:
    torch.manual_seed(seed)
    return mixture_of(spread * torch.randn(*shape, 6 * M + 2, dtype=dtype), M)


def theirs(pen: PenMixture) -> MixtureSameFamily:
    std, rho = pen.log_std.exp(), pen.skew.tanh()
    off = rho * std.prod(-1)
    covariance = torch.diag_embed(std**2)
    covariance[..., 0, 1] = covariance[..., 1, 0] = off
    return MixtureSameFamily(
        Categorical(logits=pen.weight), MultivariateNormal(pen.mean, covariance)
    )


def test_the_likelihood_is_that_of_torch() -> None:
    pen = mixture()
    xy = torch.randn(4, 7, 2, dtype=torch.float64)
    torch.testing.assert_close(pen.move_nll(xy), -theirs(pen).log_prob(xy))
    up = (torch.rand(4, 7) < 0.5).double()
    end = up * (torch.rand(4, 7) < 0.5)
    wanted = -Bernoulli(logits=pen.up).log_prob(up) - up * Bernoulli(logits=pen.end).log_prob(end)
    torch.testing.assert_close(pen.pen_nll(up, end), wanted)
    torch.testing.assert_close(pen.nll(Move(xy, up, end)), pen.move_nll(xy) + wanted)


def test_float32_is_as_good_at_the_edges() -> None:
    """Correlations near 1, the narrowest and very wide Gaussians, moves far away."""
    for spread in (1.0, 30.0, 1e4):
        exact = mixture(spread=spread)
        single = PenMixture(*(x.float() for x in exact))
        for far in (1.0, 100.0):
            xy = far * torch.randn(4, 7, 2, dtype=torch.float64)
            found = single.move_nll(xy.float())
            assert found.isfinite().all()
            torch.testing.assert_close(found.double(), exact.move_nll(xy), rtol=1e-3, atol=1e-2)


def test_no_gaussian_is_narrower_than_the_least() -> None:
    pen = mixture_of(torch.full((1, 6 * M + 2), -1e6), M)
    assert float(pen.log_std.min()) == pytest.approx(math.log(LEAST))
    assert float(pen.skew.abs().max()) <= 3
    assert mixture_of(torch.full((1, 6 * M + 2), 1e6), M).log_std.isfinite().all()


def test_gradients() -> None:
    torch.manual_seed(1)
    numbers = torch.randn(3, 6 * M + 2, dtype=torch.float64, requires_grad=True)
    xy = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    up, end = torch.tensor([1.0, 0, 1]).double(), torch.tensor([1.0, 0, 0]).double()

    def loss(numbers, xy):
        return mixture_of(numbers, M).nll(Move(xy, up, end))

    assert torch.autograd.gradcheck(loss, (numbers, xy))


def test_samples_have_the_moments_of_the_mixture() -> None:
    torch.manual_seed(2)
    one = mixture((1,), dtype=torch.float32, seed=4)
    pen = PenMixture(*(x.expand(200_000, *x.shape[1:]) for x in one))
    move = pen.sample(torch.rand(200_000, 5).clamp(1e-7, 1 - 1e-7))
    wanted = theirs(one)
    torch.testing.assert_close(move.xy.mean(0), wanted.mean[0], rtol=0.05, atol=0.02)
    torch.testing.assert_close(move.xy.std(0), wanted.stddev[0], rtol=0.05, atol=0.02)
    assert float(move.up.mean()) == pytest.approx(float(one.up.sigmoid()), abs=0.01)
    assert float(move.end.mean()) == pytest.approx(float(one.end.sigmoid()), abs=0.01)
    theirs_xy = wanted.sample((200_000,))[:, 0]
    torch.testing.assert_close(torch.cov(move.xy.T), torch.cov(theirs_xy.T), rtol=0.1, atol=0.05)


def test_bias_and_temperature_make_it_safer() -> None:
    one = mixture((1,), dtype=torch.float32, seed=4)
    pen = PenMixture(*(x.expand(20_000, *x.shape[1:]) for x in one))
    u = torch.rand(20_000, 5).clamp(1e-7, 1 - 1e-7)
    spread = [
        float(pen.sample(u, bias=bias, temperature=t).xy.std(0).sum())
        for bias, t in ((0, 1.5), (0, 1), (1, 1), (5, 1))
    ]
    assert spread == sorted(spread, reverse=True)
    still = pen.sample(u, temperature=0)
    assert float(still.xy.std(0).max()) < 1e-6
    torch.testing.assert_close(still.xy[0], one.mean[0, one.weight[0].argmax()])


def test_the_layer_computes_in_float32_under_autocast() -> None:
    layer = PenOutput(8, M)
    x = torch.randn(2, 3, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(x)
    assert found.mean.dtype == torch.float32
    torch.testing.assert_close(found.mean, layer(x).mean)
