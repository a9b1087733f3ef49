"""Masks, made here and nowhere else: boolean, True = keep.

In: the lengths (B,) of padded sequences. Out: masks (B, T), and operations that respect them so
that padding changes neither values nor gradients; a row without anything to keep gives zeros.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def keep_mask(lengths: Tensor, steps: int) -> Tensor:
    """(B,) lengths -> (B, T), True where t < length."""
    return torch.arange(steps, device=lengths.device) < lengths[:, None]


def causal_mask(steps: int, *, device: torch.device | None = None) -> Tensor:
    """(T, T), True where the column's time is not after the row's."""
    return torch.ones(steps, steps, dtype=torch.bool, device=device).tril()


def visible(
    q: Tensor, k: Tensor, keep: Tensor | None, *, causal: bool, window: int | None = None
) -> Tensor | None:
    """Which keys each query sees, (B or 1, 1, T or 1, S); None: all of them."""
    T, S = q.shape[2], k.shape[2]
    mask = keep
    if keep is not None:
        mask = keep[:, None, None] if keep.dim() == 2 else keep[:, None]  # (B, 1, 1 or T, S)
    if window is None and (not causal or T == 1):
        return mask
    age = torch.arange(S - T, S, device=q.device)[:, None] - torch.arange(S, device=q.device)
    near = age >= 0 if causal else torch.ones_like(age, dtype=torch.bool)  # (T, S)
    if window is not None:
        near = near & (age.abs() <= window)
    return near[None, None] if mask is None else mask & near


def zero_padding(x: Tensor, keep: Tensor) -> Tensor:
    """x (B, T, ...) with zeros where `keep` (B, T) is False, whatever stood there (NaN too)."""
    return x.masked_fill(~keep.view(*keep.shape, *[1] * (x.dim() - 2)), 0)


def masked_softmax(scores: Tensor, keep: Tensor, dim: int = -1) -> Tensor:
    """Softmax over the kept elements of `dim`; the others, and rows with nothing kept, give 0."""
    # The lowest finite number rather than -inf: a fully masked row then has no inf - inf = NaN.
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores.masked_fill(~keep, lowest), dim)
    return weights.masked_fill(~keep, 0)


def reverse(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x (B, T, ...) with each sequence read last to first within its length; padding stays."""
    if lengths is None:
        return x.flip(1)
    steps = torch.arange(x.shape[1], device=x.device)
    source = torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)  # (B, T)
    rows = source + torch.arange(x.shape[0], device=x.device)[:, None] * x.shape[1]
    return _Permute.apply(x, rows.flatten()) if x.is_floating_point() else _permute(x, rows)


def _permute(x: Tensor, rows: Tensor) -> Tensor:
    return x.flatten(0, 1).index_select(0, rows.flatten()).view_as(x)


class _Permute(torch.autograd.Function):
    """Rearranges time steps by an involution: its gradient is itself, a copy of rows rather than
    the slow scattered addition that autograd would make of an index."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        return _permute(x, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return _Permute.apply(grad, rows), None
