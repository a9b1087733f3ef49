"""Every setting as a table: what `unspool settings` prints."""

from __future__ import annotations

from typing import Any, get_args

from unspool.config import settings
from unspool.nn.cells import CELLS, cell_options


class SettingsList:
    """The settings of config.py, then the options of each cell."""

    def to_json(self) -> dict[str, Any]:
        return {
            "settings": {
                name: {
                    "default": field.default,
                    "about": field.description,
                    "choices": list(choices(field.annotation)),
                }
                for name, field in settings()
            },
            "cells": {name: cell_options(cell) for name, cell in CELLS.items()},
        }

    def lines(self) -> list[str]:
        rows = [("setting", "default", "meaning")]
        for name, field in settings():
            about = field.description or ""
            allowed = choices(field.annotation)
            rows.append(
                (name, str(field.default), about + (f" [{'|'.join(allowed)}]" if allowed else ""))
            )
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
        lines += ["", "options of the cells (--set NAME=VALUE):"]
        for name, cell in CELLS.items():
            options = cell_options(cell)
            if options:
                lines.append(f"  {name:<10} " + ", ".join(f"{k}={v}" for k, v in options.items()))
        return lines


def choices(annotation: Any) -> tuple[str, ...]:
    """The words of a Literal type, if it is one."""
    return tuple(x for x in get_args(annotation) if isinstance(x, str))
