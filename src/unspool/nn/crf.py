"""A linear-chain conditional random field (Lafferty et al. 2001) over the tags of a sequence.

In: scores (B, T, C) of C tags at each step, lengths (B,). Out: the negative log likelihood of given
tags, the best tags, or the probability of each tag and of any stretch of tags.

    s(y) = a[y_1] + Σ_t x_t[y_t] + Σ_{t>1} A[y_{t-1}, y_t] + b[y_T]
    p(y) = exp(s(y)) / Z,      Z = Σ_y exp(s(y))

A, a, b are learnt. The sums over all y take one pass over time, the forward algorithm.
`log_partition` is the readable reference of log Z, by logarithms of sums. `Lattice` has the same by
sums that are scaled at each step (Rabiner 1989, section V.A), in float64: a product of matrices a
step, and a gradient from the backward pass rather than by retracing the forward one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from unspool.nn.masks import keep_mask
from unspool.nn.tags import Allowed, Along, TagOutput

FORBIDDEN = -1e30  # a score below any sum of real ones, and far from the end of float32
TINY = 1e-300


class Chain(NamedTuple):
    """The scores of moves: A (C, C) from row to column, a (C,) of the first tag, b (C,) of the
    last; FORBIDDEN where a move is not allowed."""

    A: Tensor
    a: Tensor
    b: Tensor


def log_partition(x: Tensor, lengths: Tensor, chain: Chain) -> Tensor:
    """log Z (B,) of scores x (B, T, C), by

    α_1 = a + x_1,      α_t[j] = x_t[j] + log Σ_i exp(α_{t-1}[i] + A[i, j])
    """
    A, a, b = chain
    keep = keep_mask(lengths, x.shape[1])[..., None].unbind(1)
    alpha = a + x[:, 0]  # (B, C)
    for t in range(1, x.shape[1]):
        new = x[:, t] + torch.logsumexp(alpha[:, :, None] + A, 1)
        alpha = torch.where(keep[t], new, alpha)
    return torch.logsumexp(alpha + b, 1)


class Order(NamedTuple):
    """The sequences of a batch by falling length, and how many have each step: at step t these are
    the first `running[t]`, so that no step needs a mask."""

    rows: Tensor
    running: list[int]

    @classmethod
    def of(cls, lengths: Tensor) -> Order:
        rows = lengths.argsort(descending=True, stable=True)
        steps = torch.arange(int(lengths.max()), device=lengths.device)
        return cls(rows, (steps[:, None] < lengths).sum(1).tolist())

    def by_time(self, x: Tensor) -> Tensor:
        """(B, T, ...) -> (longest, B, ...), sorted."""
        return x[:, : len(self.running)].index_select(0, self.rows).transpose(0, 1).contiguous()

    def by_row(self, x: Tensor, steps: int) -> Tensor:
        """(longest, B, ...) -> (B, steps, ...), in the order of the batch, zeros at the end."""
        x = x.transpose(0, 1).index_select(0, self.rows.argsort())
        return nn.functional.pad(x, (*[0, 0] * (x.dim() - 2), 0, steps - x.shape[1]))


class Lattice(NamedTuple):
    """The forward pass over scores, sorted by an `Order`; all in float64.

    e_t = exp(x_t - m_t),  m_t = max x_t,  P = exp(A)
    p_1 = exp(a) ⊙ e_1 / s_1,      p_t = (p_{t-1} P) ⊙ e_t / s_t,      s_t so that Σ p_t = 1
    z = p_T · exp(b),      log Z = log z + Σ_t (log s_t + m_t)
    """

    e: Tensor  # (T, B, C), with exp(a) in the first
    P: Tensor  # (C, C)
    p: Tensor  # (T, B, C), zero after the end of a sequence
    s: Tensor  # (T, B), one after it
    end: Tensor  # (B, C): p_T ⊙ exp(b)
    log_z: Tensor  # (B,)

    @classmethod
    def of(cls, x: Tensor, order: Order, chain: Chain) -> Lattice:
        """x (T, B, C)"""
        A, a, b = (scores.double() for scores in chain)
        x = x.double()
        x = torch.cat([x[:1] + a, x[1:]])
        m = x.amax(2)  # (T, B)
        e, P = torch.exp(x - m[..., None]), torch.exp(A)
        p, s = torch.zeros_like(e), torch.ones_like(m)
        for t, n in enumerate(order.running):
            new = e[t, :n] if t == 0 else (p[t - 1, :n] @ P) * e[t, :n]
            # Scores so far apart that all of them vanish must not divide zero by zero.
            s[t, :n] = new.sum(1).clamp(min=TINY)
            p[t, :n] = new / s[t, :n, None]
        lengths = _lengths(order)
        end = p[lengths - 1, torch.arange(p.shape[1], device=p.device)] * torch.exp(b)
        real = keep_mask(lengths, len(m)).t()
        sums = (s.log() + m.masked_fill(~real, 0)).sum(0)
        return cls(e, P, p, s, end, end.sum(1).clamp(min=TINY).log() + sums)

    def backward(self, order: Order, b: Tensor) -> Tensor:
        """q (T, B, C), with which p_t ⊙ q_t is the probability of each tag at t:

        q_T = exp(b) / z,      q_t = P (e_{t+1} ⊙ q_{t+1}) / s_{t+1}
        """
        q = torch.zeros_like(self.p)
        last = torch.exp(b.double()) / self.end.sum(1, keepdim=True).clamp(min=TINY)  # (B, C)
        after = 0
        for t in range(len(order.running) - 1, -1, -1):
            n = order.running[t]
            if after:
                q[t, :after] = self._arrived(q, t + 1, after) @ self.P.t()
            q[t, after:n] = last[after:n]
            after = n
        return q

    def _arrived(self, q: Tensor, t: int, n: int) -> Tensor:
        return self.e[t, :n] * q[t, :n] / self.s[t, :n, None]

    def moves(self, q: Tensor, weight: Tensor) -> Tensor:
        """(C, C) how often each move is expected, of sequences that count `weight` (B,)."""
        arrived = self.e[1:] * q[1:] / self.s[1:, :, None]
        left = (self.p[:-1] * weight[:, None]).flatten(0, 1)
        return (left.t() @ arrived.flatten(0, 1)) * self.P


def _lengths(order: Order) -> Tensor:
    """(B,) sorted."""
    running = torch.tensor(order.running, device=order.rows.device)
    return (running[:, None] > torch.arange(order.running[0], device=running.device)).sum(0)


class LogPartition(torch.autograd.Function):
    """`log_partition` by a `Lattice`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, lengths: Tensor, A: Tensor, a: Tensor, b: Tensor) -> Tensor:
        order = Order.of(lengths)
        lattice = Lattice.of(order.by_time(x), order, Chain(A, a, b))
        ctx.save_for_backward(b, *lattice)
        ctx.order, ctx.steps, ctx.dtype = order, x.shape[1], x.dtype
        return lattice.log_z[order.rows.argsort()].to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        b, *parts = ctx.saved_tensors
        order, lattice = ctx.order, Lattice(*parts)
        weight = grad[order.rows].double()  # (B,)
        q = lattice.backward(order, b)
        chances = lattice.p * q * weight[:, None]  # (T, B, C)
        ends = lattice.end / lattice.end.sum(1, keepdim=True).clamp(min=TINY) * weight[:, None]
        return (
            order.by_row(chances.to(ctx.dtype), ctx.steps),
            None,
            lattice.moves(q, weight).to(ctx.dtype),
            chances[0].sum(0).to(ctx.dtype),
            ends.sum(0).to(ctx.dtype),
        )


