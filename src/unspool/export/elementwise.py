"""Functions that compute each element by itself, as nodes of ONNX."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional as F

from unspool.export.graph import Symbol, Unsupported, broadcast
from unspool.export.operators import graph_of, operator, pair, symbol


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
