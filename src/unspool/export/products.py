"""Products, convolutions, reductions and normalisations, as nodes of ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from unspool.export.graph import Symbol, broadcast
from unspool.export.operators import graph_of, operator, pair
from unspool.export.shapes import squeeze, unsqueeze


@operator("conv1d")
def conv1d(x: Symbol, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, *rest: Any) -> Any:
    """x (B, C, T)"""
    stride, padding = (n if isinstance(n, int) else n[0] for n in (stride, padding))
    y = conv2d(unsqueeze(x, 2), weight[:, :, None], bias, (1, stride), (0, padding))
    return squeeze(y, 2)


@operator("conv2d")
def conv2d(
    x: Symbol, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, *rest: Any
) -> Symbol:
    """x (B, C, H, W)"""
    sides = weight.shape[2:]
    stride, padding = ([n, n] if isinstance(n, int) else list(n) for n in (stride, padding))
    after = [
        None if size is None else (size + 2 * p - side) // step + 1
        for size, side, p, step in zip(x.sizes[2:], sides, padding, stride)
    ]
    return x.graph.add(
        "Conv",
        x,
        x.graph.constant(weight),
        None if bias is None else x.graph.constant(bias),
        dtype=x.dtype,
        sizes=[x.sizes[0], weight.shape[0], *after],
        kernel_shape=list(sides),
        strides=stride,
        pads=[*padding, *padding],
    )


@operator("matmul", "__matmul__", "bmm")
def matmul(x: Any, y: Any) -> Symbol:
    graph, a, b = pair(x, y)
    if b.dim() == 1:
        sizes = list(a.sizes[:-1])
    else:
        sizes = [*broadcast(a.sizes[:-2], b.sizes[:-2] or [1]), a.sizes[-2], b.sizes[-1]]
        sizes = sizes[-max(a.dim(), b.dim()) :]
    return graph.add("MatMul", a, b, dtype=a.dtype, sizes=sizes)


@operator("linear")
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    graph = graph_of(x, weight, bias)
    if isinstance(weight, Symbol):
        transposed = weight.transpose(-1, -2)
    else:
        transposed = graph.constant(weight.detach().t().contiguous())
    y = matmul(x, transposed)
    return y if bias is None else y + bias


@operator("layer_norm")
def layer_norm(
    x: Symbol, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Symbol:
    graph = x.graph
    scale = graph.constant(torch.ones(tuple(shape)) if weight is None else weight)
    shift = None if bias is None else graph.constant(bias)
    kind, axis = "LayerNormalization", -len(shape)
    return graph.add(
        kind, x, scale, shift, dtype=x.dtype, sizes=x.sizes, axis=axis, epsilon=float(eps)
    )


@operator("softmax")
def softmax(x: Symbol, dim: int, *rest: Any, **options: Any) -> Symbol:
    return x.graph.add("Softmax", x, dtype=x.dtype, sizes=x.sizes, axis=dim)


@operator("log_softmax")
def log_softmax(x: Symbol, dim: int, *rest: Any, **options: Any) -> Symbol:
    return x.graph.add("LogSoftmax", x, dtype=x.dtype, sizes=x.sizes, axis=dim)


def axes_of(x: Symbol, dim: Any) -> list[int]:
    dims = range(x.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    return [axis % x.dim() for axis in dims]


def reduction(kind: str, *names: str) -> None:
    def emit(x: Symbol, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Symbol:
        axes = axes_of(x, dim)
        value = x if dtype is None else x.graph.cast(x, dtype)
        if value.dtype == torch.bool:
            value = x.graph.cast(value, torch.int64)
        sizes = [
            1 if axis in axes else size
            for axis, size in enumerate(x.sizes)
            if keepdim or axis not in axes
        ]
        at = x.graph.constant(np.array(axes, dtype=np.int64))
        return x.graph.add(kind, value, at, dtype=value.dtype, sizes=sizes, keepdims=int(keepdim))

    operator(*names)(emit)


reduction("ReduceSum", "sum")
reduction("ReduceMean", "mean")
reduction("ReduceMax", "amax")
reduction("ReduceMin", "amin")
reduction("ReduceLogSumExp", "logsumexp")


@operator("any")
def any_true(x: Symbol, dim: Any = None, keepdim: bool = False) -> Any:
    return x.long().amax(dim, keepdim) > 0


@operator("all")
def all_true(x: Symbol, dim: Any = None, keepdim: bool = False) -> Any:
    return x.long().amin(dim, keepdim) > 0


@operator("argmax")
def argmax(x: Symbol, dim: int, keepdim: bool = False) -> Symbol:
    axis = dim % x.dim()
    sizes = [size for i, size in enumerate(x.sizes) if i != axis]
    if keepdim:
        sizes.insert(axis, 1)
    return x.graph.add(
        "ArgMax", x, dtype=torch.int64, sizes=sizes, axis=axis, keepdims=int(keepdim)
    )


@operator("cumsum")
def cumsum(x: Symbol, dim: int) -> Symbol:
    axis = x.graph.constant(dim % x.dim())
    return x.graph.add("CumSum", x, axis, dtype=x.dtype, sizes=x.sizes)


@operator("scaled_dot_product_attention")
def attention(
    q: Symbol, k: Symbol, v: Symbol, mask: Any = None, dropout: float = 0.0, causal: bool = False
) -> Any:
    """softmax(q kᵀ / √d) v over the keys that `mask` shows"""
    size = q.sizes[-1]
    assert size is not None
    scores = (q / math.sqrt(size)) @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(q.dtype).min)
    return scores.softmax(-1) @ v
