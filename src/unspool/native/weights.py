"""The gradients of a layer's weights, from what its kernel has left for all steps.

In: packed inputs x (N, I), states h (N, H), the gradients du (N, G·H) of what the products gave.
Out: dW and dU, each one product over all N tokens, by torch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from unspool import native


def factor(x: Tensor, half: bool) -> Tensor:
    """x as torch's products take it: where the processor cannot multiply bfloat16, torch is several
    times as fast with float32."""
    return x.to(torch.bfloat16 if half and native.multiplies_bf16() else torch.float32)


def input_weights_gradient(x: Tensor, du: Tensor, W: Tensor) -> Tensor:
    """dW (G·H, I) = Σ_t du_t x_t'."""
    if x.is_floating_point():
        return outer(du, x).float()
    return torch.zeros_like(W.t()).index_add_(0, x, du.float()).t().contiguous()


def recurrent_weights_gradient(
    kind: str,
    steps: PackedSteps,
    reverse: bool,
    h0: Tensor,
    h: Tensor,
    inner: Tensor,
    du: Tensor,
    dinner: Tensor,
) -> Tensor:
    """dU (G·H, H) = Σ_t da_t h_{t-1}', where a is what U h was added to."""
    rz, n = du[:, : -h.shape[1]], du[:, -h.shape[1] :]
    if kind == "gru_after":
        return torch.cat([steps.outer(d, h, h0, reverse) for d in (rz, dinner)])
    if kind == "gru_before":
        return torch.cat([steps.outer(rz, h, h0, reverse), outer(n, inner)])
    return steps.outer(du, h, h0, reverse)


def peepholes_gradient(
    steps: PackedSteps, reverse: bool, c0: Tensor, c: Tensor, du: Tensor
) -> Tensor:
    """dP_i, dP_f, dP_o (3·H, H), where i and f read c_{t-1} and o reads c_t. du: i, f, g, o."""
    hidden = c.shape[1]
    before = steps.outer(du[:, : 2 * hidden], c, c0, reverse)
    return torch.cat([before, outer(du[:, 3 * hidden :], c)])


def outer(d: Tensor, x: Tensor) -> Tensor:
    """Σ_n d_n x_n', which MKL multiplies faster with the wider matrix on the right."""
    return (x.t() @ d).t().contiguous()


class PackedSteps:
    """First and last rows of packed sequences."""

    def __init__(self, offsets: Tensor) -> None:
        self.offsets = offsets
        self.sizes = offsets.diff()  # (T): rows at each time
        self.rows = torch.arange(int(self.sizes[0]))  # (B)
        self.full = bool(self.sizes[0] == self.sizes[-1])

    def last(self, reverse: bool) -> Tensor:
        """(B,): the row at which each sequence has been read to its end."""
        if reverse:
            return self.rows
        lengths = torch.searchsorted(-self.sizes, -self.rows)  # times with more than `row` rows
        return self.offsets[lengths - 1] + self.rows

    def outer(self, d: Tensor, h: Tensor, h0: Tensor, reverse: bool) -> Tensor:
        """Σ_t d_t h_{t-1}' (K, H); h_{t+1} where time is read backwards."""
        batch = len(h0)
        if not self.full:
            return outer(d, self.before(h, h0, reverse))
        if reverse:
            return outer(d[:-batch], h[batch:]) + outer(d[-batch:], h0)
        return outer(d[batch:], h[:-batch]) + outer(d[:batch], h0)

    def before(self, h: Tensor, h0: Tensor, reverse: bool) -> Tensor:
        """h_{t-1} (N, H) for every row."""
        times = torch.repeat_interleave(self.sizes)
        rows = torch.arange(len(h)) - self.offsets[times]
        neighbour = (times + (1 if reverse else -1)).clamp(0, len(self.sizes) - 1)
        before = h.index_select(0, (self.offsets[neighbour] + rows).clamp(max=len(h) - 1))
        return before.index_copy_(0, self.last(not reverse), h0)
