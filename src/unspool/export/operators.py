"""Functions of torch as nodes of ONNX, for the equations that are written with them.

`Symbol.dispatch` is called with a function and its arguments, of which one at least is a symbol.
A function that is not in the table is an `Unsupported` error with its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from unspool.export.graph import Graph, Symbol, Unsupported, broadcast, product

OPERATORS: dict[str, Callable[..., Any]] = {}
LARGEST = 2**62  # the end of a slice that goes on to the last element


def operator(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function under the names that torch has for it."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return register


def dispatch(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    names = [getattr(function, key, "") for key in ("__qualname__", "__name__")]
    emit = next((OPERATORS[name] for name in names if name in OPERATORS), None)
    if emit is None:
        raise Unsupported(f"{getattr(function, '__name__', function)!s}()")
    return emit(*args, **kwargs)


Symbol.dispatch = staticmethod(dispatch)


def graph_of(*values: Any) -> Graph:
    return next(value.graph for value in values if isinstance(value, Symbol))


def symbol(graph: Graph, value: Any, like: Symbol) -> Symbol:
    """A tensor as a constant of the graph; a number, of the type of `like`."""
    if isinstance(value, Symbol):
        return value
    if isinstance(value, torch.Tensor):
        return graph.constant(value)
    whole = like.dtype.is_floating_point or isinstance(value, bool) or not isinstance(value, float)
    return graph.constant(value, like.dtype if whole else torch.float32)


def pair(x: Any, y: Any) -> tuple[Graph, Symbol, Symbol]:
    """Both operands, of one type."""
    graph = graph_of(x, y)
    like = x if isinstance(x, Symbol) else y
    a, b = symbol(graph, x, like), symbol(graph, y, like)
    dtype = torch.promote_types(a.dtype, b.dtype)
    return graph, graph.cast(a, dtype), graph.cast(b, dtype)


def binary(kind: str, *names: str, dtype: torch.dtype | None = None, swap: bool = False) -> None:
    def emit(x: Any, y: Any, **options: Any) -> Symbol:
        if options:
            raise Unsupported(f"{kind} with {', '.join(options)}")
        graph, a, b = pair(y, x) if swap else pair(x, y)
        if kind == "Div" and not a.is_floating_point():
            a, b = graph.cast(a, torch.float32), graph.cast(b, torch.float32)
        if kind in ("And", "Or") and a.dtype != torch.bool:
            raise Unsupported("an operation on bits")
        sizes = broadcast(a.sizes, b.sizes)
        return graph.add(kind, a, b, dtype=dtype or a.dtype, sizes=sizes)

    operator(*names)(emit)


binary("Add", "add", "__add__", "__radd__")
binary("Sub", "sub", "__sub__")
binary("Sub", "__rsub__", swap=True)
binary("Mul", "mul", "__mul__", "__rmul__")
binary("Div", "div", "__truediv__")
binary("Div", "__rtruediv__", swap=True)
binary("Pow", "pow", "__pow__")
binary("Pow", "__rpow__", swap=True)
binary("Max", "maximum")
binary("Min", "minimum")
binary("And", "__and__", "logical_and")
binary("Or", "__or__", "logical_or")
binary("Less", "lt", "__lt__", dtype=torch.bool)
binary("LessOrEqual", "le", "__le__", dtype=torch.bool)
binary("Greater", "gt", "__gt__", dtype=torch.bool)
binary("GreaterOrEqual", "ge", "__ge__", dtype=torch.bool)
binary("Equal", "eq", "__eq__", dtype=torch.bool)


@operator("ne", "__ne__")
def not_equal(x: Any, y: Any) -> Symbol:
    graph, a, b = pair(x, y)
    same = graph.add("Equal", a, b, dtype=torch.bool, sizes=broadcast(a.sizes, b.sizes))
    return invert(same)


def unary(kind: str, *names: str, **attributes: Any) -> None:
    def emit(x: Symbol, inplace: bool = False) -> Symbol:
        return x.graph.add(kind, x, dtype=x.dtype, sizes=x.sizes, **attributes)

    operator(*names)(emit)


for _kind in ("Sigmoid", "Tanh", "Relu", "Exp", "Log", "Sqrt", "Sin", "Cos", "Floor", "Erf"):
    unary(_kind, _kind.lower())
unary("Neg", "neg", "__neg__")
unary("Abs", "abs")


@operator("softplus")
def softplus(x: Symbol, *rest: Any) -> Symbol:
    return x.graph.add("Softplus", x, dtype=x.dtype, sizes=x.sizes)


@operator("__invert__", "logical_not")
def invert(x: Symbol) -> Symbol:
    return x.graph.add("Not", x, dtype=torch.bool, sizes=x.sizes)


@operator("leaky_relu")
def leaky_relu(x: Symbol, slope: float = 0.01, inplace: bool = False) -> Symbol:
    return x.graph.add("LeakyRelu", x, dtype=x.dtype, sizes=x.sizes, alpha=slope)


@operator("elu")
def elu(x: Symbol, alpha: float = 1.0, inplace: bool = False) -> Symbol:
    return x.graph.add("Elu", x, dtype=x.dtype, sizes=x.sizes, alpha=alpha)


@operator("gelu")
def gelu(x: Symbol, approximate: str = "none") -> Any:
    """x Φ(x), or its approximation by tanh"""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1 + inner.tanh())
    return 0.5 * x * (1 + (x / math.sqrt(2)).erf())


@operator("silu")
def silu(x: Symbol, inplace: bool = False) -> Any:
    return x * x.sigmoid()


@operator("rsqrt")
def rsqrt(x: Symbol) -> Any:
    return 1 / x.sqrt()


@operator("log_sigmoid", "logsigmoid")
def log_sigmoid(x: Symbol) -> Any:
    return -F.softplus(-x)


@operator("clamp", "clamp_min")
def clamp(x: Symbol, min: Any = None, max: Any = None) -> Symbol:
    graph = x.graph
    low, high = (None if bound is None else graph.constant(bound, x.dtype) for bound in (min, max))
    return graph.add("Clip", x, low, high, dtype=x.dtype, sizes=x.sizes)


@operator("float")
def to_float(x: Symbol) -> Symbol:
    return x.graph.cast(x, torch.float32)


@operator("double")
def to_double(x: Symbol) -> Symbol:
    return x.graph.cast(x, torch.float64)


@operator("long")
def to_long(x: Symbol) -> Symbol:
    return x.graph.cast(x, torch.int64)


@operator("bool")
def to_bool(x: Symbol) -> Symbol:
    return x.graph.cast(x, torch.bool)


@operator("to")
def to(x: Symbol, target: Any = None, *rest: Any, **options: Any) -> Symbol:
    """A type is changed; a device is not."""
    dtype = next(
        (v for v in (target, *rest, *options.values()) if isinstance(v, torch.dtype)), None
    )
    if dtype is None and isinstance(target, torch.Tensor | Symbol):
        dtype = target.dtype
    return x if dtype is None else x.graph.cast(x, dtype)


@operator("contiguous", "detach", "cpu", "clone")
def same(x: Symbol, *rest: Any) -> Symbol:
    return x


@operator("__floordiv__")
def floor_divide(x: Symbol, y: int) -> Any:
    """Rounded down, also below zero, where ONNX's division of integers rounds towards it."""
    graph, a, b = pair(x, y)
    rest = graph.add("Mod", a, b, dtype=a.dtype, sizes=a.sizes)
    return graph.add("Div", a - rest, b, dtype=a.dtype, sizes=a.sizes)


