"""Copying: a decoder writes a token of its vocabulary, or one of the source (See et al. 2017).

In: vectors h (..., size) of a decoder, its alignment α (..., S), and the tokens of the source as
`Copies`. Out: log probabilities (..., V + X) of the extended vocabulary: after the V tokens of the
decoder's come the X tokens of the source that it does not have.

    p_gen = σ(wᵀ h + b)
    p(y)  = p_gen softmax(V h + b)_y + (1 − p_gen) Σ_{j: x_j = y} α_j

h holds the context and the state (`W_c [c; s]`), and the state the latest token, so p_gen depends
on all that it depends on in the paper.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn import init
from unspool.nn.cross_entropy import linear_mixture_cross_entropy
from unspool.nn.encoder import Copies
from unspool.nn.heads import TokenOutput
from unspool.nn.inputs import SharedEmbedding, TokenEmbedding


def number_tokens(ids: Tensor, vocab: int) -> Copies:
    """In each row, tokens (B, S) beyond the vocabulary get the numbers `vocab`, `vocab` + 1, ..."""
    values, order = ids.sort(1)
    new = (values >= vocab) & (F.pad(values, (1, 0), value=-1)[:, :-1] != values)
    numbers = torch.where(values < vocab, values, vocab - 1 + new.cumsum(1))
    most = int(new.sum(1).max()) if ids.numel() else 0
    return Copies(torch.empty_like(ids).scatter_(1, order, numbers), vocab + most)


class CopyTable(NamedTuple):
    """Tokens that each of R rows may copy, ready for a search.

    ids     (R, S) tokens of the extended vocabulary
    slots   (R, S) where the same token stands first
    first   (R, S) whether it is that one; nowhere at padding
    beyond  (R, X) 0 for the tokens beyond the vocabulary that this row has, −inf for the others
    """

    ids: Tensor
    slots: Tensor
    first: Tensor
    beyond: Tensor

    @classmethod
    def of(cls, copies: Copies, keep: Tensor | None, vocab: int) -> CopyTable:
        if copies.size is None:
            copies = number_tokens(copies.ids, vocab)
        ids = copies.ids
        assert copies.size is not None
        positions = torch.arange(ids.shape[1], device=ids.device)
        # Of each token of the extended vocabulary its first position, the smallest.
        homes = torch.full((len(ids), copies.size), ids.shape[1], device=ids.device)
        real = positions if keep is None else positions.where(keep, ids.shape[1])
        homes.scatter_reduce_(1, ids, real.expand_as(ids), "amin")
        slots = homes.gather(1, ids).clamp(max=ids.shape[1] - 1)
        first = slots == positions
        if keep is not None:
            first &= keep
        present = homes[:, vocab:] < ids.shape[1]
        zero = torch.zeros((), device=ids.device)
        return cls(ids, slots, first, torch.where(present, zero, -torch.inf))

    def select(self, rows: Tensor) -> CopyTable:
        return CopyTable(*(each.index_select(0, rows) for each in self))


class CopyOutput(TokenOutput):
    """The output layer of a decoder that copies. Its scores (..., V + 1) are those of the tokens,
    and that of generating: wᵀ h + b, in the last column.
    """

    def __init__(
        self, size: int, vocab: int, *, tied_to: TokenEmbedding | SharedEmbedding | None = None
    ) -> None:
        super().__init__(size, vocab, tied_to=tied_to)
        self.generate = nn.Linear(size, 1)
        init.linear_(self.generate)

    @property
    def vocab(self) -> int:
        return len(self.b)

    def forward(self, h: Tensor) -> Tensor:
        return torch.cat([super().forward(h), self.generate(h)], -1)

    def folded(self) -> tuple[Tensor, Tensor]:
        V, b = super().folded()
        return torch.cat([V, self.generate.weight]), torch.cat([b, self.generate.bias])

    def mix(self, scores: Tensor, alignment: Tensor, table: CopyTable) -> Tensor:
        """Log probabilities (R, V + X) from scores (R, V + 1) and α (R, S), in float32 at least.

        Only the columns of tokens of the source differ from those of the softmax:
        log(a + b) = log a + softplus(log b − log a).
        """
        number = torch.promote_types(scores.dtype, torch.float32)
        gate, alignment = scores[:, -1:].to(number), alignment.to(number)
        made = scores[:, :-1].to(number).log_softmax(-1) + F.logsigmoid(gate)
        mass = torch.zeros_like(alignment).scatter_add(1, table.slots, alignment)
        copied = F.logsigmoid(-gate) + log_positive(mass)  # (R, S)
        known = table.ids < self.vocab
        old = made.gather(1, table.ids.where(known, 0))
        more = torch.where(known, F.softplus(copied - old), copied)
        whole = torch.cat([made, table.beyond.to(number)], 1)
        return whole.scatter_add(1, table.ids, more.masked_fill(~table.first, 0.0))

    def copy_loss(
        self, h: Tensor, targets: Tensor, copied: Copied, *, label_smoothing: float = 0.0
    ) -> Tensor:
        """The mean of −log p of targets (N,), in little memory; `targets` are of the vocabulary."""
        gen, copy = self._weights(h, copied)
        h, V = self._inputs(h)
        return linear_mixture_cross_entropy(
            h, V, self.b, targets, gen, copy, label_smoothing=label_smoothing
        )

    def copy_token_losses(self, h: Tensor, targets: Tensor, copied: Copied) -> Tensor:
        """The loss of each target (N,), without a gradient."""
        with torch.no_grad():
            gen, copy = self._weights(h, copied)
            return -torch.logaddexp(gen - self.token_losses(h, targets), copy)

    def _weights(self, h: Tensor, copied: Copied) -> tuple[Tensor, Tensor]:
        """log p_gen, and log (1 − p_gen) with the log of what is copied; (N,) each."""
        gate = self.generate(h)[:, 0]
        gate = gate.to(torch.promote_types(gate.dtype, torch.float32))
        gen = F.logsigmoid(gate).masked_fill(copied.only, -torch.inf)
        copy = F.logsigmoid(-gate) + log_positive(copied.mass.to(gate.dtype))
        return gen, copy.masked_fill(~copied.there, -torch.inf)

    def describe(self) -> str:
        return f"{super().describe()}, or copied from the source"


class Copied(NamedTuple):
    """Attention mass on copies of each of N targets.

    mass    (N,) Σ_{j: x_j = y} α_j
    there   (N,) whether the source has the target
    only    (N,) whether nothing but the source has it
    """

    mass: Tensor
    there: Tensor
    only: Tensor

    @classmethod
    def of(cls, alignment: Tensor, source: Tensor, targets: Tensor, vocab: int) -> Copied:
        """alignment (B, T, S), source (B, S) and targets (B, T) numbered alike -> (B, T)"""
        same = source[:, None] == targets[:, :, None]  # (B, T, S)
        present = same.any(-1)
        return cls((alignment * same).sum(-1), present, present & (targets >= vocab))


class CopyShares(NamedTuple):
    """Source of each of T written tokens.

    gate      (T,) p_gen
    copied    (T,) the probability that it was copied, given that it was written
    position  (T,) the step of the source that it was copied from most probably; −1 where the source
              does not have it
    """

    gate: Tensor
    copied: Tensor
    position: Tensor


def copy_shares(
    output: CopyOutput, h: Tensor, alignment: Tensor, source: Tensor, written: Tensor
) -> CopyShares:
    """h (T, size), alignment (T, S), source (S,) and written (T,) as tokens of the extended
    vocabulary."""
    scores = output(h).double()
    gate = torch.sigmoid(scores[:, -1])
    softmax, known = scores[:, :-1].softmax(-1), written < output.vocab
    made = softmax.gather(1, written.where(known, 0)[:, None])[:, 0] * known
    weights = alignment.double() * (source == written[:, None])
    best, position = weights.max(-1)
    copied = (1 - gate) * weights.sum(-1)
    share = copied / (copied + gate * made).clamp(min=torch.finfo(torch.double).tiny)
    return CopyShares(gate, share, position.where(best > 0, -1))


def log_positive(x: Tensor) -> Tensor:
    """log x, finite where x is 0, with a finite gradient."""
    return torch.log(x + torch.finfo(x.dtype).tiny)


def coverage_loss(alignment: Tensor, keep: Tensor) -> Tensor:
    """Mean over the targets of Σ_j min(α_tj, Σ_{t' < t} α_t'j) (See et al. 2017, equation 12);
    alignment (B, T, S), keep (B, T)."""
    before = alignment.cumsum(1) - alignment
    return (torch.minimum(alignment, before).sum(-1) * keep).sum() / keep.sum()