class CRF(TagOutput):
    """The moves of a chain, and what follows from them. A move that is not allowed is never made,
    and has no gradient."""

    def __init__(self, tags: int, allowed: Allowed | None = None) -> None:
        super().__init__()
        self.allowed_moves: Tensor
        self.allowed_first: Tensor
        self.allowed_last: Tensor
        self.moves = nn.Parameter(torch.zeros(tags, tags))
        self.first = nn.Parameter(torch.zeros(tags))
        self.last = nn.Parameter(torch.zeros(tags))
        every = (torch.ones(tags, tags), torch.ones(tags), torch.ones(tags))
        names = ("allowed_moves", "allowed_first", "allowed_last")
        for name, mask in zip(names, allowed or every):
            # Not saved: they follow from the names of the tags.
            self.register_buffer(name, mask.bool(), persistent=False)

    def chain(self) -> Chain:
        """The scores of moves as they count."""
        return Chain(
            self.moves.where(self.allowed_moves, FORBIDDEN),
            self.first.where(self.allowed_first, FORBIDDEN),
            self.last.where(self.allowed_last, FORBIDDEN),
        )

    def loss(self, x: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """-log p (B,) of tags (B, T)."""
        x, chain = precise(x), self.chain()
        return LogPartition.apply(x, lengths, *chain) - score(x, tags, lengths, chain)

    @torch.no_grad()
    def best(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The Viterbi algorithm: the forward one with the largest move in place of the sum."""
        steps, order, (A, a, b) = x.shape[1], Order.of(lengths), self.chain()
        x, running = order.by_time(precise(x)), order.running  # (T, B, C)
        best = a + x[0]  # (B, C), of sequences that have ended: at their end
        came_from = torch.zeros(x.shape, dtype=torch.int64, device=x.device)
        for t in range(1, len(running)):
            n = running[t]
            most, came_from[t, :n] = (best[:n, :, None] + A).max(1)
            best = torch.cat([x[t, :n] + most, best[n:]])
        tag = (best + b).argmax(1)
        tags = torch.zeros(x.shape[:2], dtype=torch.int64, device=x.device)  # (T, B)
        for t in range(len(running) - 1, -1, -1):
            n = running[t]
            tags[t, :n] = tag[:n]
            if t:
                tag = torch.cat([came_from[t, :n].gather(1, tag[:n, None])[:, 0], tag[n:]])
        return order.by_row(tags, steps)

    @torch.no_grad()
    def along(self, x: Tensor, tags: Tensor, lengths: Tensor) -> Along:
        order, chain = Order.of(lengths), self.chain()
        lattice = Lattice.of(order.by_time(x), order, chain)
        y = order.by_time(tags)  # (T, B)
        own = [
            array.gather(2, y[..., None])[..., 0].clamp(min=TINY).log()
            for array in (lattice.p, lattice.backward(order, chain.b), lattice.e)
        ]
        enter, leave, e = own
        step = (lattice.P[y[:-1], y[1:]].clamp(min=TINY) / lattice.s[1:]).log() + e[1:]
        walk = torch.cat([torch.zeros_like(e[:1]), step]).cumsum(0)
        return Along(*(order.by_row(part, x.shape[1]) for part in (enter, walk, leave)))

    def describe(self) -> str:
        rules = "" if self.allowed_moves.all() else ", moves outside the scheme forbidden"
        return f"linear-chain CRF over {len(self.first)} tags{rules}"


def score(x: Tensor, tags: Tensor, lengths: Tensor, chain: Chain) -> Tensor:
    """s(y) (B,) of tags (B, T)."""
    keep = keep_mask(lengths, x.shape[1])
    own = x.gather(2, tags[..., None])[..., 0].masked_fill(~keep, 0).sum(1)
    moves = chain.A[tags[:, :-1], tags[:, 1:]].masked_fill(~keep[:, 1:], 0).sum(1)
    final = tags.gather(1, lengths[:, None] - 1)[:, 0]
    return own + moves + chain.a[tags[:, 0]] + chain.b[final]


def precise(x: Tensor) -> Tensor:
    """Sums over time are at least float32, whatever autocast has made of the scores."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
