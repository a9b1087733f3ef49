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
    _call("chain_forward", e=e, P=P, p=p, s=s, lengths=lengths)
    return p, s


def backward(e: Tensor, P: Tensor, s: Tensor, last: Tensor, lengths: Tensor) -> Tensor:
    """q (B, T, C), zero after the end of a sequence: from last (B, C) at its end by
    q_t = P (e_{t+1} ⊙ q_{t+1}) / s_{t+1}."""
    q = torch.zeros_like(e)
    P = P.t().contiguous()
    _call("chain_backward", e=e, P=P, s=s, last=last, q=q, lengths=lengths)
    return q


def viterbi(x: Tensor, A: Tensor, a: Tensor, b: Tensor, lengths: Tensor) -> Tensor:
    """The best tags (B, T), zero after the end of a sequence."""
    tags = torch.zeros(x.shape[:2], dtype=torch.int64)
    _call("chain_viterbi", x=x, A=A, a=a, b=b, tags=tags, lengths=lengths)
    return tags


def _call(name: str, **arrays: Tensor) -> None:
    """C++ checks the arrays; their names and shapes are in cpp/passing.cpp."""
    arrays["lengths"] = arrays["lengths"].contiguous()
    getattr(native._kernels, name)(arrays, torch.get_num_threads())
