"""The position of a vector in its sequence, which attention alone does not see.

In: vectors (B, T, E) of the time steps `offset`, ..., `offset` + T - 1. Out: the same, with their
positions in them. `Rotary` works on queries and keys (..., T, d) instead. `offset` is for decoding
step by step.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from unspool.errors import choose
from unspool.nn.taps import overridable

Positions = Literal["sinusoidal", "learned", "rotary", "none"]
POSITIONS: tuple[Positions, ...] = ("sinusoidal", "learned", "rotary", "none")

BASE = 10000.0


@overridable
def angles(steps: int, width: int, *, offset: int = 0, like: Tensor) -> Tensor:
    """pos / 10000^(2i / d) for each position and i = 0, ..., ⌈d/2⌉ - 1: (T, ⌈d/2⌉) in float64.

    In single precision the angle of position 100,000 would be wrong in its third digit.
    """
    pos = torch.arange(offset, offset + steps, device=like.device, dtype=torch.double)
    twice_i = torch.arange(0, width, 2, device=like.device, dtype=torch.double)
    return pos[:, None] * BASE ** (-twice_i / width)


class Sinusoidal(nn.Module):
    """Vaswani et al. (2017), section 3.5: x + PE, for any length and without parameters.

        PE(pos, 2i)     = sin(pos / 10000^(2i/d))
        PE(pos, 2i + 1) = cos(pos / 10000^(2i/d))

    With an odd width d the last column is a sine. PE is computed in each call, never stored.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def encoding(self, steps: int, *, offset: int = 0, like: Tensor) -> Tensor:
        """PE (T, E) of the type and on the device of `like`."""
        angle = angles(steps, self.width, offset=offset, like=like)
        PE = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)  # (T, E or E + 1)
        return PE[:, : self.width].to(like.dtype)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return x + self.encoding(x.shape[1], offset=offset, like=x)  # (B, T, E)

    def describe(self) -> str:
        return "sinusoidal positions"

    def extra_repr(self) -> str:
        return f"{self.width}"


class Learned(nn.Module):
    """x_t + P_t with a learned vector P_t for each of `length` positions (Gehring et al. 2017).

    Parameters: length · width. `std` is that of the Gaussian that the vectors start from.
    """

    def __init__(self, length: int, width: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.length = length
        self.width = width
        self.P = nn.Parameter(torch.empty(length, width))
        nn.init.normal_(self.P, std=std)

    @overridable
    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        end = offset + x.shape[1]
        if end > self.length:
            raise ValueError(
                f"positions were learned for {self.length} time steps; got {end}. "
                "Cut the sequence, or build the model with a larger length or sinusoidal positions"
            )
        return x + self.P[offset:end]  # (B, T, E)

    def describe(self) -> str:
        return f"learned positions, at most {self.length}"

    def extra_repr(self) -> str:
        return f"{self.length}, {self.width}"


class Rotary(nn.Module):
    """Su et al. (2021), section 3.2.2: turns each pair of elements by an angle that grows with t.

        θ_i = 10000^(-2i/d)
        x'_{2i}     = x_{2i} cos(t θ_i) - x_{2i+1} sin(t θ_i)
        x'_{2i + 1} = x_{2i} sin(t θ_i) + x_{2i+1} cos(t θ_i)

    Applied to queries and keys, it makes their products depend on their distance alone.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"rotary positions turn pairs: the width must be even; got {width}")
        self.width = width

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """x (..., T, d) -> (..., T, d)"""
        angle = angles(x.shape[-2], self.width, offset=offset, like=x)  # (T, d/2)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        if torch.is_inference_mode_enabled() and isinstance(x, Tensor):  # faster; no gradient
            wide = torch.promote_types(x.dtype, torch.float32)  # complex numbers have no bfloat16
            pairs = torch.view_as_complex(x.to(wide).contiguous().unflatten(-1, (-1, 2)))
            turned = pairs * torch.complex(cos.to(wide), sin.to(wide))
            return torch.view_as_real(turned).flatten(-2).to(x.dtype)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    def extra_repr(self) -> str:
        return f"{self.width}"


def added_positions(
    name: Positions, width: int, *, length: int | None = None
) -> Sinusoidal | Learned | None:
    """The layer that adds positions to its input; None for those that work elsewhere or nowhere."""
    choose("positions", name, POSITIONS)
    if name == "learned":
        if length is None:
            raise ValueError("learned positions need a length: the longest sequence to be read")
        return Learned(length, width)
    return Sinusoidal(width) if name == "sinusoidal" else None
