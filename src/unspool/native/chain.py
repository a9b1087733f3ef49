"""The passes over time of a linear-chain CRF on the CPU, in float64.

A step of a chain is a product with a small matrix; as calls of torch, one a step, most of the time
would go into the calls. `nn/crf.py` has the equations, and the same on torch alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from unspool import native


def can_chain(x: Tensor) -> bool:
    """Whether the kernels take scores like these."""
    return native.INSTRUCTIONS is not None and x.device.type == "cpu"


def forward(e: Tensor, P: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """p (B, T, C), zero after the end of a sequence, and s (B, T), one after it: from e (B, T, C)
    and P (C, C) by p_t = (p_{t-1} P) ⊙ e_t / s_t."""
    p, s = torch.zeros_like(e), e.new_ones(e.shape[:2])
    _call("chain_forward", e, lengths, [e, P, p, s])
    return p, s


def backward(e: Tensor, P: Tensor, s: Tensor, last: Tensor, lengths: Tensor) -> Tensor:
    """q (B, T, C), zero after the end of a sequence: from last (B, C) at its end by
    q_t = P (e_{t+1} ⊙ q_{t+1}) / s_{t+1}."""
    q = torch.zeros_like(e)
    _call("chain_backward", e, lengths, [e, P.t().contiguous(), s, last, q])
    return q


def viterbi(x: Tensor, A: Tensor, a: Tensor, b: Tensor, lengths: Tensor) -> Tensor:
    """The best tags (B, T), zero after the end of a sequence."""
    tags = torch.zeros(x.shape[:2], dtype=torch.int64)
    _call("chain_viterbi", x, lengths, [x, A, a, b, tags])
    return tags


def _call(name: str, x: Tensor, lengths: Tensor, arrays: list[Tensor]) -> None:
    """Shapes and types are those that `nn/crf.py` makes; what a caller may get wrong is checked."""
    if lengths.shape != x.shape[:1] or lengths.dtype != torch.int64:
        raise TypeError(f"lengths must be {len(x)} int64, not {lengths.shape} {lengths.dtype}")
    if len(lengths) and not 1 <= int(lengths.min()) <= int(lengths.max()) <= x.shape[1]:
        raise ValueError(f"lengths must be between 1 and the {x.shape[1]} steps there are")
    if not all(t.is_contiguous() and t.dtype in (torch.float64, torch.int64) for t in arrays):
        raise TypeError("arrays of a chain must be float64 in a row")
    lengths = lengths.contiguous()
    addresses = [array.data_ptr() for array in arrays]
    getattr(native._kernels, name)(
        *x.shape, lengths.data_ptr(), *addresses, torch.get_num_threads()
    )
