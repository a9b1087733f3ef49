"""Passes over large float32 arrays of the CPU: dropout; the gradient of a softmax with its loss;
log probabilities of a decoder that copies.

torch samples the mask of dropout in one thread, and takes ten passes over the logits of a softmax
layer to get their gradient, and nearly as many over those of a decoder that copies.
"""

from __future__ import annotations

import torch
from torch import Tensor

from unspool import native
from unspool.native.memory import empty


def can_pass(x: Tensor) -> bool:
    """Whether the kernels take this array."""
    return (
        native.INSTRUCTIONS is not None
        and x.dtype == torch.float32
        and x.device.type == "cpu"
        and x.is_contiguous()
    )


def dropout(x: Tensor, rate: float, key: int) -> Tensor:
    """x / (1 − rate) where a hash of the index and the `key` (64 bits) keeps it, elsewhere 0."""
    y = torch.empty_like(x)
    native._kernels.dropout(x, y, key, rate, torch.get_num_threads())
    return y


def softmax_gradient_(logits: Tensor, targets: Tensor, *, smoothing: float, scale: float) -> float:
    """The sum over rows of CE(logits (N, K), targets (N,)), where a target is
    (1 − smoothing) onehot(y) + smoothing / K. In place of the logits: the gradient of that sum,
    times `scale`."""
    return native._kernels.softmax_gradient(
        logits, targets, smoothing, scale, torch.get_num_threads()
    )


def log_mixture(
    scores: Tensor, alignment: Tensor, tokens: Tensor, sources: Tensor, *, vocab: int, size: int
) -> Tensor:
    """Log probabilities (R, size) of the extended vocabulary; the reference is `CopyOutput.mix`.

    scores     (R, K) of `vocab` tokens, then of generating; what comes after is not read
    alignment  (R, S)
    tokens     (M, S) of the extended vocabulary, -1 at padding
    sources    (R,) int32: which of the M is a row's own
    """
    log_p = empty(len(scores), size, dtype=torch.float32)
    arrays = {
        "scores": scores, "alignment": alignment, "tokens": tokens, "sources": sources,
        "log_p": log_p,
    }  # fmt: skip
    native._kernels.log_mixture(arrays, vocab, torch.get_num_threads())
    return log_p
