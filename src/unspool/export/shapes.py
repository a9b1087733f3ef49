"""Functions that arrange elements, as nodes of ONNX: shapes, parts, joints and indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from unspool.export.graph import Symbol, Unsupported, product
from unspool.export.operators import graph_of, operator

LARGEST = 2**62  # the end of a slice that goes on to the last element


@operator("embedding")
def embedding(ids: Symbol, weight: Any, *rest: Any, **options: Any) -> Symbol:
    graph = graph_of(ids, weight)
    table = graph.constant(weight)
    sizes = [*ids.sizes, *table.sizes[1:]]
    return graph.add("Gather", table, ids, dtype=table.dtype, sizes=sizes, axis=0)


@operator("cat", "concat")
def cat(tensors: Sequence[Any], dim: int = 0) -> Symbol:
    graph = graph_of(*tensors)
    parts = [graph.constant(tensor) for tensor in tensors]
    axis = dim % parts[0].dim()
    sizes = list(parts[0].sizes)
    lengths = [part.sizes[axis] for part in parts]
    sizes[axis] = None if None in lengths else sum(size for size in lengths if size is not None)
    return graph.add("Concat", *parts, dtype=parts[0].dtype, sizes=sizes, axis=axis)


@operator("stack")
def stack(tensors: Sequence[Any], dim: int = 0) -> Symbol:
    graph = graph_of(*tensors)
    axis = dim % (tensors[0].dim() + 1)
    return cat([unsqueeze(graph.constant(tensor), axis) for tensor in tensors], axis)


@operator("chunk")
def chunk(x: Symbol, chunks: int, dim: int = 0) -> tuple[Symbol, ...]:
    size = x.sizes[dim]
    if size is None or size % chunks:
        raise Unsupported("chunk() of a size that is known only when the graph runs")
    return split(x, [size // chunks] * chunks, dim)


@operator("split")
def split(x: Symbol, size: Any, dim: int = 0) -> tuple[Symbol, ...]:
    axis, whole = dim % x.dim(), x.sizes[dim]
    if isinstance(size, int):
        if whole is None:
            raise Unsupported("split() of a size that is known only when the graph runs")
        size = [min(size, whole - start) for start in range(0, whole, size)]
    outputs = [(x.dtype, [*x.sizes[:axis], part, *x.sizes[axis + 1 :]]) for part in size]
    sizes = x.graph.constant(np.array(size, dtype=np.int64))
    return tuple(x.graph.add_many("Split", x, sizes, outputs=outputs, axis=axis))


@operator("unbind")
def unbind(x: Symbol, dim: int = 0) -> tuple[Symbol, ...]:
    size = x.sizes[dim]
    if size is None:
        raise Unsupported("a loop over steps outside of a recurrent layer")
    return tuple(select(x, dim, index) for index in range(size))


@operator("reshape", "view")
def reshape(x: Symbol, *shape: Any) -> Symbol:
    graph = x.graph
    sizes = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else [*shape]
    if isinstance(sizes[0], torch.dtype):
        raise Unsupported("view() of another type")
    known: list[int | None] = [size if isinstance(size, int) else None for size in sizes]
    if -1 in known:
        rest, whole = product([s for s in known if s != -1]), product(x.sizes)
        known[known.index(-1)] = None if rest is None or whole is None else whole // rest
    return graph.add("Reshape", x, graph.shape_of(sizes), dtype=x.dtype, sizes=known)


@operator("view_as", "reshape_as")
def view_as(x: Symbol, other: Symbol) -> Symbol:
    return reshape(x, *other.shape)


@operator("flatten")
def flatten(x: Symbol, start_dim: int = 0, end_dim: int = -1) -> Symbol:
    first, last = start_dim % x.dim(), end_dim % x.dim()
    size = product(x.sizes[first : last + 1])
    after: list[Any] = list(x.shape[last + 1 :])
    return reshape(x, *x.shape[:first], -1 if size is None else size, *after)


@operator("unflatten")
def unflatten(x: Symbol, dim: int, sizes: Sequence[Any]) -> Symbol:
    axis, known = dim % x.dim(), list(sizes)
    whole = x.sizes[axis]
    if -1 in known and whole is not None:
        rest = product([s for s in known if s != -1])
        known[known.index(-1)] = whole // (rest or 1)
    return reshape(x, *x.shape[:axis], *known, *x.shape[axis + 1 :])


@operator("transpose")
def transpose(x: Symbol, a: int, b: int) -> Symbol:
    order = list(range(x.dim()))
    a, b = a % x.dim(), b % x.dim()
    order[a], order[b] = order[b], order[a]
    return permute(x, *order)


@operator("t")
def transposed(x: Symbol) -> Symbol:
    return transpose(x, 0, 1)


@operator("permute")
def permute(x: Symbol, *order: Any) -> Symbol:
    axes = list(order[0]) if isinstance(order[0], tuple | list) else list(order)
    sizes = [x.sizes[axis] for axis in axes]
    return x.graph.add("Transpose", x, dtype=x.dtype, sizes=sizes, perm=axes)


@operator("unsqueeze")
def unsqueeze(x: Symbol, dim: int) -> Symbol:
    axis = dim % (x.dim() + 1)
    sizes = [*x.sizes[:axis], 1, *x.sizes[axis:]]
    at = x.graph.constant(np.array([axis], dtype=np.int64))
    return x.graph.add("Unsqueeze", x, at, dtype=x.dtype, sizes=sizes)


@operator("squeeze")
def squeeze(x: Symbol, dim: int) -> Symbol:
    axis = dim % x.dim()
    at = x.graph.constant(np.array([axis], dtype=np.int64))
    sizes = [size for i, size in enumerate(x.sizes) if i != axis]
    return x.graph.add("Squeeze", x, at, dtype=x.dtype, sizes=sizes)


@operator("expand")
def expand(x: Symbol, *shape: Any) -> Symbol:
    sizes = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else [*shape]
    offset = len(sizes) - x.dim()
    full = [
        x.shape[axis - offset] if isinstance(size, int) and size == -1 else size
        for axis, size in enumerate(sizes)
    ]
    known = [size if isinstance(size, int) else None for size in full]
    return x.graph.add("Expand", x, x.graph.shape_of(full), dtype=x.dtype, sizes=known)


@operator("expand_as")
def expand_as(x: Symbol, other: Symbol) -> Symbol:
    return expand(x, *other.shape)


@operator("repeat_interleave")
def repeat_interleave(x: Symbol, repeats: int, dim: int) -> Symbol:
    axis = dim % x.dim()
    wide = unsqueeze(x, axis + 1)
    shape = [*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :]]
    return flatten(expand(wide, *shape), axis, axis + 1)


@operator("zeros_like")
def zeros_like(x: Any, **options: Any) -> Symbol:
    return x.graph.full(x.shape, 0, options.get("dtype") or x.dtype)


@operator("ones_like")
def ones_like(x: Symbol, **options: Any) -> Symbol:
    return x.graph.full(x.shape, 1, options.get("dtype") or x.dtype)


@operator("full_like")
def full_like(x: Symbol, value: Any, **options: Any) -> Symbol:
    if isinstance(value, Symbol):
        return expand(x.graph.cast(value, x.dtype), *x.shape)
    return x.graph.full(x.shape, value, options.get("dtype") or x.dtype)


@operator("new_zeros")
def new_zeros(x: Symbol, *shape: Any, **options: Any) -> Symbol:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return x.graph.full(sizes, 0, options.get("dtype") or x.dtype)


@operator("new_ones")
def new_ones(x: Symbol, *shape: Any, **options: Any) -> Symbol:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return x.graph.full(sizes, 1, options.get("dtype") or x.dtype)


@operator("pad")
def pad(x: Symbol, pads: Sequence[Any], mode: str = "constant", value: float | None = None) -> Any:
    """The last axis first, as torch lists them."""
    if mode != "constant":
        raise Unsupported(f"pad() with mode {mode}")
    before: list[Any] = [0] * x.dim()
    after: list[Any] = [0] * x.dim()
    for i in range(len(pads) // 2):
        before[-1 - i], after[-1 - i] = pads[2 * i], pads[2 * i + 1]
    sizes = [
        size + a + b if all(isinstance(n, int) for n in (size, a, b)) else None
        for size, a, b in zip(x.sizes, before, after)
    ]
    widths = x.graph.shape_of(before + after)
    fill = x.graph.constant(value or 0.0, x.dtype)
    return x.graph.add("Pad", x, widths, fill, dtype=x.dtype, sizes=sizes)


@operator("tril")
def tril(x: Symbol, diagonal: int = 0) -> Symbol:
    at = x.graph.constant(diagonal)
    return x.graph.add("Trilu", x, at, dtype=x.dtype, sizes=x.sizes, upper=0)


@operator("gather")
def gather(x: Symbol, dim: int, index: Any) -> Symbol:
    index = x.graph.constant(index)
    return x.graph.add(
        "GatherElements", x, index, dtype=x.dtype, sizes=index.sizes, axis=dim % x.dim()
    )


def select(x: Symbol, dim: int, index: Any) -> Symbol:
    """One element of an axis, which disappears."""
    axis = dim % x.dim()
    sizes = [size for i, size in enumerate(x.sizes) if i != axis]
    at = x.graph.constant(index, torch.int64)
    return x.graph.add("Gather", x, at, dtype=x.dtype, sizes=sizes, axis=axis)


def cut(x: Symbol, axis: int, part: slice) -> Symbol:
    size = x.sizes[axis]
    if part.start is None and part.stop is None and part.step is None:
        return x
    step = 1 if part.step is None else part.step
    if not isinstance(step, int) or step < 1:
        raise Unsupported("a slice that goes backwards")
    first, last = (0 if part.start is None else part.start), part.stop
    known = size is not None and all(v is None or isinstance(v, int) for v in (first, last))
    length = len(range(*part.indices(size))) if known and size is not None else None
    graph = x.graph
    begin, end = (
        value.unsqueeze(0) if isinstance(value, Symbol) else np.array([value], dtype=np.int64)
        for value in (first, LARGEST if last is None else last)
    )
    arguments = (begin, end, np.array([axis]), np.array([step]))
    bounds = [graph.constant(value) for value in arguments]
    sizes = [*x.sizes[:axis], length, *x.sizes[axis + 1 :]]
    return graph.add("Slice", x, *bounds, dtype=x.dtype, sizes=sizes)


@operator("__getitem__")
def getitem(x: Any, index: Any) -> Any:
    if not isinstance(x, Symbol):  # a tensor at indices that are not known yet
        return embedding(index, x)
    items = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [item for item in items if not isinstance(item, Symbol | torch.Tensor)]:
        at = next(i for i, item in enumerate(items) if item is Ellipsis)
        taken = sum(item is not None and item is not Ellipsis for item in items)
        items[at : at + 1] = [slice(None)] * (x.dim() - taken)
    axis = 0
    for item in items:
        if item is None:
            x = unsqueeze(x, axis)
            axis += 1
        elif isinstance(item, slice):
            x = cut(x, axis, item)
            axis += 1
        elif isinstance(item, int):
            x = select(x, axis, item)
        elif isinstance(item, Symbol | torch.Tensor) and len(items) == 1:
            x = embedding(item, x) if isinstance(item, Symbol) else select(x, axis, item)
        else:
            raise Unsupported("an index of several tensors")
    return x