@operator("__mod__", "remainder")
def remainder(x: Symbol, y: int) -> Symbol:
    """The remainder, with the sign of y as in Python."""
    graph, a, b = pair(x, y)
    return graph.add("Mod", a, b, dtype=a.dtype, sizes=a.sizes)


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


@operator("embedding")
def embedding(ids: Symbol, weight: Any, *rest: Any, **options: Any) -> Symbol:
    graph = graph_of(ids, weight)
    table = graph.constant(weight)
    sizes = [*ids.sizes, *table.sizes[1:]]
    return graph.add("Gather", table, ids, dtype=table.dtype, sizes=sizes, axis=0)


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


@operator("where")
def where(x: Any, y: Any, z: Any) -> Symbol:
    """torch.where(condition, a, b), or the method a.where(condition, b)"""
    graph = graph_of(x, y, z)
    condition, a, b = (x, y, z) if getattr(x, "dtype", None) == torch.bool else (y, x, z)
    like = next(v for v in (a, b, condition) if isinstance(v, Symbol))
    numbers = [v for v in (a, b) if isinstance(v, torch.Tensor | Symbol)]
    dtype = numbers[0].dtype if numbers else torch.float32
    a, b = (graph.cast(symbol(graph, v, like), dtype) for v in (a, b))
    mask = graph.constant(condition)
    sizes = broadcast(mask.sizes, a.sizes, b.sizes)
    return graph.add("Where", mask, a, b, dtype=dtype, sizes=sizes)


@operator("masked_fill")
def masked_fill(x: Symbol, mask: Any, value: float) -> Symbol:
    graph = graph_of(x, mask)
    x, mask, fill = graph.constant(x), graph.constant(mask), graph.constant(value, x.dtype)
    return graph.add("Where", mask, fill, x, dtype=x.dtype, sizes=broadcast(mask.sizes, x.sizes))


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
