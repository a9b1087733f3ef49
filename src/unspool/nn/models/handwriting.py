"""Points of a pen in, the distribution of the next one out.

In: `Drawings`, points (B, T, 3) as moves (x, y) and pen up, perhaps with the texts that they are.
Out: `losses`, nats a point; `step` for a search, one point at a time. `Handwriting` is the network
of Graves (2013); `OneGaussian` and `Bigram` know no more than the moves, or the one before.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoder
from unspool.nn.masks import keep_mask
from unspool.nn.mixture import LEAST, Move, PenMixture, PenOutput
from unspool.nn.taps import Tap
from unspool.nn.text_window import SynthesisState, WindowedRecurrent, WindowText
from unspool.nn.transformer import TransformerDecoder

CELLS = 21  # of the moves along an axis, of a bigram
RARE = 0.01  # probability of a move outside of all cells
WIDEST = 3.0  # of the cells of a bigram that was not fitted


class Drawings(NamedTuple):
    """B drawings padded to the longest, T points.

    values    (B, T, 3) moves in standard deviations, and pen up
    lengths   (B,) on the CPU
    text      what they are, for a network that is given it
    """

    values: Tensor
    lengths: Tensor
    text: WindowText | None = None

    @property
    def keep(self) -> Tensor:
        """(B, T) points that another one follows"""
        size = self.values.shape[1]
        return keep_mask(self.lengths - 1, size, device=self.values.device)

    def next(self) -> Move:
        """Next point after each point; zeros after the last."""
        after = F.pad(self.values[:, 1:], (0, 0, 0, 1))
        size = self.values.shape[1]
        last = torch.arange(size) == (self.lengths - 2)[:, None]
        return Move(after[..., :2], after[..., 2], last.to(after.device, after.dtype))


class PenLosses(NamedTuple):
    """(B, T) nats of the moves, and of the pen, 0 where no point follows."""

    move: Tensor
    pen: Tensor


class PenModel(nn.Module, ABC):
    """A distribution of the next point."""

    @abstractmethod
    def losses(self, drawings: Drawings) -> PenLosses: ...

    @abstractmethod
    def start(self, text: WindowText | None) -> Any:
        """The state before the first point of one drawing."""

    @abstractmethod
    def step(self, point: Tensor, state: Any) -> tuple[PenMixture, Any]:
        """A point (1, 3) -> the distribution of the next, and the new state."""

    def finished(self, state: Any) -> bool:
        """Whether the whole text has been written."""
        return False

    def forward(self, drawings: Drawings) -> PenLosses:
        return self.losses(drawings)


class Handwriting(PenModel):
    """An encoder that reads forwards, recurrent or a Transformer, and a mixture density output."""

    def __init__(self, encoder: Encoder, *, components: int, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = Dropout(dropout)
        self.output = PenOutput(encoder.size, components)

    def mixture(self, drawings: Drawings) -> PenMixture:
        """At each point, of the next."""
        # A Transformer makes no state of what it reads at once.
        state = None if self.at_once else self.start(drawings.text)
        encoded = self.encoder(drawings.values, drawings.lengths, state)
        return self.output(self.dropout(encoded.outputs))

    @property
    def at_once(self) -> bool:
        return isinstance(self.encoder.network, TransformerDecoder)

    def losses(self, drawings: Drawings) -> PenLosses:
        return masked(self.mixture(drawings), drawings)

    def start(self, text: WindowText | None) -> Any:
        network = self.encoder.network
        if isinstance(network, WindowedRecurrent):
            assert text is not None
            return network.start(text)
        return network.start() if isinstance(network, TransformerDecoder) else None

    def step(self, point: Tensor, state: Any) -> tuple[PenMixture, Any]:
        encoded = self.encoder(point[:, None], state=state)
        mixture = self.output(encoded.outputs[:, 0])
        return mixture, encoded.state

    def finished(self, state: Any) -> bool:
        return isinstance(state, SynthesisState) and bool(state.window.passed().all())


def masked(mixture: PenMixture, drawings: Drawings) -> PenLosses:
    move, keep = drawings.next(), drawings.keep
    zero = mixture.up.new_zeros(())
    return PenLosses(
        torch.where(keep, mixture.move_nll(move.xy), zero),
        torch.where(keep, mixture.pen_nll(move.up, move.end), zero),
    )


class OneGaussian(PenModel):
    """The same for every point: one Gaussian, and how often the pen is lifted."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(2))
        self.log_std = nn.Parameter(torch.zeros(2))
        self.skew = nn.Parameter(torch.zeros(()))
        self.up = nn.Parameter(torch.zeros(()))
        self.end = nn.Parameter(torch.zeros(()))
        self.nll = Tap()

    def mixture(self, *shape: int) -> PenMixture:
        return PenMixture(
            self.up.new_zeros(*shape, 1),
            self.mean.expand(*shape, 1, 2),
            self.log_std.expand(*shape, 1, 2),
            self.skew.expand(*shape, 1),
            self.up.expand(shape),
            self.end.expand(shape),
        )

    def losses(self, drawings: Drawings) -> PenLosses:
        losses = masked(self.mixture(*drawings.values.shape[:2]), drawings)
        return losses._replace(move=self.nll(losses.move))

    def start(self, text: WindowText | None) -> None:
        return None

    def step(self, point: Tensor, state: Any) -> tuple[PenMixture, Any]:
        return self.mixture(1), None

    def describe(self) -> str:
        return "one Gaussian for every move"


