"""The step of a cell as one compiled kernel, for a GPU: there, starting the many small operations
of a step takes longer than they do.

In: a cell and the input it will read. Out: its `step`, compiled where that pays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from unspool.nn.cells import Cell, State
from unspool.nn.taps import recording

BACKEND = "inductor"


def compiled_step(cell: Cell, x: Tensor) -> Callable[[Tensor, State], tuple[Tensor, State]]:
    """`cell.step`, compiled where that pays and no tap of the cell is recorded."""
    if recording(cell) or not compiling_pays(x):
        return cell.step
    return partial(compiled(type(cell)), cell)


def compiling_pays(x: Tensor) -> bool:
    return x.is_cuda


@cache
def compiled(kind: type[Cell]) -> Callable[..., Any]:
    """Once for all cells of a kind: its weights are arguments like any other."""
    return torch.compile(kind.step, backend=BACKEND)
