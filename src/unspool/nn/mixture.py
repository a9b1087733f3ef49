"""Next move of a pen: a mixture density output (Bishop 1994) as in Graves (2013).

In: the vectors of a network (..., H). Out: a `PenMixture`, of the next move (x, y) as M Gaussians
with correlation, and of whether the pen is lifted after it, and if so, whether that is the end.

    p(x, y) = Σ_m π_m N(x, y; μ_m, σ_m, ρ_m)
    π = softmax(π̂), σ = ε + e^σ̂ (smoothly), ρ = tanh(a)

With z = ((x - μ_x) / σ_x, (y - μ_y) / σ_y), ρ / √(1 - ρ²) = sinh a and 1 / √(1 - ρ²) = cosh a:

    log N = -½ (z_x² + (z_y cosh a - z_x sinh a)²) - log σ_x - log σ_y + log cosh a - log 2π

which never divides by 1 - ρ².
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn import init

LEAST = 0.01  # ε, of a standardised move: a narrower Gaussian makes the likelihood unbounded
MOST = 12.0  # of σ̂ and π̂
STEEPEST = 3.0  # |a|: correlations up to 0.995


class Move(NamedTuple):
    """Move of the pen.

    xy    (..., 2) in standard deviations
    up    (...) 1 where the pen is lifted
    end   (...) 1 where nothing follows; counts where the pen is lifted
    """

    xy: Tensor
    up: Tensor
    end: Tensor


class PenMixture(NamedTuple):
    """The distribution of a move.

    weight   (..., M) logits of the Gaussians, π̂
    mean     (..., M, 2)
    log_std  (..., M, 2)
    skew     (..., M) a, the inverse hyperbolic tangent of the correlation
    up       (...) logit of the pen being lifted
    end      (...) logit of the end, once it is
    """

    weight: Tensor
    mean: Tensor
    log_std: Tensor
    skew: Tensor
    up: Tensor
    end: Tensor

    def move_nll(self, xy: Tensor) -> Tensor:
        """-log p(x, y): (..., 2) -> (...)"""
        z = (xy.unsqueeze(-2) - self.mean) * (-self.log_std).exp()  # (..., M, 2)
        zx, zy = z.unbind(-1)
        a = self.skew
        across = zy * a.cosh() - zx * a.sinh()
        log_cosh = a + F.softplus(-2 * a) - math.log(2)
        log_density = log_cosh - 0.5 * (zx**2 + across**2) - self.log_std.sum(-1)
        mixed = torch.logsumexp(self.weight.log_softmax(-1) + log_density, -1)
        return math.log(2 * math.pi) - mixed

    def pen_nll(self, up: Tensor, end: Tensor) -> Tensor:
        """-log p(up) - log p(end | up)"""
        lifted = F.binary_cross_entropy_with_logits(self.up, up, reduction="none")
        ended = F.binary_cross_entropy_with_logits(self.end, end, reduction="none")
        return lifted + up * ended

    def nll(self, move: Move) -> Tensor:
        return self.move_nll(move.xy) + self.pen_nll(move.up, move.end)

    def sample(self, u: Tensor, *, temperature: float = 1.0, bias: float = 0.0) -> Move:
        """A move by five numbers u (..., 5), uniform in (0, 1).

        bias          Graves (2013), 5.4: π̂ (1 + b), σ e^-b, and logits of the pen (1 + b): the
                      larger, the neater
        temperature   Ha & Eck (2018): logits / τ, σ² τ; 0: the most probable Gaussian's mean
        """
        if temperature == 0:
            best = self.weight.argmax(-1)
            xy = pick(self.mean, best)
            return Move(xy, (self.up > 0).to(xy), (self.end > 0).to(xy))
        sharp = (1 + bias) / temperature
        weight = (self.weight * sharp).softmax(-1)
        chosen = (weight.cumsum(-1) < u[..., :1]).sum(-1).clamp(max=weight.shape[-1] - 1)
        std = pick(self.log_std, chosen).exp() * math.exp(-bias) * math.sqrt(temperature)
        a = pick(self.skew.unsqueeze(-1), chosen)[..., 0]
        radius, angle = (-2 * u[..., 1].log()).sqrt(), 2 * math.pi * u[..., 2]  # Box & Muller 1958
        zx, free = radius * angle.cos(), radius * angle.sin()
        z = torch.stack([zx, zx * a.tanh() + free / a.cosh()], -1)
        up = u[..., 3] < (self.up * sharp).sigmoid()
        end = u[..., 4] < (self.end * sharp).sigmoid()
        xy = pick(self.mean, chosen) + std * z
        return Move(xy, up.to(xy), end.to(xy))


def pick(values: Tensor, chosen: Tensor) -> Tensor:
    """(..., M, K), (...) -> (..., K)"""
    index = chosen[..., None, None].expand(*chosen.shape, 1, values.shape[-1])
    return values.gather(-2, index).squeeze(-2)


class PenOutput(nn.Module):
    """A linear layer to the 6 M + 2 numbers of a mixture of M Gaussians, in float32: a mean must be
    as exact as the narrowest Gaussian is narrow."""

    def __init__(self, inputs: int, components: int) -> None:
        super().__init__()
        self.components = components
        self.linear = nn.Linear(inputs, 6 * components + 2)
        init.linear_(self.linear)
        with torch.no_grad():  # Gaussians that differ from the start
            self.linear.bias[components : 3 * components].normal_(0, 0.5)

    def forward(self, x: Tensor) -> PenMixture:
        device = x.device.type if x.device.type in ("cuda", "mps") else "cpu"
        with torch.autocast(device, enabled=False):
            parameters = self.linear(x.to(self.linear.weight.dtype))
        return mixture_of(parameters, self.components)

    def describe(self) -> str:
        return f"mixture of {self.components} Gaussians and the pen"


def mixture_of(numbers: Tensor, components: int) -> PenMixture:
    """(..., 6 M + 2): π̂, μ_x, μ_y, σ̂_x, σ̂_y, a, pen up, end"""
    M = components
    weight, mean, std, skew, up, end = numbers.split([M, 2 * M, 2 * M, M, 1, 1], -1)
    low = math.log(LEAST)
    log_std = low + F.softplus(std.clamp(max=MOST) - low)
    return PenMixture(
        weight.clamp(-MOST, MOST),
        mean.unflatten(-1, (2, M)).transpose(-1, -2),
        log_std.unflatten(-1, (2, M)).transpose(-1, -2),
        STEEPEST * torch.tanh(skew / STEEPEST),
        up[..., 0],
        end[..., 0],
    )
