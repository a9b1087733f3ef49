"""The ways to run a layer of cells over a batch: which one is taken, and why another is not.

    loop      `unroll`: the cell's `step` at each time, the readable reference
    sequence  `run_sequence`: the cell's own way for whole sequences, such as torch's fused kernels
    native    `run_native`: the C++ kernels, over packed rows, all directions in one call

In: the cells of one layer, a `PackedBatch`, their states. Out: the final states; the batch then
holds the outputs. All ways give the same numbers. Steps without gradients have a fourth,
`run_single_step`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal

import torch
from torch import Tensor

from unspool.native import recurrence
from unspool.native.recurrence import KernelWeights, Stepper
from unspool.nn.cells import Cell, State
from unspool.nn.masks import keep_mask, reverse, zero_padding
from unspool.nn.network import NetworkOutput, RecurrentState
from unspool.nn.packing import PackedBatch, Packing
from unspool.nn.taps import over_time, recording

Fast = Literal["auto", True, False]

BACKEND = "inductor"  # of torch.compile


def run_layer(
    cells: tuple[Cell, ...], batch: PackedBatch, states: tuple[State, ...], *, fast: Fast, name: str
) -> tuple[State, ...]:
    """One layer, in the fastest way that there is for it; `name` is that of its cell."""
    kernel_weights = (
        [] if fast is False else [weights for cell in cells if (weights := cell.native())]
    )
    reason = native_unsupported_reason(cells, kernel_weights, batch.sample(), fast=fast)
    if reason is None:
        outputs, ends = run_native(kernel_weights, batch.packed(), batch.packing, states)
        batch.replace(packed=outputs)
        return ends
    x, runs = batch.padded(), []
    for d, (cell, state) in enumerate(zip(cells, states)):
        other = sequence_unsupported_reason(cell, x, fast=fast)
        if fast is True and other is not None:
            reasons = "; ".join(dict.fromkeys((other, reason)))
            raise ValueError(f"fast=True cannot run cell {name!r}: {reasons}")
        run = run_sequence if other is None else unroll
        runs.append(run(cell, x, batch.lengths, state, backwards=d == 1))
    # One type of output whatever path and autocast made it: that of the state.
    alike = [outputs.to(end[0].dtype) for outputs, end in runs]
    batch.replace(padded=torch.cat(alike, -1))  # (B, T, D·H)
    return tuple(end for _, end in runs)


def native_unsupported_reason(
    cells: tuple[Cell, ...], kernel_weights: list[KernelWeights], x: Tensor, *, fast: Fast
) -> str | None:
    """None where the native kernels can run a layer that reads x; `kernel_weights` are of the cells
    that have kernels."""
    if fast is False:
        return "fast=False"
    if any(recording(cell) for cell in cells):
        return "a tap is recorded"
    if len(kernel_weights) < len(cells):
        return cells[0].native_unsupported_reason(x)
    return recurrence.unsupported_reason(x, kernel_weights[0].W)


def sequence_unsupported_reason(cell: Cell, x: Tensor, *, fast: Fast) -> str | None:
    """None where the cell's `sequence` can read x."""
    if fast is False:
        return "fast=False"
    if recording(cell):
        return "a tap is recorded"
    return cell.sequence_unsupported_reason(x)


def steppers_for(
    cells: tuple[tuple[Cell, ...], ...], x: Tensor, *, fast: Fast
) -> list[list[Stepper]] | None:
    """The kernels of a single step x (B, 1, I), as [layer][direction]; None where any has none."""
    if x.shape[1] != 1 or fast is False or torch.is_grad_enabled():
        return None
    by_layer = []
    for layer in cells:
        steppers = []
        for cell in layer:
            stepper = cell.single_step(x)
            if stepper is None:
                return None
            steppers.append(stepper)
        by_layer.append(steppers)
    return by_layer


