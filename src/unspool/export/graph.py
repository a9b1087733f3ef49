"""ONNX graphs under construction: nodes in, a checked `ModelProto` out.

A `Graph` collects nodes and weights; a `Symbol` stands for a value of it. What modules of torch do
to symbols becomes nodes (`operators.py`), so a graph holds for any batch size and any length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

from unspool.errors import ConfigError

OPSET, IR = 18, 9
Size = int | None  # of an axis; None: known when the graph runs

DTYPES: dict[torch.dtype, int] = {
    torch.float32: TensorProto.FLOAT,
    torch.float64: TensorProto.DOUBLE,
    torch.int64: TensorProto.INT64,
    torch.int32: TensorProto.INT32,
    torch.bool: TensorProto.BOOL,
}


if TYPE_CHECKING:
    Value = torch.Tensor  # as which a symbol is passed to functions of torch
else:
    Value = object


class Symbol(Value):
    """A value of a graph that is not known yet. Functions of torch take it for a tensor.

    shape of `sizes`: a number for each axis, None where it is known when the graph runs
    """

    def __init__(self, graph: Graph, name: str, dtype: torch.dtype, sizes: Sequence[Size]) -> None:
        self.graph, self.name, self.dtype, self.sizes = graph, name, dtype, tuple(sizes)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return cls.dispatch(function, args, kwargs or {})

    # Set by `operators.py`, which knows the functions of torch.
    dispatch: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

    def __getattr__(self, name: str) -> Any:
        """A method of tensors."""
        function = getattr(torch.Tensor, name, None)
        if name.startswith("_") or not callable(function):
            raise AttributeError(name)
        return lambda *args, **kwargs: Symbol.dispatch(function, (self, *args), kwargs)

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]
        return tuple(
            self.graph.size(self, axis) if size is None else size
            for axis, size in enumerate(self.sizes)
        )

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("meta")  # no layer takes a path that reads values

    @property
    def mT(self) -> Any:  # type: ignore[override]
        return self.transpose(-1, -2)

    def dim(self) -> int:
        return len(self.sizes)

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def size(self, axis: int) -> Any:  # type: ignore[override]
        return self.shape[axis]

    def __len__(self) -> int:
        size = self.sizes[0] if self.sizes else None
        if size is None:
            raise Unsupported("a size that is known only when the graph runs, as a number")
        return size

    def __bool__(self) -> bool:
        raise Unsupported("a choice that depends on values")

    def __int__(self) -> int:
        raise Unsupported("a value that is known only when the graph runs, as a number")

    __index__ = __float__ = __int__


OPERATIONS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv mod pow rpow matmul neg invert and or"
    " eq ne lt le gt ge getitem"
)
for _name in OPERATIONS.split():
    _method = f"__{_name}__"

    def _operate(self: Symbol, *args: Any, _method: str = _method) -> Any:
        return Symbol.dispatch(getattr(torch.Tensor, _method), (self, *args), {})

    setattr(Symbol, _method, _operate)


class Unsupported(ConfigError):
    """Something that a graph has no form for."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "this model cannot be exported",
            got=what,
            remedy="see what can be in docs/export.md",
        )


class Port(NamedTuple):
    """An input or output of a graph: its type, and for each axis a number or a name."""

    name: str
    dtype: torch.dtype
    axes: tuple[int | str, ...]


