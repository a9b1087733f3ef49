"""Operators of torch whose arguments are the fields of NamedTuples, each listed in one place.

    class Inputs(NamedTuple):
        kind: str
        x: Tensor
        W: list[Tensor]

    operator = define("unspool::name", compute, shapes, Inputs)    # compute(Inputs) -> list[Tensor]
    operator(*Inputs(...))

Autograd keeps tensors in a row: `save` and `saved` put a NamedTuple there and take it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, get_type_hints

import torch
from torch import Tensor

TYPES: dict[Any, str] = {
    str: "str", bool: "bool", list[bool]: "bool[]", Tensor: "Tensor", list[Tensor]: "Tensor[]"
}  # fmt: skip


def define(
    name: str,
    compute: Callable[..., list[Tensor]],
    shapes: Callable[..., list[Tensor]],
    *arguments: Any,
) -> Any:
    """An operator that takes the fields of these NamedTuples, one after the other. `shapes` makes
    what `compute` would return, unfilled."""

    def grouped(values: tuple[Any, ...]) -> list[Any]:
        groups, at = [], 0
        for group in arguments:
            size = len(group._fields)
            groups.append(group(*values[at : at + size]))
            at += size
        return groups

    fields = [
        f"{TYPES[annotation]} {field}"
        for group in arguments
        for field, annotation in get_type_hints(group).items()
    ]
    made = torch.library.custom_op(
        name,
        lambda *values: compute(*grouped(values)),
        mutates_args=(),
        schema=f"({', '.join(fields)}) -> Tensor[]",
    )
    made.register_fake(lambda *values: shapes(*grouped(values)))
    return made


def refuse_twice(ctx: Any, *grads: Any) -> None:
    """The backward pass of an operator of gradients, which have no kernel of their own."""
    raise RuntimeError(
        "the kernels have no second derivative; build the layer with fast=False to differentiate"
        " it twice"
    )


def tensors_of(values: Any) -> list[Tensor]:
    """All tensors of a NamedTuple, in a row."""
    tensors: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif is_list_of_tensors(value):
            tensors += value
    return tensors


def is_list_of_tensors(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], Tensor)


def save(ctx: Any, inputs: Any, output: list[Tensor]) -> None:
    """For the backward pass: a NamedTuple, and what was made of it."""
    ctx.type = type(inputs)
    # Functions that take back what was saved.
    ctx.given = [
        next if isinstance(value, Tensor)
        else partial(take, len(value)) if is_list_of_tensors(value)
        else partial(constant, value)
        for value in inputs
    ]  # fmt: skip
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors_of(inputs), *output)


def saved(ctx: Any) -> tuple[Any, list[Tensor]]:
    """The NamedTuple and the output that were saved."""
    tensors = iter(ctx.saved_tensors)
    return ctx.type(*(take_back(tensors) for take_back in ctx.given)), list(tensors)


def take(count: int, tensors: Iterator[Tensor]) -> list[Tensor]:
    return list(islice(tensors, count))


def constant(value: Any, _: Iterator[Tensor]) -> Any:
    return value
