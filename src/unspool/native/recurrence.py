"""One layer of a recurrent network, or one step of it, by the native kernels.

In: packed sequences x (N, I), or integers (N,) for one-hot vectors (see `nn/packing.py`), and for
each direction the weights of its cell and its start state. Out: the states h (N, H) and the final
state of each direction. The readable reference is the loop over `Cell.step`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from unspool import native
from unspool.native.operator import (
    LSTMS,
    WIDTH,
    Inputs,
    compute,
    per_direction,
    recurrence,
    room_for_u,
)

FEW = 8  # sequences, up to which a single step reads the weights as they are


class KernelWeights(NamedTuple):
    """Weights of a cell for the kernel `kind`; None where it has none.

    extra     peephole: P_i, P_f, P_o (3·H), peephole_full (3·H, H); gru_after: b_hn (H)
    update_new  GRUs: the update gate z multiplies the candidate, not the old state
    """

    kind: str
    W: Tensor
    b: Tensor
    U: Tensor | None = None
    extra: Tensor | None = None
    update_new: bool = False


class Direction(NamedTuple):
    weights: KernelWeights
    state: tuple[Tensor, ...]  # h (B, H), and c of LSTMs
    reverse: bool


def unsupported_reason(x: Tensor, state: Tensor) -> str | None:
    """None where the kernels can take an input and a state like these, otherwise the reason."""
    if native.INSTRUCTIONS is None:
        return f"no native kernels: {native.ABOUT}"
    if x.device.type != "cpu":
        return f"the native kernels run on the CPU, not on {x.device.type}"
    half = is_half()
    if torch.is_autocast_enabled("cpu") and not half:
        return f"the native kernels know no autocast to {torch.get_autocast_dtype('cpu')}"
    known = (torch.float32, torch.bfloat16) if half else (torch.float32,)
    if state.dtype != torch.float32 or (x.is_floating_point() and x.dtype not in known):
        return f"the native kernels compute in float32 or under bfloat16 autocast, not {x.dtype}"
    return None


def is_half() -> bool:
    """Whether products are to be of bfloat16."""
    return torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16


def run(
    x: Tensor, directions: list[Direction], offsets: Tensor
) -> list[tuple[Tensor, tuple[Tensor, ...]]]:
    """For each direction the states h (N, H) and the final state.

    offsets, integers on the CPU: where each time (T + 1) begins in x, or for scans each sequence
    (B + 1).
    """
    hidden = directions[0].state[0].shape[-1]
    half = is_half()
    pad = -hidden % WIDTH[half]
    fill = 0  # of x
    if x.is_floating_point():
        fill = -x.shape[1] % WIDTH[half] if half else 0
        x = padded(x.float(), (0, fill))
    lists: list[list[Tensor]] = [[], [], [], [], [], []]  # W, b, U, extra, h0, c0
    none = directions[0].weights.b.new_empty(0)
    for weights, state, _ in directions:
        rows, columns = (0, 0, 0, pad), (0, pad)
        tensors = (
            blocks(padded(weights.W, (0, fill)), 0, hidden, rows),
            blocks(weights.b, 0, hidden, columns),
            none if weights.U is None else blocks(padded(weights.U, columns), 0, hidden, rows),
            none if weights.extra is None else padded_extra(weights.extra, hidden, pad),
            padded(state[0], columns),
            padded(state[1], columns) if len(state) > 1 else none,
        )
        for values, value in zip(lists, tensors):
            values.append(value.contiguous())
    weights = directions[0].weights
    reverse = [direction.reverse for direction in directions]
    learning = torch.is_grad_enabled() and any(
        t.requires_grad for values in [[x], *lists] for t in values
    )
    inputs = Inputs(
        weights.kind, half, weights.update_new, reverse, learning, offsets, x.contiguous(), *lists
    )
    compiling = torch.compiler.is_compiling()
    flat = recurrence(*inputs) if learning or compiling else compute(inputs)
    results = []
    for kept in per_direction(flat):
        ends = (kept.h_end, kept.c_end) if weights.kind in LSTMS else (kept.h_end,)
        outputs = (kept.h, *ends) if not pad else [x[:, :hidden] for x in (kept.h, *ends)]
        results.append((outputs[0], tuple(outputs[1:])))
    return results


def padded(x: Tensor, pad: tuple[int, ...]) -> Tensor:
    """x itself where there is nothing to pad: F.pad would copy."""
    return F.pad(x, pad) if any(pad) else x


def blocks(x: Tensor, dim: int, hidden: int, pad: tuple[int, ...]) -> Tensor:
    """x with each of its blocks of `hidden` padded with zeros."""
    return F.pad(x.unflatten(dim, (-1, hidden)), pad).flatten(dim, dim + 1) if any(pad) else x


def padded_extra(extra: Tensor, hidden: int, pad: int) -> Tensor:
    """Blocks of vectors (K·H) or of matrices (K·H, H)."""
    if extra.dim() == 1:
        return blocks(extra, 0, hidden, (0, pad))
    return blocks(padded(extra, (0, pad)), 0, hidden, (0, 0, 0, pad))


class Stepper:
    """Single steps of one direction without gradients: x (B, I), the state in, the new state out.

    For serving and generation, where it is called for each token: `run` without all that a step
    does not need. H must be a multiple of 16. With `pack` the weights are packed once, and must
    stay as they are.
    """

    def __init__(self, weights: KernelWeights, hidden: int, *, pack: bool = False) -> None:
        self.weights, self.hidden, self.inputs = weights, hidden, weights.W.shape[1]
        arrays = {name: getattr(weights, name) for name in ("W", "b", "U", "extra")}
        self._stepper = native._kernels.Stepper(
            *(weights.kind, hidden, self.inputs, weights.update_new, arrays, pack),
            torch.get_num_threads(),
        )

    def __call__(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        new = tuple(torch.empty_like(s) for s in state)
        arrays = {"h0": state[0], "h": new[0]}
        if len(state) > 1:
            arrays["c0"], arrays["c"] = state[1], new[1]
        if x.is_floating_point():
            arrays["x"] = x
        else:
            arrays["gates"] = room_for_u(x, self.weights.W, self.weights.b)
        self._stepper.step(x.shape[0], arrays)
        return new
