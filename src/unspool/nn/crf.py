"""From scores of tags to tags: a softmax at each step, or a linear-chain conditional random field
(CRF, Lafferty et al. 2001) over the tags of a sequence.

In: scores (B, T, C) of C tags at each step, lengths (B,) on the CPU. Out: the negative log
likelihood of given tags, the best tags, or the probability of each tag and of any span of tags.

The sums of a CRF over all sequences of tags take one pass over time, the forward algorithm.
`log_partition` is the readable reference of log Z, by logarithms of sums. `Lattice` has the same by
sums that are scaled at each step (Rabiner 1989, section V.A), in float64: a product of matrices a
step, and a gradient from the backward pass rather than by retracing the forward one. Its passes
over time, and Viterbi's, are native kernels too; `forward`, `backward` and `viterbi` do the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from unspool.native import chain as native_chain
from unspool.native.chain import can_chain
from unspool.nn.masks import at_last, keep_mask, true_rows, where_kept
from unspool.nn.taps import overridable

FORBIDDEN = -1e30  # a score below any sum of real ones, and far from the end of float32
TINY = 1e-300


class Allowed(NamedTuple):
    """Allowed transitions (C, C), and tags that may begin or end a sequence, (C,) each; boolean."""

    transitions: Tensor
    start: Tensor
    end: Tensor


class SpanScores(NamedTuple):
    """Logarithms (B, T) along one sequence of tags y, for the probability of any span of it:

    p(y_s ... y_e) = exp(before[s] + inside[e] - inside[s] + after[e])
    """

    before: Tensor
    inside: Tensor
    after: Tensor


class TagOutput(nn.Module, ABC):
    """Quantities computed from scores (B, T, C); padding is ignored."""

    def forward(self, x: Tensor) -> Tensor:
        """The scores themselves; the other methods choose from them."""
        return x

    @abstractmethod
    def loss(self, x: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """-log p (B,) of tags (B, T)."""

    @abstractmethod
    def best(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The most probable tags (B, T), zero at padding."""

    @abstractmethod
    def span_scores(self, x: Tensor, tags: Tensor, lengths: Tensor) -> SpanScores:
        """Terms from which the probability of any span of tags (B, T) is computed."""

    @abstractmethod
    def streaming_unsupported_reason(self) -> str | None:
        """None where the tags of some steps do not depend on later ones, otherwise the reason."""

    @abstractmethod
    def describe(self) -> str: ...


