"""The loss of a softmax layer over a large vocabulary, without its logits in memory.

In: vectors h (N, H), the layer's V (K, H) and b (K), targets (N,). Out: the mean cross-entropy.
N·K logits, their softmax and their gradient would be the largest tensors of a language model by
far. Here some rows at a time go through the layer, and since the loss is a plain sum over rows,
their part of every gradient is computed at once, and the logits are never needed again.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from unspool.native import arrays

CHUNK = 2**23  # logits at a time, 32 MB: fewer bound memory no better and take longer


def linear_cross_entropy(
    h: Tensor, V: Tensor, b: Tensor, targets: Tensor, *, label_smoothing: float = 0.0
) -> Tensor:
    """mean_n CE(V h_n + b, y_n), as `F.cross_entropy(F.linear(h, V, b), targets)` gives it.

    With label smoothing ε the target is (1 − ε) onehot(y) + ε / K.
    """
    return _LinearCrossEntropy.apply(h, V, b, targets, label_smoothing)


def linear_token_losses(h: Tensor, V: Tensor, b: Tensor, targets: Tensor) -> Tensor:
    """(N,) the loss of each row, without a gradient."""
    with torch.no_grad():
        losses = [
            F.cross_entropy(F.linear(rows, V, b).float(), y, reduction="none")
            for rows, y in zip(h.split(_rows(V)), targets.split(_rows(V)))
        ]
    return torch.cat(losses)


def linear_mixture_cross_entropy(
    h: Tensor,
    V: Tensor,
    b: Tensor,
    targets: Tensor,
    log_gen: Tensor,
    log_copy: Tensor,
    *,
    label_smoothing: float = 0.0,
) -> Tensor:
    """mean_n −log(exp(log_gen_n) p_n(y_n) + exp(log_copy_n)) with p_n = softmax(V h_n + b).

    log_gen   (N,) of the softmax's weight; −inf where it cannot give the target
    log_copy  (N,) of what comes from elsewhere; −inf where nothing does; never both

    With label smoothing ε: (1 − ε) times this, and ε times the mean of −log p_n(k) over the K
    tokens of the vocabulary.
    """
    return _LinearMixture.apply(h, V, b, targets, log_gen, log_copy, label_smoothing)


def _rows(V: Tensor) -> int:
    return max(1, CHUNK // len(V))


def softmax_gradient_(
    logits: Tensor, targets: Tensor, *, smoothing: float, scale: float
) -> Tensor | float:
    """The sum of the rows' losses; in place of the logits (n, K) its gradient, times `scale`:

    ∂CE/∂z = softmax(z) − (1 − ε) onehot(y) − ε / K
    """
    if arrays.can_pass(logits):
        return arrays.softmax_gradient_(logits, targets, smoothing=smoothing, scale=scale)
    y = targets[:, None]
    log_z = logits.logsumexp(-1, keepdim=True)
    loss = (log_z - (1 - smoothing) * logits.gather(1, y)).sum()
    loss -= smoothing * logits.mean(-1).sum()
    logits.sub_(log_z).exp_().sub_(smoothing / logits.shape[1])
    logits.scatter_add_(1, y, torch.full_like(log_z, smoothing - 1)).mul_(scale)
    return loss


class _LinearCrossEntropy(torch.autograd.Function):
    """Forward computes the loss and, as ∂CE/∂logits = softmax − target, all gradients too."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, V: Tensor, b: Tensor, targets: Tensor, smoothing: float
    ) -> Tensor:
        count = len(h)
        wanted = any(ctx.needs_input_grad[:3])
        total = h.new_zeros((), dtype=torch.promote_types(h.dtype, torch.float32))
        dh, dV, db = torch.empty_like(h), torch.zeros_like(V), torch.zeros_like(b)
        step = _rows(V)
        for start in range(0, count, step):
            rows, y = h[start : start + step], targets[start : start + step]
            logits = F.linear(rows, V, b).to(total.dtype)  # (n, K)
            if not wanted:
                total += F.cross_entropy(logits, y, reduction="sum", label_smoothing=smoothing)
                continue
            total += softmax_gradient_(logits, y, smoothing=smoothing, scale=1 / count)
            g = logits
            dh[start : start + step] = torch.mm(g, V)
            dV += torch.mm(g.t(), rows)
            db += (g.new_ones(1, len(g)) @ g)[0]  # several times as fast as g.sum(0)
        ctx.save_for_backward(dh, dV, db)
        return total / count

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        dh, dV, db = ctx.saved_tensors
        return dh * scale, dV * scale, db * scale, None, None


class _LinearMixture(torch.autograd.Function):
    """Like `_LinearCrossEntropy`, where the softmax gives only a part of each probability. With
    r = exp(log_gen) p(y) / (exp(log_gen) p(y) + exp(log_copy)), the share of the softmax, the
    gradient by its logits is r times that of the cross-entropy."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        V: Tensor,
        b: Tensor,
        targets: Tensor,
        log_gen: Tensor,
        log_copy: Tensor,
        smoothing: float,
    ) -> Tensor:
        count, tokens = h.shape[0], V.shape[0]
        number = torch.promote_types(h.dtype, torch.float32)
        total = h.new_zeros((), dtype=number)
        dh, dV, db = torch.empty_like(h), torch.zeros_like(V), torch.zeros_like(b)
        shares = []
        step = _rows(V)
        for start in range(0, count, step):
            at = slice(start, start + step)
            rows, y = h[at], targets[at]
            logits = F.linear(rows, V, b).to(number)  # (n, K)
            log_z = logits.logsumexp(-1)
            made = log_gen[at] + logits.gather(1, y[:, None])[:, 0] - log_z
            log_p = torch.logaddexp(made, log_copy[at])
            share = torch.exp(made - log_p)
            shares.append(share)
            total -= (1 - smoothing) * log_p.sum()
            if smoothing:
                total += smoothing * (log_z - logits.mean(-1)).sum()
            # ε (softmax − 1/K) = ε (softmax − onehot) + ε (onehot − 1/K): the first goes with the
            # rest, and of the second no (n, K) is made.
            softmax_gradient_(logits, y, smoothing=0.0, scale=1 / count)
            weight = ((1 - smoothing) * share + smoothing).to(rows.dtype)[:, None]
            dh[at] = torch.mm(logits, V) * weight
            dV += torch.mm(logits.t(), rows * weight)
            db += (weight.t() @ logits)[0]
            if smoothing:
                scale = smoothing / count
                dh[at] += scale * (V.index_select(0, y) - V.mean(0))
                rows = rows.to(V.dtype)  # autocast leaves V in float32
                dV.index_add_(0, y, rows, alpha=scale).sub_(rows.sum(0), alpha=scale / tokens)
                db.index_add_(0, y, b.new_ones(len(rows)), alpha=scale)
                db -= scale * len(rows) / tokens
        share = torch.cat(shares) if shares else log_gen
        scale = (1 - smoothing) / max(1, count)
        ctx.save_for_backward(dh, dV, db, -scale * share, -scale * (1 - share))
        return total / count

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Any, ...]:
        dh, dV, db, dgen, dcopy = (gradient * scale for gradient in ctx.saved_tensors)
        return dh, dV, db, None, dgen, dcopy, None
