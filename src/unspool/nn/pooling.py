"""A sequence of vectors as one vector.

In: outputs (B, T, D·H) of an encoder and lengths (B,), or None where all T steps are real.
Out: (B, D·H). Padding has no part in it; a sequence of length 0 gives zeros. `extend` gives the
same of sequences that come in chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.masks import at_last, keep_mask, masked_softmax, zero_padding
from unspool.nn.taps import Tap, overridable


class Pooled(NamedTuple):
    """The vector of all steps so far, and what `extend` goes on from."""

    vector: Tensor  # (B, D·H)
    carried: Any


class Pooling(nn.Module, ABC):
    """`size` is D·H; `bidirectional`: the second half of a vector comes from reading backwards."""

    def __init__(self, size: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.size = size
        self.bidirectional = bidirectional

    def forward(self, outputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        if lengths is None:
            return self.pool_all(outputs)
        keep = keep_mask(lengths, outputs.shape[1], device=outputs.device)
        return self.pool(outputs, lengths.to(outputs.device), keep)

    def describe(self) -> str:
        return f"{type(self).__name__.removesuffix('Pooling').lower()} over time"

    @abstractmethod
    def pool(self, outputs: Tensor, lengths: Tensor, keep: Tensor) -> Tensor:
        """outputs (B, T, D·H), lengths (B,), keep (B, T) -> (B, D·H)"""

    @abstractmethod
    def pool_all(self, outputs: Tensor) -> Tensor:
        """`pool` where all steps are real, as those of a single text are: nothing to mask."""

    @abstractmethod
    def extend(self, outputs: Tensor, carried: Any = None) -> Pooled:
        """`pool_all` of a sequence whose next outputs are these, (B, T, D·H); `carried`: of those
        before, None where there are none. Read forwards, T > 0."""


class LastPooling(Pooling):
    """The output of the last real step; of the half that reads backwards, of the first step.

    Each is where its direction has read everything, so this equals the final hidden states.
    """

    def pool(self, outputs: Tensor, lengths: Tensor, keep: Tensor) -> Tensor:
        outputs = zero_padding(outputs, keep)
        last = at_last(outputs, lengths.clamp(min=1))
        if not self.bidirectional:
            return last
        half = self.size // 2
        return torch.cat([last[:, :half], outputs[:, 0, half:]], -1)

    def pool_all(self, outputs: Tensor) -> Tensor:
        half = self.size // 2 if self.bidirectional else self.size
        return torch.cat([outputs[:, -1, :half], outputs[:, 0, half:]], -1)

    def extend(self, outputs: Tensor, carried: Any = None) -> Pooled:
        return Pooled(outputs[:, -1], None)


class MeanPooling(Pooling):
    """The mean over the real steps."""

    def pool(self, outputs: Tensor, lengths: Tensor, keep: Tensor) -> Tensor:
        return zero_padding(outputs, keep).sum(1) / lengths.clamp(min=1)[:, None]

    def pool_all(self, outputs: Tensor) -> Tensor:
        return outputs.sum(1) / outputs.shape[1]

    def extend(self, outputs: Tensor, carried: Any = None) -> Pooled:
        """Sums in float64: a stream may have millions of steps."""
        total, steps = outputs.sum(1, dtype=torch.float64), outputs.shape[1]
        if carried is not None:
            total, steps = total + carried[0], steps + carried[1]
        return Pooled((total / steps).to(outputs.dtype), (total, steps))


class MaxPooling(Pooling):
    """The largest value of each element over the real steps."""

    def pool(self, outputs: Tensor, lengths: Tensor, keep: Tensor) -> Tensor:
        lowest = torch.finfo(outputs.dtype).min
        largest = outputs.masked_fill(~keep[..., None], lowest).amax(1)
        return largest.masked_fill(lengths[:, None] == 0, 0)

    def pool_all(self, outputs: Tensor) -> Tensor:
        return outputs.amax(1)

    def extend(self, outputs: Tensor, carried: Any = None) -> Pooled:
        largest = outputs.amax(1)
        if carried is not None:
            largest = torch.maximum(largest, carried)
        return Pooled(largest, largest)


class AttentionPooling(Pooling):
    """A learned weighted mean (Yang et al. 2016, section 2.2), with a tap on the `weights`.

    s_t = vᵀ tanh(W h_t + b),    α = softmax(s) over the real steps,    output = Σ_t α_t h_t
    """

    def __init__(self, size: int, *, bidirectional: bool = False) -> None:
        super().__init__(size, bidirectional=bidirectional)
        self.W = nn.Linear(size, size)
        self.v = nn.Linear(size, 1, bias=False)
        self.weights = Tap()
        init.linear_(self.W)
        init.linear_(self.v)

    def pool(self, outputs: Tensor, lengths: Tensor, keep: Tensor) -> Tensor:
        outputs = zero_padding(outputs, keep)
        return self.mean(masked_softmax(self.scores(outputs), keep), outputs)

    def pool_all(self, outputs: Tensor) -> Tensor:
        return self.mean(self.scores(outputs).softmax(-1), outputs)

    def extend(self, outputs: Tensor, carried: Any = None) -> Pooled:
        """Σ_t e^(s_t - m) h_t and Σ_t e^(s_t - m) are carried, m the largest score so far."""
        scores = self.scores(outputs).double()  # (B, T)
        m = scores.amax(1, keepdim=True)
        if carried is not None:
            m = torch.maximum(m, carried[0])
        weights = (scores - m).exp()
        total, mass = (weights[..., None] * outputs).sum(1), weights.sum(1, keepdim=True)
        if carried is not None:
            less = (carried[0] - m).exp()
            total, mass = total + less * carried[1], mass + less * carried[2]
        return Pooled((total / mass).to(outputs.dtype), (m, total, mass))

    def scores(self, outputs: Tensor) -> Tensor:
        return self.v(torch.tanh(self.W(outputs))).squeeze(-1).to(outputs.dtype)  # (B, T)

    def mean(self, weights: Tensor, outputs: Tensor) -> Tensor:
        return (self.weights(weights)[..., None] * outputs).sum(1)


class PositionPooling(Pooling):
    """A sum in which each element of each position has a weight that is learnt, so that the order
    of a short sentence is not lost (Henaff et al. 2017, section 2.1): Σ_t f_t ∘ h_t. Steps from
    the last of the `POSITIONS` on share its weights."""

    POSITIONS = 32

    def __init__(self, size: int, *, bidirectional: bool = False) -> None:
        super().__init__(size, bidirectional=bidirectional)
        self.f = nn.Parameter(torch.ones(self.POSITIONS, size))

    def pool(self, outputs: Tensor, lengths: Tensor, keep: Tensor) -> Tensor:
        return self.pool_all(zero_padding(outputs, keep))

    def pool_all(self, outputs: Tensor) -> Tensor:
        return (outputs * self.weights(0, outputs)).sum(1)

    def extend(self, outputs: Tensor, carried: Any = None) -> Pooled:
        total, steps = (0.0, 0) if carried is None else carried
        total = total + (outputs * self.weights(steps, outputs)).sum(1, dtype=torch.float64)
        return Pooled(total.to(outputs.dtype), (total, steps + outputs.shape[1]))

    @overridable
    def weights(self, first: int, outputs: Tensor) -> Tensor:
        steps = torch.arange(first, first + outputs.shape[1], device=outputs.device)
        return self.f[steps.clamp(max=self.POSITIONS - 1)].to(outputs.dtype)


class ClsPooling(Pooling):
    """The output at step 0, that of the class token: of an encoder with `cls`."""

    def pool(self, outputs: Tensor, lengths: Tensor, keep: Tensor) -> Tensor:
        return outputs[:, 0].masked_fill(lengths[:, None] == 0, 0)

    def pool_all(self, outputs: Tensor) -> Tensor:
        return outputs[:, 0]

    def extend(self, outputs: Tensor, carried: Any = None) -> Pooled:
        first = outputs[:, 0] if carried is None else carried
        return Pooled(first, first)


POOLINGS: dict[str, type[Pooling]] = {
    "last": LastPooling,
    "mean": MeanPooling,
    "max": MaxPooling,
    "attention": AttentionPooling,
    "position": PositionPooling,
    "cls": ClsPooling,
}
