"""Masks, made here and nowhere else: boolean, True = keep.

In: the lengths (B,) of padded sequences. Out: masks (B, T), and operations that respect them so
that padding changes neither values nor gradients; a row without anything to keep gives zeros.

Lengths live on the CPU, wherever the model is: how many steps are run and how many rows are packed
is decided by their values. What is made of them is moved to where x is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unspool.nn.taps import overridable


@overridable
def check_lengths(lengths: Tensor | Sequence[int] | None, x: Tensor) -> Tensor | None:
    """None where all T steps of every sequence are real, otherwise the lengths, checked."""
    if lengths is not None and not isinstance(lengths, Tensor):
        lengths = torch.as_tensor(lengths)
    if lengths is None or torch.compiler.is_compiling():  # a graph is made for any lengths
        return lengths
    batch, steps = x.shape[:2]
    if lengths.shape != (batch,):
        raise ValueError(f"lengths must have shape ({batch},); got {tuple(lengths.shape)}")
    if batch == 0:
        return None
    low, high = int(lengths.min()), int(lengths.max())
    if low < 1 or high > steps:
        raise ValueError(f"lengths must lie between 1 and {steps}; got {low} to {high}")
    return None if low == steps else lengths.cpu()


@overridable
def whole_lengths(x: Tensor) -> Tensor:
    """(B,) the lengths of sequences (B, T, ...) whose steps are all real."""
    return torch.full((len(x),), x.shape[1])


@overridable
def keep_mask(lengths: Tensor, steps: int, *, device: torch.device | None = None) -> Tensor:
    """(B,) lengths -> (B, T), True where t < length; on a device, or where the lengths are."""
    keep = torch.arange(steps, device=lengths.device) < lengths[:, None]
    return keep if device is None else keep.to(device)


@overridable
def causal_mask(steps: int, *, device: torch.device | None = None) -> Tensor:
    """(T, T), True where the column's time is not after the row's."""
    return torch.ones(steps, steps, dtype=torch.bool, device=device).tril()


@overridable
def visible(
    q: Tensor, k: Tensor, keep: Tensor | None, *, causal: bool, window: int | None = None
) -> Tensor | None:
    """Keys visible to each query, (B or 1, 1, T or 1, S); None: all of them."""
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


@overridable
def at_last(x: Tensor, lengths: Tensor) -> Tensor:
    """x (B, T, ...) at the last real step of each sequence, (B, ...)."""
    return x[torch.arange(len(x), device=x.device), (lengths - 1).to(x.device)]


def true_rows(mask: Tensor, device: torch.device) -> Tensor:
    """Indices, on a device, of the True entries of a mask (N,) on the CPU."""
    return mask.nonzero().flatten().to(device)


def where_kept(x: Tensor, keep: Tensor) -> Tensor:
    """x (B, T, ...) where `keep` (B, T), a mask on the CPU, is True: (N, ...)."""
    return x.flatten(0, 1).index_select(0, true_rows(keep.flatten(), x.device))


def zero_padding(x: Tensor, keep: Tensor) -> Tensor:
    """x (B, T, ...) with zeros where `keep` (B, T) is False, whatever stood there (NaN too)."""
    return x.masked_fill(~keep.view(*keep.shape, *[1] * (x.dim() - 2)), 0)


def masked_softmax(scores: Tensor, keep: Tensor, dim: int = -1) -> Tensor:
    """Softmax over the kept elements of `dim`; the others, and rows with nothing kept, give 0."""
    # The lowest finite number rather than -inf: a fully masked row then has no inf - inf = NaN.
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores.masked_fill(~keep, lowest), dim)
    return weights.masked_fill(~keep, 0)


@overridable
def reverse(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x (B, T, ...) with each sequence read last to first within its length; padding stays."""
    if lengths is None:
        return x.flip(1)
    steps = torch.arange(x.shape[1], device=lengths.device)
    source = torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)  # (B, T)
    rows = source + torch.arange(x.shape[0], device=lengths.device)[:, None] * x.shape[1]
    rows = rows.to(x.device)
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
