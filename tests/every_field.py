"""Every class of field that the package has, found by importing its files."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from unspool.data import fields
from unspool.data.fields.field import Field


def field_classes(kind: type[Field] = Field) -> Iterator[type[Field]]:
    for module in iter_modules(fields.__path__):
        import_module(f"{fields.__name__}.{module.name}")
    for sub in kind.__subclasses__():
        if not inspect.isabstract(sub) and sub.__module__.startswith(fields.__name__):
            yield sub
        yield from field_classes(sub)
