"""Ragged batches without their padding.

In: a padded batch (B, T, ...) and its lengths. Out: its real tokens as one array (N, ...).

By time, for cells whose sequences keep step: the tokens of all sequences at time 0, then those at
time 1, and so on, the longest sequence first, so that the sequences that are still running at a
time are the first rows of every earlier time. By sequence, for scans and attention: one after the
other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn.masks import keep_mask, zero_padding


class Packing(NamedTuple):
    """Index of packed rows; `rows` and `order` are None where nothing moved."""

    batch: int
    steps: int
    by_time: bool
    offsets: Tensor  # where each time (T + 1), or each sequence (B + 1), begins; on the CPU
    rows: Tensor | None  # (N,): the index b·T + t of each packed row in the padded batch
    order: Tensor | None  # (B,): the sequences by falling length

    @classmethod
    def of(
        cls,
        batch: int,
        steps: int,
        lengths: Tensor | None,
        *,
        by_time: bool,
        device: torch.device | None = None,
    ) -> Packing:
        """The packing of a padded batch on a device; lengths None: all steps are real."""
        if lengths is None:
            groups, size = (steps, batch) if by_time else (batch, steps)
            return cls(batch, steps, by_time, torch.arange(groups + 1) * size, None, None)
        if not by_time:
            real = torch.arange(steps) < lengths[:, None]  # (B, T)
            rows = real.flatten().nonzero().flatten()
            offsets = F.pad(lengths.cumsum(0), (1, 0))
            return cls(batch, steps, by_time, offsets, rows.to(device=device), None)
        sorted_lengths, order = lengths.sort(descending=True, stable=True)
        running = torch.arange(int(sorted_lengths[0]))[:, None] < sorted_lengths  # (T, B)
        time, rank = running.nonzero(as_tuple=True)
        offsets = F.pad(running.sum(1).cumsum(0), (1, 0))
        rows = order[rank] * steps + time
        return cls(batch, steps, by_time, offsets, rows.to(device=device), order.to(device=device))

    def pack(self, x: Tensor) -> Tensor:
        """(B, T, ...) -> (N, ...)."""
        if self.rows is None:
            return (x.transpose(0, 1) if self.by_time else x).flatten(0, 1)
        return take_rows(x.flatten(0, 1), self.rows)

    def unpack(self, x: Tensor) -> Tensor:
        """(N, ...) -> (B, T, ...), zeros at padding."""
        shape = (self.batch, self.steps)
        if self.rows is None and self.by_time:
            return x.unflatten(0, shape[::-1]).transpose(0, 1)
        if self.rows is None:
            return x.unflatten(0, shape)
        return put_rows(x, self.rows, self.batch * self.steps).unflatten(0, shape)

    def runs(self) -> Iterator[tuple[int, int]]:
        """Run lengths: (count, length) of neighbours of equal length; empty sequences have no
        rows and are left out."""
        for length, same in groupby(self.offsets.diff().tolist()):
            if length:
                yield len(list(same)), length

    def sort(self, state: Tensor) -> Tensor:
        """A state (B, H) in the order of the packed rows."""
        return state if self.order is None else state.index_select(0, self.order)

    def unsort(self, state: Tensor) -> Tensor:
        if self.order is None:
            return state
        return state.index_select(0, self.order.argsort())


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """x[rows], for rows that differ."""
    return _Take.apply(x, rows)


def put_rows(x: Tensor, rows: Tensor, count: int) -> Tensor:
    """(count, ...): x at the rows, which differ, and zeros elsewhere."""
    return _Put.apply(x, rows, count)


class _Take(torch.autograd.Function):
    """x[rows] for different rows: the gradient is put back, a copy rather than an addition."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.count = len(x)
        return x.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return _Put.apply(grad, rows, ctx.count), None


class _Put(torch.autograd.Function):
    """Zeros (count, ...) with x at the rows: the gradient is taken out again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor, count: int) -> Tensor:
        ctx.save_for_backward(rows)
        return x.new_zeros(count, *x.shape[1:]).index_copy_(0, rows, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (rows,) = ctx.saved_tensors
        return _Take.apply(grad, rows), None, None


class PackedBatch:
    """The outputs of the latest layer, padded or packed, and each made from the other on demand."""

    def __init__(self, x: Tensor, lengths: Tensor | None, *, by_time: bool) -> None:
        self.lengths = lengths
        self.by_time = by_time  # how to pack
        self.size, self.steps = x.shape[:2]
        self._x: Tensor | None = x
        self._padded: Tensor | None = x if lengths is None else None
        self._packed: Tensor | None = None
        self._packing: Packing | None = None

    @property
    def packing(self) -> Packing:
        if self._packing is None:
            self._packing = Packing.of(
                self.size,
                self.steps,
                self.lengths,
                by_time=self.by_time,
                device=self.sample().device,
            )
        return self._packing

    def sample(self) -> Tensor:
        """Any of the forms that are there: of the right type and on the right device."""
        tensors = [t for t in (self._x, self._padded, self._packed) if t is not None]
        return tensors[0]

    def padded(self) -> Tensor:
        """(B, T, ...), zeros at padding."""
        if self._padded is None and self._x is not None:
            assert self.lengths is not None
            self._padded = zero_padding(
                self._x, keep_mask(self.lengths, self.steps, device=self._x.device)
            )
        elif self._padded is None:
            assert self._packed is not None
            self._padded = self.packing.unpack(self._packed)
        return self._padded

    def packed(self) -> Tensor:
        """(N, ...)."""
        if self._packed is None:
            self._packed = self.packing.pack(self.sample())
        return self._packed

    def replace(self, *, padded: Tensor | None = None, packed: Tensor | None = None) -> None:
        self._x, self._padded, self._packed = None, padded, packed

    def apply(self, change: nn.Module) -> None:
        if self._packed is not None:
            self.replace(packed=change(self._packed))
        else:
            self.replace(padded=change(self.padded()))
