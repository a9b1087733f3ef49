"""Functions of forecasters that read values of lengths, or that ONNX has another form for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from unspool.export.graph import Symbol
from unspool.export.operators import operator
from unspool.nn.masks import zero_padding


@operator("align_end")
def align_end(x: Symbol, lengths: Any) -> Any:
    """The windows of a graph have a fixed size."""
    size = x.sizes[1]
    assert size is not None
    steps = torch.arange(size) - (size - lengths)[:, None]
    moved: Any = x.gather(1, steps.clamp(min=0))
    return zero_padding(moved, steps >= 0)


@operator("side_by_side")
def side_by_side(*parts: Symbol) -> Any:
    wide: list[Any] = [part if part.dim() == 3 else part[..., None] for part in parts]
    return torch.cat([part.float() for part in wide if part.sizes[-1] != 0], -1)


@operator("square")
def square(x: Symbol) -> Any:
    return x * x


@operator("lerp")
def lerp(x: Symbol, y: Symbol, weight: float) -> Any:
    return x + (y - x) * weight


@operator("sort")
def sort(x: Symbol, dim: int = -1) -> Any:
    """The smallest first; of a size that is known."""
    axis = dim % x.dim()
    k = x.graph.constant(np.array([x.sizes[axis]], dtype=np.int64))
    outputs: Any = [(x.dtype, x.sizes), (torch.int64, x.sizes)]
    values, indices = x.graph.add_many("TopK", x, k, outputs=outputs, axis=axis, largest=0)
    return SimpleNamespace(values=values, indices=indices)
