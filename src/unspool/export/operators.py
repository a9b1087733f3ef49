"""Functions of torch as nodes of ONNX: the table of them, and operands as symbols.

`Symbol.dispatch` is called with a function and its arguments, of which one at least is a symbol.
A function that is not in the table is an `Unsupported` error with its name. The functions are in
`elementwise.py`, `shapes.py` and `products.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from unspool.export.graph import Graph, Symbol, Unsupported

OPERATORS: dict[str, Callable[..., Any]] = {}


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
