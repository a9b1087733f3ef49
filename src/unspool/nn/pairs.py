"""Two texts in one padded sequence: vectors that tell them apart, or attention between them.

In: vectors x (B, T, E) of both texts, one after the other, the lengths (B,) of all, and `firsts`
(B,), the step where the second text begins. Lengths and firsts live on the CPU. Out: the same, or
vectors (B, T, D).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.dropout import Dropout
from unspool.nn.masks import keep_mask, masked_softmax, zero_padding
from unspool.nn.network import Network
from unspool.nn.taps import Tap, overridable


class Side(NamedTuple):
    """One text of each row: x (B, S, ...) and lengths (B,)."""

    x: Tensor
    lengths: Tensor


def is_second(firsts: Tensor, steps: int, device: torch.device) -> Tensor:
    """(B, T), True from the first step of the second text on."""
    return ~keep_mask(firsts, steps, device=device)


@overridable
def take_apart(x: Tensor, lengths: Tensor | None, firsts: Tensor) -> tuple[Side, Side]:
    """x (B, T, ...) -> both texts, each padded to its longest."""
    steps = x.shape[1]
    second = (torch.full_like(firsts, steps) if lengths is None else lengths) - firsts
    most = int(second.max()) if len(second) else 0
    index = (firsts[:, None] + torch.arange(most)).clamp(max=steps - 1).to(x.device)  # (B, S)
    rows = torch.arange(len(x), device=x.device)[:, None]
    first = x[:, : int(firsts.max())] if len(firsts) else x
    return Side(first, firsts), Side(x[rows, index], second)


@overridable
def put_together(first: Tensor, second: Tensor, firsts: Tensor, steps: int) -> Tensor:
    """Inverse of `take_apart`: (B, S, D) each -> (B, T, D); padding holds arbitrary values."""
    t = torch.arange(steps)
    size = first.shape[1]
    index = torch.where(t < firsts[:, None], t, size + t - firsts[:, None])  # (B, T)
    index = index.clamp(max=size + second.shape[1] - 1).to(first.device)
    rows = torch.arange(len(first), device=first.device)[:, None]
    return torch.cat([first, second], 1)[rows, index]


class SegmentVectors(nn.Module):
    """x_t + s_0 in the first text, x_t + s_1 in the second: the segments A and B of Devlin et al.
    (2019)."""

    def __init__(self, size: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.S = nn.Parameter(torch.empty(2, size))
        nn.init.normal_(self.S, std=std)

    def forward(self, x: Tensor, firsts: Tensor) -> Tensor:
        second = is_second(firsts, x.shape[1], x.device)
        return x + nn.functional.embedding(second.long(), self.S).to(x.dtype)

    def describe(self) -> str:
        return "a vector for each of the two texts, added"


class Between(nn.Module, ABC):
    """A network reads each text by itself, h; each step then looks at the other text:

        e_ij = score(h_i, h_j)          i and j in different texts
        α_i  = softmax(e_i) over the steps j of the other text
        c_i  = Σ_j α_ij h_j

    and `compare` makes of h_i and c_i what is pooled. A tap on the `weights` α (B, 1, T, T).
    """

    def __init__(self, inputs: int, size: int, hidden: int, *, dropout: float = 0.0) -> None:
        """inputs   E of the vectors that the network reads
        size     D of those that it gives
        hidden   of those that are given here
        """
        super().__init__()
        self.inputs, self.memory, self.size = inputs, size, hidden
        self.weights = Tap()
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Tensor, lengths: Tensor | None, firsts: Tensor, network: Network
    ) -> Tensor:
        """x (B, T, E), or ids (B, T) for one-hot vectors -> (B, T, size), zeros at padding"""
        steps = x.shape[1]
        h = read_apart(network, x, lengths, firsts)  # (B, T, D)
        whole = torch.full_like(firsts, steps) if lengths is None else lengths
        real = keep_mask(whole, steps, device=h.device)
        h = zero_padding(h, real)
        second = is_second(firsts, steps, h.device)
        other = (second[:, :, None] != second[:, None]) & real[:, None] & real[:, :, None]
        e = self.scores(h)  # (B, T, T)
        alpha = masked_softmax(e, other)
        alpha = self.weights(alpha[:, None])[:, 0]
        c = alpha.to(h.dtype) @ h
        same = (second[:, :, None] == second[:, None]) & real[:, None] & real[:, :, None]
        m = self.dropout(self.compare(h, c, e, other, same))
        return zero_padding(self.read_above(m, lengths, firsts), real)

    @abstractmethod
    def scores(self, h: Tensor) -> Tensor:
        """(B, T, D) -> e (B, T, T)"""

    @abstractmethod
    def compare(self, h: Tensor, c: Tensor, e: Tensor, other: Tensor, same: Tensor) -> Tensor:
        """h, c (B, T, D), e (B, T, T); other, same (B, T, T): steps of the other and of the same
        text -> (B, T, ·)"""

    def read_above(self, m: Tensor, lengths: Tensor | None, firsts: Tensor) -> Tensor:
        return m


@overridable
def read_apart(network: Network, x: Tensor, lengths: Tensor | None, firsts: Tensor) -> Tensor:
    """Run a network on each text by itself, and join the outputs again: (B, T, D)."""
    first, second = (
        network(side.x, None if bool((side.lengths == side.x.shape[1]).all()) else side.lengths)
        for side in take_apart(x, lengths, firsts)
    )
    return put_together(first.outputs, second.outputs, firsts, x.shape[1])


class DecomposableAttention(Between):
    """Parikh et al. (2016), sections 3.1 and 3.2, of what a network has read:

    e_ij = F(h_i)ᵀ F(h_j),    F(h) = relu(W_F h + b)
    m_i  = relu(W [h_i; c_i] + b)
    """

    def __init__(self, inputs: int, size: int, hidden: int, *, dropout: float = 0.0) -> None:
        super().__init__(inputs, size, hidden, dropout=dropout)
        self.F = nn.Linear(size, hidden)
        self.W = nn.Linear(2 * size, hidden)
        init.linear_(self.F)
        init.linear_(self.W)

    def scores(self, h: Tensor) -> Tensor:
        f = torch.relu(self.F(self.dropout(h)))
        return f @ f.mT

    def compare(self, h: Tensor, c: Tensor, e: Tensor, other: Tensor, same: Tensor) -> Tensor:
        return torch.relu(self.W(torch.cat([h, c], -1)))

    def describe(self) -> str:
        return f"decomposable attention between the texts, {self.size} units"


class BidirectionalAttention(Between):
    """The attention flow of BiDAF (Seo et al. 2017, section 2), from each text to the other:

        e_ij = w_1ᵀ h_i + w_2ᵀ h_j + w_3ᵀ (h_i ∘ h_j)
        β_i  = softmax(max_j e_ij) over the steps of its text,    g = Σ_i β_i h_i
        m_i  = relu(W [h_i; c_i; h_i ∘ c_i; h_i ∘ g] + b)

    and a second network, `above`, reads m of each text.
    """

    def __init__(
        self, inputs: int, size: int, above: Network, *, layers: int, dropout: float = 0.0
    ) -> None:
        """`layers` of the network below: what is above counts on from there."""
        super().__init__(inputs, size, above.size, dropout=dropout)
        self.w = nn.Parameter(torch.empty(3, size))
        self.W = nn.Linear(4 * size, above.inputs)
        init.input_matrix_(self.w, blocks=1)
        init.linear_(self.W)
        self._above = f"above_{layers}"
        self.add_module(self._above, above)

    def scores(self, h: Tensor) -> Tensor:
        one, two, three = self.w.to(h.dtype)
        return (h * three) @ h.mT + (h @ one)[:, :, None] + (h @ two)[:, None]

    def compare(self, h: Tensor, c: Tensor, e: Tensor, other: Tensor, same: Tensor) -> Tensor:
        lowest = torch.finfo(e.dtype).min
        most = e.masked_fill(~other, lowest).amax(-1)  # (B, T)
        beta = masked_softmax(most[:, None].expand_as(e), same)  # (B, T, T), the same in each text
        g = beta.to(h.dtype) @ h
        return torch.relu(self.W(self.dropout(torch.cat([h, c, h * c, h * g], -1))))

    def read_above(self, m: Tensor, lengths: Tensor | None, firsts: Tensor) -> Tensor:
        network = self.get_submodule(self._above)
        assert isinstance(network, Network)
        return read_apart(network, m, lengths, firsts)

    def describe(self) -> str:
        return "attention between the texts, both ways"


class PairPooling(nn.Module):
    """Two texts as one vector, [u; v; |u - v|; u ∘ v] (Conneau et al. 2017), of u and v that a
    pooling makes of each."""

    def __init__(self, pooling: nn.Module, size: int) -> None:
        super().__init__()
        self.each, self.size = pooling, 4 * size

    def forward(self, outputs: Tensor, lengths: Tensor | None, firsts: Tensor) -> Tensor:
        u, v = (self.each(*side) for side in take_apart(outputs, lengths, firsts))
        return torch.cat([u, v, (u - v).abs(), u * v], -1)

    def describe(self) -> str:
        return f"{self.each.describe()}, of each text"  # type: ignore[operator]
