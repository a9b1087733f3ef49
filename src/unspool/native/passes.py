"""Passes over large float32 arrays of the CPU: dropout; the gradient of a softmax with its loss.

torch samples the mask of dropout in one thread, and takes ten passes over the logits of a softmax
layer to get their gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor

from unspool import native


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