class Bigram(PenModel):
    """p(cell_t | cell_{t-1}) of moves cut into cells, with or without the pen up; within a cell all
    moves are alike. A move is outside of all cells with probability `RARE`, and there as one
    Gaussian has it.

    edges    (2, CELLS + 1) of the cells of x and of y
    table    (S + 1, S) logits of S = 2 CELLS² states (pen up, x, y) after each; the last row is for
             what is outside
    """

    def __init__(self) -> None:
        super().__init__()
        self.states = 2 * CELLS * CELLS
        self.gaussian = OneGaussian()
        self.nll = Tap()
        self.table = nn.Parameter(torch.zeros(self.states + 1, self.states))
        self.edges: Tensor
        self.register_buffer("edges", torch.linspace(-WIDEST, WIDEST, CELLS + 1).expand(2, -1) * 1)

    def cells(self, values: Tensor) -> Tensor:
        """Points (..., 3) -> (...) their states; S where they are outside"""
        bins = []
        outside = torch.zeros(values.shape[:-1], dtype=torch.bool, device=values.device)
        for axis in (0, 1):
            x, edges = values[..., axis].contiguous(), self.edges[axis]
            at = torch.bucketize(x, edges[1:-1].contiguous(), right=True)
            bins.append(at)
            outside = outside | (x < edges[0]) | (x > edges[-1])
        state = (values[..., 2] > 0.5).long() * CELLS * CELLS + bins[0] * CELLS + bins[1]
        return torch.where(outside, self.states, state)

    def log_area(self) -> Tensor:
        """(S + 1,)"""
        width = self.edges.diff(dim=1).log()
        area = (width[0][:, None] + width[1][None]).reshape(-1)
        return F.pad(torch.cat([area, area]), (0, 1))

    def losses(self, drawings: Drawings) -> PenLosses:
        """The loss of the pen is what the cells, pens together, do not explain: the end alone."""
        move, keep = drawings.next(), drawings.keep
        after = self.cells(torch.cat([move.xy, move.up[..., None]], -1))
        inside = after < self.states
        table = self.table.log_softmax(-1)
        chosen = table[self.cells(drawings.values), after.clamp(max=self.states - 1)]
        density = chosen + math.log(1 - RARE) - self.log_area()[after]
        one = self.gaussian.mixture(*keep.shape)
        far = -one.move_nll(move.xy) + math.log(RARE)
        up = F.logsigmoid(torch.where(move.up > 0.5, one.up, -one.up))
        both = torch.logaddexp(far + up, torch.where(inside, density, -math.inf))
        ended = F.binary_cross_entropy_with_logits(one.end, move.end, reduction="none") * move.up
        zero = both.new_zeros(())
        nll = self.nll(torch.where(keep, -both, zero))
        return PenLosses(nll, torch.where(keep, ended, zero))

    def start(self, text: WindowText | None) -> None:
        return None

    def step(self, point: Tensor, state: Any) -> tuple[PenMixture, Any]:
        """The cells as Gaussians of their widths."""
        p = self.table[self.cells(point)].log_softmax(-1).view(1, 2, CELLS * CELLS)
        middle = (self.edges[:, 1:] + self.edges[:, :-1]) / 2
        width = self.edges.diff(dim=1) / math.sqrt(12)
        mean = torch.stack(torch.meshgrid(*middle, indexing="ij"), -1).view(1, -1, 2)
        std = torch.stack(torch.meshgrid(*width, indexing="ij"), -1).view(1, -1, 2)
        weight = p.logsumexp(1)
        up = p[:, 1].logsumexp(-1) - p[:, 0].logsumexp(-1)
        end = self.gaussian.end.expand(1)
        skew = torch.zeros_like(weight)
        return PenMixture(weight, mean, std.clamp(min=LEAST).log(), skew, up, end), None

    def describe(self) -> str:
        return f"bigram of moves in {CELLS} x {CELLS} cells"
