"""Filters that read a window of a sequence at each of its steps.

In: x (B, T, I), or integers (B, T) as one-hot vectors, and lengths (B,). Out: (B, T, K·F) for F
filters of each of K widths, zero at padding. The largest value over time is `pooling.MaxPooling`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn.dropout import Dropout
from unspool.nn.masks import check_lengths
from unspool.nn.network import Network, NetworkOutput
from unspool.nn.packing import Packing, put_rows, take_rows
from unspool.nn.taps import Tap, overridable

WIDTHS = (2, 3, 4)


class WidthFilters(nn.Module):
    """F filters of one width k, over any number of windows.

    c_t = W [x_{t-l}; ...; x_{t+r}] + b,        l = ⌊(k-1)/2⌋,  r = ⌊k/2⌋

    Parameters: F(kI + 1).
    """

    def __init__(self, inputs: int, filters: int, width: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.width = width
        self.before, self.after = (width - 1) // 2, width // 2  # l, r
        self.W = nn.Parameter(torch.empty(filters, width * inputs))
        self.b = nn.Parameter(torch.zeros(filters))
        nn.init.xavier_uniform_(self.W)

    def forward(self, windows: Sequence[Tensor]) -> Tensor:
        """k times (M, I), a vector for each position of each window -> (M, F).

        Or k times (M,): integers for one-hot vectors, counted from 1; 0 stands for zeros.
        """
        if windows[0].is_floating_point():
            return F.linear(torch.cat(list(windows), 1), self.W, self.b)  # (M, kI) -> (M, F)
        # W's columns are looked up, in blocks of 1 + I a position, of which the first is zero.
        blocks = F.pad(self.W.t().unflatten(0, (self.width, self.inputs)), (0, 0, 1, 0))
        rows = [ids + j * (1 + self.inputs) for j, ids in enumerate(windows)]
        return F.embedding_bag(torch.stack(rows, 1), blocks.flatten(0, 1), mode="sum") + self.b


class Convolution(nn.Module):
    """Filters of several widths side by side (Kim 2014, section 2), with a tap on the `features`.

    h_t = relu([c_t^(k) for each width k])

    What is before the first token and after the last is zero, so a sequence may be shorter than a
    filter is wide, and the output is as long as the input.

    Only real tokens are read: the sequences of a batch are laid one after the other, with rows of
    zeros between them, so that windows are slices of one array, and a width is one matrix product.
    """

    def __init__(self, inputs: int, filters: int, widths: Sequence[int] = WIDTHS) -> None:
        super().__init__()
        self.inputs = inputs
        self.widths = tuple(widths)
        self.size = len(self.widths) * filters
        self.filters = nn.ModuleList(WidthFilters(inputs, filters, width) for width in self.widths)
        self.gap = max(width // 2 for width in self.widths)
        self.features = Tap()

    @overridable
    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, steps = x.shape[:2]
        lengths = check_lengths(lengths, x)
        packing = Packing.of(batch, steps, lengths, by_time=False, device=x.device)
        packed = packing.pack(x)  # (N, I), or (N,)
        # The index of each packed row in the array with gaps.
        numbers = torch.arange(1, batch + 1)
        rows = torch.arange(len(packed))
        rows += self.gap * numbers.repeat_interleave(packing.offsets.diff())
        rows = rows.to(x.device)
        count = len(packed) + self.gap * (batch + 1)
        spaced = put_rows(packed if x.is_floating_point() else packed + 1, rows, count)
        outputs = torch.cat(
            [f([spaced[a:b] for a, b in self._slices(f, count)]) for f in self.by_width()], 1
        )
        outputs = torch.relu(take_rows(outputs, rows - self.gap))  # (N, K·F)
        # Under autocast a product is bfloat16; a layer gives one type of output all the same.
        return self.features(packing.unpack(outputs.to(next(self.parameters()).dtype)))

    def by_width(self) -> list[WidthFilters]:
        return [filters for filters in self.filters if isinstance(filters, WidthFilters)]

    def _slices(self, filters: WidthFilters, count: int) -> list[tuple[int, int]]:
        """Slices of the first, second, ... positions of all windows in an array of `count` rows.
        positions."""
        shifts = range(-filters.before, filters.after + 1)
        return [(self.gap + j, count - self.gap + j) for j in shifts]

    def describe(self) -> str:
        each = self.size // len(self.widths)
        several = "s" if len(self.widths) > 1 else ""
        widths = ", ".join(map(str, self.widths))
        return f"convolution, {each} filters of width{several} {widths}"

    def extra_repr(self) -> str:
        return f"{self.inputs}, {self.size // len(self.widths)}, widths={self.widths}"


class ConvolutionStack(Network):
    """`layers` of `Convolution`, each reading the features of the one below.

    dropout   on the features between layers, in training
    """

    def __init__(
        self,
        inputs: int,
        filters: int,
        *,
        widths: Sequence[int] = WIDTHS,
        layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.size = len(widths) * filters
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            Convolution(self.size if k else inputs, filters, widths) for k in range(layers)
        )

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, state: None = None
    ) -> NetworkOutput:
        """A convolution has no state."""
        for k, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if k else x, lengths)
        return NetworkOutput(x)

    def streaming_unsupported_reason(self) -> str:
        return "its filters read steps after their own"

    def describe(self) -> str:
        stack = f"{len(self.layers)} layers of " if len(self.layers) > 1 else ""
        first = self.layers[0]
        assert isinstance(first, Convolution)
        return stack + first.describe()