class Graph:
    """Nodes, weights, inputs and outputs."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}
        self.inputs: list[Port] = []
        self.outputs: list[Port] = []
        self._stack = [self.nodes]  # of the graphs that are open: the bodies of loops
        self._count = 0
        self._constants: dict[Any, Symbol] = {}
        self._tensors: dict[tuple[Any, ...], tuple[torch.Tensor, Symbol]] = {}

    def unique(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"

    def input(self, port: Port) -> Symbol:
        self.inputs.append(port)
        sizes = [axis if isinstance(axis, int) else None for axis in port.axes]
        return Symbol(self, port.name, port.dtype, sizes)

    def output(self, value: Symbol, name: str, axes: Sequence[int | str]) -> None:
        self._stack[-1].append(helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(Port(name, value.dtype, tuple(axes)))

    def add(
        self,
        kind: str,
        *inputs: torch.Tensor | None,
        dtype: torch.dtype,
        sizes: Sequence[Size],
        **attributes: Any,
    ) -> Symbol:
        """A node with one output."""
        (value,) = self.add_many(kind, *inputs, outputs=[(dtype, sizes)], **attributes)
        return value

    def add_many(
        self,
        kind: str,
        *inputs: torch.Tensor | None,
        outputs: Sequence[tuple[torch.dtype, Sequence[Size]]],
        **attributes: Any,
    ) -> list[Symbol]:
        values = [Symbol(self, self.unique(kind.lower()), dtype, sizes) for dtype, sizes in outputs]
        names = [value.name if isinstance(value, Symbol) else "" for value in inputs]
        while names and not names[-1]:
            names.pop()
        node = helper.make_node(kind, names, [value.name for value in values], **attributes)
        self._stack[-1].append(node)
        return values

    def constant(self, value: Any, dtype: torch.dtype | None = None) -> Symbol:
        """A tensor, array or number. Weights that are the same tensor are stored once."""
        if isinstance(value, Symbol):
            return value if dtype in (None, value.dtype) else self.cast(value, dtype)
        tensor = value.detach() if isinstance(value, torch.Tensor) else torch.as_tensor(value)
        if dtype is not None:
            tensor = tensor.to(dtype)
        array = tensor.cpu().contiguous().numpy()
        key = (
            (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
            if array.size > 16
            else (array.tobytes(), array.shape, str(array.dtype))
        )
        if key not in self._tensors:
            name = self.unique("weight" if array.size > 16 else "constant")
            self.weights[name] = array
            symbol = Symbol(self, name, tensor.dtype, array.shape)
            self._tensors[key] = tensor, symbol  # the tensor is kept, so that its address is
        return self._tensors[key][1]

    def cast(self, x: Symbol, dtype: torch.dtype) -> Symbol:
        if x.dtype == dtype:
            return x
        return self.add("Cast", x, dtype=dtype, sizes=x.sizes, to=DTYPES[dtype])

    def size(self, x: Symbol, axis: int) -> Symbol:
        """The size of an axis, () int64."""
        shape = self.add("Shape", x, dtype=torch.int64, sizes=[x.dim()])
        index = self.constant(axis)
        return self.add("Gather", shape, index, dtype=torch.int64, sizes=[], axis=0)

    def shape_of(self, sizes: Sequence[Any]) -> Symbol:
        """Sizes, numbers or symbols, as a tensor (n,) int64."""
        if all(isinstance(size, int) for size in sizes):
            return self.constant(np.array(sizes, dtype=np.int64))
        one = self.constant(np.array([0], dtype=np.int64))
        parts = [
            self.constant(np.array([size], dtype=np.int64))
            if isinstance(size, int)
            else self.add("Unsqueeze", size, one, dtype=torch.int64, sizes=[1])
            for size in sizes
        ]
        return self.add("Concat", *parts, dtype=torch.int64, sizes=[len(parts)], axis=0)

    def full(self, sizes: Sequence[Any], value: float | bool, dtype: torch.dtype) -> Symbol:
        known = [size if isinstance(size, int) else None for size in sizes]
        fill = self.constant(value, dtype)
        return self.add("Expand", fill, self.shape_of(sizes), dtype=dtype, sizes=known)

    @contextmanager
    def body(self) -> Iterator[list[NodeProto]]:
        """Inside this block nodes belong to a graph within this one, which sees its values."""
        nodes: list[NodeProto] = []
        self._stack.append(nodes)
        try:
            yield nodes
        finally:
            self._stack.pop()

    def model(self, metadata: Mapping[str, str]) -> ModelProto:
        """The whole graph, without nodes that no output needs."""
        nodes = needed(self.nodes, [port.name for port in self.outputs])
        used = {name for node in nodes for name in names_of(node)}
        weights = [
            numpy_helper.from_array(array, name)
            for name, array in self.weights.items()
            if name in used
        ]
        graph = helper.make_graph(
            nodes,
            "unspool",
            [value_info(port) for port in self.inputs if port.name in used],
            [value_info(port) for port in self.outputs],
            weights,
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR,
            producer_name="unspool",
        )
        helper.set_model_props(model, dict(metadata))
        checker.check_model(model, full_check=True)
        return model


def value_info(port: Port) -> Any:
    return helper.make_tensor_value_info(port.name, DTYPES[port.dtype], port.axes)


def names_of(node: NodeProto) -> Iterator[str]:
    """Every name that a node, or a graph within it, reads."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            for inner in attribute.g.node:
                yield from names_of(inner)
            yield from (output.name for output in attribute.g.output)


def needed(nodes: Sequence[NodeProto], outputs: Sequence[str]) -> list[NodeProto]:
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(names_of(node))
    return kept[::-1]


def broadcast(*shapes: Sequence[Size]) -> list[Size]:
    """The sizes of an operation element by element."""
    rank = max(map(len, shapes))
    rows: list[list[Size]] = [[*(1,) * (rank - len(shape)), *shape] for shape in shapes]
    return [
        next((size for size in sizes if size not in (1, None)), None if None in sizes else 1)
        for sizes in zip(*rows)
    ]


def product(sizes: Sequence[Size]) -> Size:
    return None if None in sizes else math.prod(size for size in sizes if size is not None)
