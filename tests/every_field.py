"""Every final class of field, or of source, that the package has."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from unspool.data import fields
from unspool.data.fields.field import Field


def field_classes(kind: type[Any] = Field) -> Iterator[type[Any]]:
    for module in iter_modules(fields.__path__):
        import_module(f"{fields.__name__}.{module.name}")
    for sub in kind.__subclasses__():
        if not inspect.isabstract(sub) and sub.__module__.startswith(fields.__name__):
            yield sub
        yield from field_classes(sub)