class SeparateTags(TagOutput):
    """p(y) = Π_t softmax(x_t)[y_t]: each tag independently.

    label_smoothing   share of the target that is spread over all tags, in training
    """

    def __init__(self, *, label_smoothing: float = 0.0) -> None:
        super().__init__()
        self.label_smoothing = label_smoothing

    def loss(self, x: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        keep = keep_mask(lengths, x.shape[1])  # on the CPU
        smoothing = self.label_smoothing if self.training else 0.0
        losses = F.cross_entropy(
            where_kept(x, keep).float(),
            where_kept(tags, keep),
            reduction="none",
            label_smoothing=smoothing,
        )
        rows = keep.nonzero()[:, 0].to(x.device)
        return losses.new_zeros(len(x)).index_add(0, rows, losses)

    def best(self, x: Tensor, lengths: Tensor) -> Tensor:
        return x.argmax(2).masked_fill(~keep_mask(lengths, x.shape[1], device=x.device), 0)

    def span_scores(self, x: Tensor, tags: Tensor, lengths: Tensor) -> SpanScores:
        log_p = x.double().log_softmax(2).gather(2, tags[..., None])[..., 0]
        log_p = log_p.masked_fill(~keep_mask(lengths, x.shape[1], device=x.device), 0)
        return SpanScores(log_p, log_p.cumsum(1), torch.zeros_like(log_p))

    def streaming_unsupported_reason(self) -> None:
        return None

    def describe(self) -> str:
        return "softmax at each step"


class Chain(NamedTuple):
    """The scores of transitions: A (C, C) from row to column, a (C,) of starting with a tag, b (C,)
    of ending with it; FORBIDDEN where not allowed."""

    A: Tensor
    a: Tensor
    b: Tensor


def log_partition(x: Tensor, lengths: Tensor, chain: Chain) -> Tensor:
    """log Z (B,) of scores x (B, T, C), by

    α_1 = a + x_1,      α_t[j] = x_t[j] + log Σ_i exp(α_{t-1}[i] + A[i, j])
    """
    A, a, b = chain
    keep = keep_mask(lengths, x.shape[1], device=x.device)[..., None].unbind(1)
    alpha = a + x[:, 0]  # (B, C)
    for t in range(1, x.shape[1]):
        new = x[:, t] + torch.logsumexp(alpha[:, :, None] + A, 1)
        alpha = torch.where(keep[t], new, alpha)
    return torch.logsumexp(alpha + b, 1)


class Lattice(NamedTuple):
    """The forward pass over scores; all in float64.

    e_t = exp(x_t - m_t),  m_t = max x_t,  P = exp(A)
    p_1 = e_1 / s_1,      p_t = (p_{t-1} P) ⊙ e_t / s_t,      s_t so that Σ p_t = 1
    z = p_T · exp(b),      log Z = log z + Σ_t (log s_t + m_t)

    where x_1 has a added to it.
    """

    e: Tensor  # (B, T, C)
    P: Tensor  # (C, C)
    p: Tensor  # (B, T, C), zero after the end of a sequence
    s: Tensor  # (B, T), one after it
    last: Tensor  # (B, C): exp(b) / z
    log_z: Tensor  # (B,)

    @classmethod
    def of(cls, x: Tensor, lengths: Tensor, chain: Chain) -> Lattice:
        A, a, b = (scores.double() for scores in chain)
        x = x.double()
        x = torch.cat([x[:, :1] + a, x[:, 1:]], 1)
        m = x.amax(2)  # (B, T)
        e, P = torch.exp(x - m[..., None]), torch.exp(A)
        p, s = (native_chain.forward if can_chain(x) else forward)(e, P, lengths)
        ends = at_last(p, lengths)  # (B, C)
        z = (ends @ torch.exp(b)).clamp(min=TINY)
        sums = s.log() + m.masked_fill(~keep_mask(lengths, x.shape[1], device=x.device), 0)
        return cls(e, P, p, s, torch.exp(b) / z[:, None], z.log() + sums.sum(1))

    def backward(self, lengths: Tensor) -> Tensor:
        """q (B, T, C), with which p_t ⊙ q_t is the probability of each tag at t:

        q_T = exp(b) / z,      q_t = P (e_{t+1} ⊙ q_{t+1}) / s_{t+1}
        """
        step = native_chain.backward if can_chain(self.e) else backward
        return step(self.e, self.P, self.s, self.last, lengths)

    def expected_transitions(self, q: Tensor, weight: Tensor) -> Tensor:
        """(C, C) how often each transition is expected, of sequences weighted by `weight` (B,)."""
        arrived = self.e[:, 1:] * q[:, 1:] / self.s[:, 1:, None]
        left = self.p[:, :-1] * weight[:, None, None]
        return (left.flatten(0, 1).t() @ arrived.flatten(0, 1)) * self.P


def forward(e: Tensor, P: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """p and s of a `Lattice`."""
    p, s = torch.zeros_like(e), e.new_ones(e.shape[:2])
    for t in range(int(lengths.max())):
        on = true_rows(lengths > t, e.device)
        new = e[on, t] if t == 0 else (p[on, t - 1] @ P) * e[on, t]
        # Scores so far apart that all of them vanish must not divide zero by zero.
        s[on, t] = new.sum(1).clamp(min=TINY)
        p[on, t] = new / s[on, t, None]
    return p, s


def backward(e: Tensor, P: Tensor, s: Tensor, last: Tensor, lengths: Tensor) -> Tensor:
    """q of a `Lattice`."""
    q = torch.zeros_like(e)
    for t in range(int(lengths.max()) - 1, -1, -1):
        ends, on = true_rows(lengths == t + 1, e.device), true_rows(lengths > t + 1, e.device)
        q[ends, t] = last[ends]
        if t + 1 < e.shape[1]:
            q[on, t] = (e[on, t + 1] * q[on, t + 1] / s[on, t + 1, None]) @ P.t()
    return q


def viterbi(x: Tensor, A: Tensor, a: Tensor, b: Tensor, lengths: Tensor) -> Tensor:
    """The best tags (B, T): the forward algorithm with a maximum in place of the sum."""
    keep = keep_mask(lengths, x.shape[1], device=x.device)
    best = a + x[:, 0]  # (B, C), of sequences that have ended: at their end
    came_from = torch.zeros(x.shape, dtype=torch.int64, device=x.device)
    for t in range(1, x.shape[1]):
        most, came_from[:, t] = (best[:, :, None] + A).max(1)
        best = torch.where(keep[:, t, None], x[:, t] + most, best)
    tag = (best + b).argmax(1)
    tags = torch.zeros(x.shape[:2], dtype=torch.int64, device=x.device)
    for t in range(x.shape[1] - 1, -1, -1):
        tags[:, t] = tag.where(keep[:, t], 0)
        tag = came_from[:, t].gather(1, tag[:, None])[:, 0].where(keep[:, t], tag)
    return tags


class LogPartition(torch.autograd.Function):
    """`log_partition` by a `Lattice`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, lengths: Tensor, A: Tensor, a: Tensor, b: Tensor) -> Tensor:
        lattice = Lattice.of(x, lengths, Chain(A, a, b))
        ctx.save_for_backward(lengths, *lattice)
        ctx.dtype = x.dtype
        return lattice.log_z.to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        lengths, *parts = ctx.saved_tensors
        lattice, weight = Lattice(*parts), grad.double()
        q = lattice.backward(lengths)
        chances = lattice.p * q * weight[:, None, None]  # (B, T, C)
        ends = at_last(chances, lengths)
        gradients = (lattice.expected_transitions(q, weight), chances[:, 0].sum(0), ends.sum(0))
        return (chances.to(ctx.dtype), None, *(each.to(ctx.dtype) for each in gradients))


class CRF(TagOutput):
    """A linear-chain CRF with the learnt transition scores A, a and b:

        s(y) = a[y_1] + Σ_t x_t[y_t] + Σ_{t>1} A[y_{t-1}, y_t] + b[y_T]
        p(y) = exp(s(y)) / Z,      Z = Σ_y exp(s(y))

    A transition that is not allowed has probability 0 and no gradient.
    """

    def __init__(self, tags: int, allowed: Allowed | None = None) -> None:
        super().__init__()
        self.allowed_transitions: Tensor
        self.allowed_start: Tensor
        self.allowed_end: Tensor
        self.transitions = nn.Parameter(torch.zeros(tags, tags))
        self.start = nn.Parameter(torch.zeros(tags))
        self.end = nn.Parameter(torch.zeros(tags))
        every = (torch.ones(tags, tags), torch.ones(tags), torch.ones(tags))
        names = ("allowed_transitions", "allowed_start", "allowed_end")
        for name, mask in zip(names, allowed or every):
            # Not saved: they follow from the names of the tags.
            self.register_buffer(name, mask.bool(), persistent=False)

    def chain(self) -> Chain:
        """The scores with FORBIDDEN where a transition is not allowed."""
        return Chain(
            self.transitions.where(self.allowed_transitions, FORBIDDEN),
            self.start.where(self.allowed_start, FORBIDDEN),
            self.end.where(self.allowed_end, FORBIDDEN),
        )

    def loss(self, x: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """-log p (B,) of tags (B, T)."""
        x, chain = precise(x), self.chain()
        return LogPartition.apply(x, lengths, *chain) - score(x, tags, lengths, chain)

    @overridable
    @torch.no_grad()
    def best(self, x: Tensor, lengths: Tensor) -> Tensor:
        run = native_chain.viterbi if can_chain(x) else viterbi
        A, a, b = (scores.double() for scores in self.chain())
        return run(x.double().contiguous(), A, a, b, lengths)

    @torch.no_grad()
    def span_scores(self, x: Tensor, tags: Tensor, lengths: Tensor) -> SpanScores:
        lattice = Lattice.of(x, lengths, self.chain())
        before, after, e = (
            array.gather(2, tags[..., None])[..., 0].clamp(min=TINY).log()
            for array in (lattice.p, lattice.backward(lengths), lattice.e)
        )
        step = lattice.P[tags[:, :-1], tags[:, 1:]].clamp(min=TINY) / lattice.s[:, 1:]
        inside = torch.cat([torch.zeros_like(e[:, :1]), step.log() + e[:, 1:]], 1).cumsum(1)
        return SpanScores(before, inside, after)

    def streaming_unsupported_reason(self) -> str:
        return "its CRF chooses the tags of a whole sequence together"

    def describe(self) -> str:
        rules = (
            "" if self.allowed_transitions.all() else ", transitions outside the scheme forbidden"
        )
        return f"linear-chain CRF over {len(self.start)} tags{rules}"


def score(x: Tensor, tags: Tensor, lengths: Tensor, chain: Chain) -> Tensor:
    """s(y) (B,) of tags (B, T)."""
    keep = keep_mask(lengths, x.shape[1], device=x.device)
    emissions = x.gather(2, tags[..., None])[..., 0].masked_fill(~keep, 0).sum(1)
    transitions = chain.A[tags[:, :-1], tags[:, 1:]].masked_fill(~keep[:, 1:], 0).sum(1)
    final = at_last(tags, lengths)
    return emissions + transitions + chain.a[tags[:, 0]] + chain.b[final]


def precise(x: Tensor) -> Tensor:
    """Sums over time are at least float32, whatever autocast has made of the scores."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
