"""Schemas of requests and answers, made from the options of a task and the form of its input."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from unspool.serve.settings import ServeLimits
from unspool.tasks import Task

PLAIN = (int, float, bool, str, types.NoneType)
LARGEST = {"seed": 2**63 - 1, "top_k": 2**31}
DESCRIBED = re.compile(r"^ *(\w+(?:, \w+)*) {2,}(.+(?:\n {12,}.+)*)", re.MULTILINE)


class Strict(BaseModel):
    """A request in which nothing is guessed or ignored."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def is_plain(kind: Any) -> bool:
    """Whether a value of this type is a plain one of JSON."""
    if get_origin(kind) in (Union, types.UnionType):
        return all(is_plain(each) for each in get_args(kind))
    return kind in PLAIN or get_origin(kind) is Literal


def descriptions(kind: type) -> dict[str, str]:
    """The meaning of each option, as the docstring of its class lists them."""
    lines = "\n".join(filter(None, (each.__doc__ for each in reversed(kind.__mro__[:-1]))))
    return {
        name: " ".join(text.split())
        for names, text in DESCRIBED.findall(lines)
        for name in names.split(", ")
    }


def options_model(kind: type | None, limits: ServeLimits) -> type[Strict] | None:
    """The options of a task as a request has them, without those that are no plain values."""
    if kind is None:
        return None
    hints, meaning = get_type_hints(kind), descriptions(kind)
    members: dict[str, Any] = {}
    for each in fields(kind):
        hint = hints[each.name]
        if not is_plain(hint) or each.default is MISSING:
            continue
        bound: dict[str, Any] = (
            {"le": largest(each.name, each.default, limits)} if hint is int else {}
        )
        about = Field(each.default, description=meaning.get(each.name), **bound)
        members[each.name] = (hint, about)
    return create_model(f"{kind.__name__}Options", __base__=Strict, **members)


def largest(name: str, default: int, limits: ServeLimits) -> int:
    """The largest value of an option that is a whole number."""
    if name in LARGEST:
        return LARGEST[name]
    return limits.generated if "length" in name else max(limits.width, 5 * default)


def predict_model(task: Task, limits: ServeLimits) -> type[Strict]:
    """The request of `predict`."""
    item = Annotated[Any, Field(json_schema_extra=task_item_schema(task))]
    members: dict[str, Any] = {"items": (list[item], Field(min_length=1, max_length=limits.items))}
    options = options_model(task.options, limits)
    if options is not None:
        members["options"] = (options | None, None)
    return create_model("PredictRequest", __base__=Strict, **members)


def task_item_schema(task: Task) -> dict[str, Any]:
    """The schema of one input of a task."""
    schema: dict[str, Any] = task.input_field.form.json_schema
    if list in task.items and schema == {"type": "string"}:
        words = {"type": "array", "items": {"type": "string"}, "minItems": 1}
        return {"anyOf": [schema, words]}
    return schema


def json_types(schema: Mapping[str, Any]) -> tuple[type, ...]:
    """The types of Python that values of a schema have."""
    kinds = {"string": str, "array": list, "object": dict}
    return tuple({kinds[each["type"]] for each in schema.get("anyOf", [schema])})


def schema_of(values: Iterable[Any]) -> dict[str, Any]:
    """A schema that some values of JSON have in common, one level of names deep."""
    values = list(values)
    kinds = {json_type(value) for value in values}
    if kinds == {"object"}:
        names = dict.fromkeys(name for value in values for name in value)
        properties = {
            name: loose_schema([value[name] for value in values if name in value]) for name in names
        }
        return {"type": "object", "properties": properties}
    return loose_schema(values)


def loose_schema(values: Sequence[Any]) -> dict[str, Any]:
    kinds = sorted({json_type(value) for value in values} | {"null"})
    return {"type": kinds}


def json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "object"
    return "null" if value is None else "array"
