"""From a computation on tensors to a graph that was run: examples in, the bytes of a model out.

The same function computes with symbols, which makes the graph, and with tensors, which it is
compared with in onnxruntime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.errors import ConfigError
from unspool.export import layers as layers
from unspool.export.graph import Graph, Port

TOLERANCE = 1e-4
Named = dict[str, Any]  # tensors, or symbols, by name
Axes = Sequence[int | str]


class Emitted(NamedTuple):
    """A graph, and the largest difference from what it was compared with, as a share of it.

    fixed   sizes of the outputs, None where they are not fixed
    """

    data: bytes
    graph: Graph
    error: float
    fixed: dict[str, tuple[int | None, ...]]


def emit(
    compute: Callable[[Named], Named],
    examples: Sequence[Mapping[str, Tensor]],
    axes: Callable[[str, Tensor], Axes],
    *,
    task: str,
) -> Emitted:
    """The graph of `compute`; a ConfigError where it does not give the same for the examples.

    axes   of an input: a size that is fixed, or a name
    """
    graph = Graph()
    with torch.no_grad():
        symbols: Named = {
            name: graph.input(Port(name, value.dtype, tuple(axes(name, value))))
            for name, value in examples[0].items()
        }
        outputs = compute(symbols)
    for name, value in outputs.items():
        graph.output(value, name, [size or default_axis(i) for i, size in enumerate(value.sizes)])
    data = graph.model({"unspool": task}).SerializeToString()
    fixed = {name: value.sizes for name, value in outputs.items()}
    return Emitted(data, graph, verify(compute, examples, data), fixed)


def default_axis(index: int) -> str:
    return ("batch", "steps", "more")[min(index, 2)]


def verify(
    compute: Callable[[Named], Named], examples: Sequence[Mapping[str, Tensor]], data: bytes
) -> float:
    import onnxruntime

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    wanted = {port.name for port in session.get_inputs()}
    worst = 0.0
    for example in examples:
        with torch.inference_mode():
            expected = compute(dict(example))
        feeds = {name: x.numpy() for name, x in example.items() if name in wanted}
        for name, value in zip(expected, session.run(list(expected), feeds)):
            reference = expected[name].numpy()
            scale = max(1.0, float(np.abs(reference).max(initial=0)))
            same = reference.shape == value.shape and np.isfinite(value).all()
            error = np.abs(value.astype(float) - reference).max(initial=0) / scale if same else 1
            if not error <= TOLERANCE:
                raise ConfigError(
                    f"the graph does not answer as the model does: {name} differ by {error:.2g} of"
                    f" {scale:.3g} for inputs of shape {tuple(next(iter(feeds.values())).shape)}",
                    remedy="report it with the run; nothing was written",
                )
            worst = max(worst, float(error))
    return worst


def leaves(tree: Any) -> list[Any]:
    """The tensors of tuples within tuples; None is left out."""
    if tree is None:
        return []
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def rebuilt(tree: Any, values: Iterator[Any]) -> Any:
    """The same tuples with other tensors."""
    if tree is None:
        return None
    if not isinstance(tree, tuple):
        return next(values)
    parts = [rebuilt(part, values) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
