"""A soft window over the characters of a text, which moves forwards alone (Graves 2013).

    (α̂_t, β̂_t, κ̂_t) = W h_t + b
    α_t = e^α̂_t    β_t = e^β̂_t    κ_t = κ_{t-1} + e^κ̂_t
    φ(t, u) = Σ_k α_t^k exp(-β_t^k (κ_t^k - u)²)        weight of character u = 1 ... U
    w_t = Σ_u φ(t, u) c_u                               the window, of one-hot characters c

`WindowedRecurrent` is the synthesis network around it: its first layer reads the window of the step
before, the layers above it read the window of the same step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn import init
from unspool.nn.cells import CELLS
from unspool.nn.masks import check_lengths, keep_mask
from unspool.nn.network import Network, NetworkOutput, RecurrentState, State
from unspool.nn.recurrent import Recurrent
from unspool.nn.taps import Tap, over_time

MOST = 6.0  # of α̂, β̂ and κ̂
SLOW = 20  # points of a character, to begin with


class WindowText(NamedTuple):
    """Text to write: B texts of at most U characters, the last one an end mark.

    ids      (B, U)
    lengths  (B,) on the CPU
    """

    ids: Tensor
    lengths: Tensor

    def select(self, rows: Tensor) -> WindowText:
        return WindowText(self.ids[rows], self.lengths[rows.cpu()])


class WindowState(NamedTuple):
    """Position of the window: its Gaussians (B, K), and the text that it moves over."""

    alpha: Tensor
    beta: Tensor
    kappa: Tensor
    characters: Tensor  # (B, U, V) one-hot, zeros at padding
    lengths: Tensor  # (B,)

    def weights(self, positions: Tensor) -> Tensor:
        """φ at positions (U,) or (B, U): (B, U)"""
        distance = self.kappa[:, :, None] - positions.view(-1, 1, positions.shape[-1])
        return (self.alpha[:, :, None] * (-self.beta[:, :, None] * distance**2).exp()).sum(1)

    def passed(self) -> Tensor:
        """(B,) whether the window is past the text: heaviest on its last character, the end."""
        size = self.characters.shape[1]
        weights = self.weights(torch.arange(1, size + 1, device=self.kappa.device))
        heaviest = (weights * self.characters.any(-1)).argmax(1)
        return heaviest == self.lengths.to(heaviest) - 1


class TextWindow(nn.Module):
    """The Gaussians of the window, from h (B, H)."""

    def __init__(self, inputs: int, components: int) -> None:
        super().__init__()
        self.components = components
        self.linear = nn.Linear(inputs, 3 * components)
        self.window = Tap()
        init.linear_(self.linear)
        with torch.no_grad():
            self.linear.bias[2 * components :].fill_(-math.log(SLOW))

    def start(self, text: WindowText, vocabulary: int) -> WindowState:
        size = text.ids.shape[1]
        like = self.linear.weight
        keep = keep_mask(text.lengths, size, device=text.ids.device)
        characters = F.one_hot(text.ids, vocabulary).to(like) * keep[..., None].to(like)
        zeros = like.new_zeros(len(text.ids), self.components)
        return WindowState(zeros, zeros, zeros, characters, text.lengths)

    def forward(self, h: Tensor, state: WindowState) -> tuple[Tensor, WindowState]:
        """The window w (B, V), and where it is."""
        numbers = self.linear(h).clamp(max=MOST).to(state.kappa.dtype)
        alpha, beta, step = numbers.exp().chunk(3, -1)
        state = state._replace(alpha=alpha, beta=beta, kappa=state.kappa + step)
        positions = torch.arange(1, state.characters.shape[1] + 1, device=h.device)
        phi = self.window(state.weights(positions))  # (B, U)
        return torch.bmm(phi[:, None], state.characters)[:, 0], state


class SynthesisState(NamedTuple):
    """first: of the cell that moves the window; w: the window (B, V); above: of the layers above"""

    first: State
    w: Tensor
    window: WindowState
    above: RecurrentState | None


class WindowedRecurrent(Network):
    """`layers` of a cell that write a text.

        h¹_t = cell([x_t; w_{t-1}], h¹_{t-1})      w_t from h¹_t
        h²_t = cell([x_t; w_t; h¹_t], h²_{t-1})    and further layers above
        output [h¹_t; h_t of the last layer]

    The text comes in with the state: `start(text)`.
    """

    def __init__(
        self,
        cell: str,
        inputs: int,
        hidden: int,
        *,
        vocabulary: int,
        components: int,
        layers: int = 1,
        dropout: float = 0.0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.name, self.inputs, self.hidden, self.vocabulary = cell, inputs, hidden, vocabulary
        self.first = CELLS[cell](inputs + vocabulary, hidden, **(options or {}))
        self.window = TextWindow(hidden, components)
        self.above: Recurrent | None = None
        if layers > 1:
            self.above = Recurrent(
                cell,
                inputs + vocabulary + hidden,
                hidden,
                layers=layers - 1,
                dropout=dropout,
                options=options,
            )
        self.size = hidden * (1 + (layers > 1))

    def start(self, text: WindowText) -> SynthesisState:
        batch = len(text.ids)
        window = self.window.start(text, self.vocabulary)
        like = window.kappa
        above = None if self.above is None else self.above.start(batch, like)
        w = like.new_zeros(batch, self.vocabulary)
        return SynthesisState(self.first.start(batch, like), w, window, above)

    def forward(self, x: Tensor, lengths: Tensor | None = None, state: Any = None) -> NetworkOutput:
        """The state that comes out is that after all T steps, those of padding included."""
        first, w, window, above = state
        lengths = check_lengths(lengths, x)
        outputs, windows = [], []
        with over_time(self.first), over_time(self.window):
            for x_t in x.unbind(1):
                h, new = self.first(torch.cat([x_t, w.to(x_t)], -1), first)
                # What is carried through time stays precise under autocast.
                first = tuple(tensor.to(before) for tensor, before in zip(new, first))
                w, window = self.window(h, window)
                outputs.append(h)
                windows.append(w)
        y = torch.stack(outputs, 1)
        if self.above is not None:
            read = torch.cat([x, torch.stack(windows, 1).to(x), y.to(x)], -1)
            more, above = self.above(read, lengths, above)
            y = torch.cat([y, more.to(y)], -1)
        if lengths is not None:
            keep = keep_mask(lengths, x.shape[1], device=x.device)
            y = y * keep[..., None].to(y)
        return NetworkOutput(y, SynthesisState(first, w, window, above))

    def describe(self) -> str:
        layers = 1 if self.above is None else 1 + len(self.above.layers)
        stack = f"{layers} layers of " if layers > 1 else ""
        return (
            f"{stack}{self.name}, {self.hidden} units, and a window of {self.window.components}"
            " Gaussians over the text"
        )