def run_single_step(
    steppers: list[list[Stepper]], x: Tensor, state: RecurrentState
) -> NetworkOutput:
    """Result of `unroll` for T = 1, without the overhead of a sequence around its kernel."""
    x = x[:, 0].contiguous()
    final = []
    for layer, start in zip(steppers, state):
        ends = tuple(step(x, s) for step, s in zip(layer, start))
        x = ends[0][0] if len(ends) == 1 else torch.cat([end[0] for end in ends], -1)
        final.append(ends)
    return NetworkOutput(x[:, None], tuple(final))


def unroll(
    cell: Cell, x: Tensor, lengths: Tensor | None, state: State, *, backwards: bool = False
) -> tuple[Tensor, State]:
    """The reference: `cell.step` at each time, t = 1 .. T or T .. 1.

    Where t is beyond a sequence's length its state is kept and its output is 0. So a backward
    pass meets the padding first, and leaves it with the state it started from.
    """
    steps = x.shape[1]
    # Up to the shortest length there is nothing to mask.
    shortest = steps if lengths is None else int(lengths.min())
    keep: tuple[Tensor, ...] = ()  # T x (B, 1)
    if lengths is not None:
        keep = keep_mask(lengths, steps, device=x.device)[..., None].unbind(1)
    u = cell.project(x).unbind(1)
    step = compiled_step(cell, x)
    outputs = [u[0]] * steps
    with over_time(cell, reverse=backwards):
        for t in reversed(range(steps)) if backwards else range(steps):
            output, new = step(u[t], state)
            if t >= shortest:
                output = torch.where(keep[t], output, 0)
                new = tuple(torch.where(keep[t], n, s) for n, s in zip(new, state))
            # Under autocast a product is bfloat16; what is carried through time stays precise.
            state = tuple(n.to(s.dtype) for n, s in zip(new, state))
            outputs[t] = output
    return torch.stack(outputs, 1), state


def run_sequence(
    cell: Cell, x: Tensor, lengths: Tensor | None, state: State, *, backwards: bool = False
) -> tuple[Tensor, State]:
    """Result of `unroll`, by the cell's `sequence`."""
    outputs, final = cell.sequence(reverse(x, lengths) if backwards else x, lengths, state)
    outputs = reverse(outputs, lengths) if backwards else outputs
    if lengths is not None:
        outputs = zero_padding(outputs, keep_mask(lengths, x.shape[1], device=x.device))
    return outputs, tuple(f.to(s.dtype) for f, s in zip(final, state))


def run_native(
    kernel_weights: list[KernelWeights], x: Tensor, packing: Packing, states: tuple[State, ...]
) -> tuple[Tensor, tuple[State, ...]]:
    """Result of `unroll` for all directions of a layer, packed: x (N, I) -> (N, D·H)."""
    directions = [
        recurrence.Direction(weights, tuple(map(packing.sort, state)), reverse=d == 1)
        for d, (weights, state) in enumerate(zip(kernel_weights, states))
    ]
    runs = recurrence.run(x, directions, packing.offsets)
    outputs = runs[0][0] if len(runs) == 1 else torch.cat([h for h, _ in runs], -1)
    return outputs, tuple(tuple(map(packing.unsort, end)) for _, end in runs)


def compiled_step(cell: Cell, x: Tensor) -> Callable[[Tensor, State], tuple[Tensor, State]]:
    """`cell.step`, as one compiled kernel where that pays and no tap of the cell is recorded: on a
    GPU, where starting the many small operations of a step takes longer than they do."""
    if recording(cell) or not compiling_pays(x):
        return cell.step
    return partial(compiled(type(cell)), cell)


def compiling_pays(x: Tensor) -> bool:
    return x.is_cuda


@cache
def compiled(kind: type[Cell]) -> Callable[..., Any]:
    """Once for all cells of a kind: its weights are arguments like any other."""
    return torch.compile(kind.step, backend=BACKEND)
