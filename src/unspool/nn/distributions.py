"""Predictive distributions of a future number: a point, quantiles, or a parametric distribution.

An `Uncertain` turns the outputs of a network, P numbers for each value to predict, into a loss and
into what is reported: a single best value, quantiles, samples. All shapes are (..., P) -> (...).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from statistics import NormalDist

import torch
from torch import Tensor
from torch.nn import functional as F

LEVELS = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
LEAST_SCALE = 1e-4  # of a standardised value: a narrower distribution makes the loss unbounded
LEAST_DEGREES = 2.0  # of freedom: the variance is finite above


class Uncertain(ABC):
    """P numbers that stand for a value y."""

    size: int  # P

    @abstractmethod
    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """(..., P), (...) -> (...): what training makes small, for each value"""

    @abstractmethod
    def center(self, outputs: Tensor) -> Tensor:
        """The best single value."""

    def quantile(self, outputs: Tensor, level: float) -> Tensor | None:
        """The value that y stays below with probability `level`; None where it is not known."""
        return None

    samples: bool = False  # whether values can be sampled

    def sample(self, outputs: Tensor, u: Tensor) -> Tensor:
        """The value that two numbers u (..., 2), uniform in (0, 1), stand for."""
        raise NotImplementedError


class Point(Uncertain):
    """One value: squared error learns the mean, absolute error the median."""

    size = 1

    def __init__(self, error: str = "squared") -> None:
        self.error = F.mse_loss if error == "squared" else F.l1_loss

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        return self.error(outputs[..., 0], y, reduction="none")

    def center(self, outputs: Tensor) -> Tensor:
        return outputs[..., 0]


class Quantiles(Uncertain):
    """Values of some levels q, learnt by the pinball loss max(q (y - ŷ), (q - 1)(y - ŷ)).

    Where they cross they are sorted, which never makes them worse (Chernozhukov et al. 2010).
    """

    def __init__(self, levels: Sequence[float] = LEVELS) -> None:
        self.levels = tuple(levels)
        self.size = len(self.levels)

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        q = outputs.new_tensor(self.levels)
        wrong = y.unsqueeze(-1) - outputs
        return torch.maximum(q * wrong, (q - 1) * wrong).mean(-1)

    def center(self, outputs: Tensor) -> Tensor:
        median = self.quantile(outputs, 0.5)
        assert median is not None
        return median

    def quantile(self, outputs: Tensor, level: float) -> Tensor | None:
        """Between two levels on the line between their values; none beyond the outermost."""
        values = outputs.sort(-1).values
        if not self.levels[0] <= level <= self.levels[-1]:
            return None
        above = next(i for i, known in enumerate(self.levels) if known >= level)
        if self.levels[above] == level:
            return values[..., above]
        low, high = self.levels[above - 1], self.levels[above]
        return torch.lerp(values[..., above - 1], values[..., above], (level - low) / (high - low))


class Gaussian(Uncertain):
    """Mean μ and standard deviation σ = softplus(s) + ε, learnt by -log N(y; μ, σ²)."""

    size, samples = 2, True

    def split(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        mean, s = outputs.unbind(-1)
        return mean, F.softplus(s) + LEAST_SCALE

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        mean, std = self.split(outputs)
        return 0.5 * ((y - mean) / std) ** 2 + std.log() + 0.5 * math.log(2 * math.pi)

    def center(self, outputs: Tensor) -> Tensor:
        return outputs[..., 0]

    def quantile(self, outputs: Tensor, level: float) -> Tensor | None:
        mean, std = self.split(outputs)
        return mean + std * NormalDist().inv_cdf(level)

    def sample(self, outputs: Tensor, u: Tensor) -> Tensor:
        """Box and Muller (1958): z = √(-2 ln u₁) cos 2πu₂"""
        mean, std = self.split(outputs)
        return mean + std * (-2 * u[..., 0].log()).sqrt() * (2 * math.pi * u[..., 1]).cos()


class StudentT(Uncertain):
    """Location μ, scale σ and degrees of freedom ν = 2 + softplus(n): heavier tails than a
    Gaussian, so single outliers pull less."""

    size, samples = 3, True

    def split(self, outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, s, n = outputs.unbind(-1)
        return mean, F.softplus(s) + LEAST_SCALE, F.softplus(n) + LEAST_DEGREES

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        mean, scale, nu = self.split(outputs)
        z = (y - mean) / scale
        constant = torch.lgamma(nu / 2) - torch.lgamma((nu + 1) / 2) + 0.5 * (nu * math.pi).log()
        return constant + scale.log() + (nu + 1) / 2 * torch.log1p(z**2 / nu)

    def center(self, outputs: Tensor) -> Tensor:
        return outputs[..., 0]

    def quantile(self, outputs: Tensor, level: float) -> Tensor | None:
        from scipy.stats import t  # torch has no quantile function of it

        mean, scale, nu = self.split(outputs)
        z = torch.as_tensor(t.ppf(level, nu.detach().double().cpu().numpy()))
        return mean + scale * z.to(mean)

    def sample(self, outputs: Tensor, u: Tensor) -> Tensor:
        """Bailey (1994): z = √(ν (u₁^(-2/ν) - 1)) cos 2πu₂"""
        mean, scale, nu = self.split(outputs)
        radius = (nu * torch.expm1(-2 / nu * u[..., 0].log())).sqrt()
        return mean + scale * radius * (2 * math.pi * u[..., 1]).cos()


UNCERTAIN: dict[str, type[Uncertain]] = {
    "point": Point,
    "quantiles": Quantiles,
    "gaussian": Gaussian,
    "student": StudentT,
}
