"""Settings as tables: what `unspool settings` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic.fields import FieldInfo

from unspool.config import Config, settings
from unspool.data.read.formats import FORMATS
from unspool.embed.settings import DEFAULTS, EmbedConfig
from unspool.nn.cells import CELLS, cell_options
from unspool.tasks import TASKS, Task
from unspool.tasks.encoder import recurrent_models
from unspool.tasks.settings import grouped_settings
from unspool.topic_model.settings import TopicsConfig


class SettingsList:
    """The settings of a run, what a task changes of them, then the options of each cell."""

    def to_json(self) -> dict[str, Any]:
        return {
            "settings": {name: about(name, field) for name, field in settings()},
            "tasks": {name: dict(task.defaults) for name, task in TASKS.items()},
            "models": {name: presets(task) for name, task in TASKS.items()},
            "cells": {name: cell_options(cell) for name, cell in CELLS.items()},
            "word2vec": {name: about(name, field) for name, field in word2vec_settings()},
            "topics": {name: about(name, field) for name, field in topic_settings()},
        }

    def lines(self) -> list[str]:
        lines = table(settings())
        for name, task in TASKS.items():
            if task.defaults:
                lines += [
                    "",
                    f"defaults of the task {name} that differ: " + assigned(task.defaults),
                ]
            for model, preset in presets(task).items():
                lines += ["", f"defaults of --model {model} in {name}: " + assigned(preset)]
        lines += ["", "options of the cells, with their defaults (--set NAME=VALUE):"]
        for name, cell in CELLS.items():
            lines.append(f"  {name:<10} {assigned(cell_options(cell)) or '-'}")
        lines += [
            "",
            "settings of `unspool embed --method word2vec`, with those of data and tokenizer:",
        ]
        lines += [*table(word2vec_settings()), "", f"its own defaults: {assigned(DEFAULTS)}"]
        lines += ["", "settings of `unspool topics`, with those of data and tokenizer:"]
        lines += table(topic_settings())
        return lines


class RunSettings:
    """The settings that one run reads, grouped by what reads them, with that run's defaults."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.groups = grouped_settings(config)
        recurrent = config.model.network == "recurrent"
        self.cell_options = cell_options(CELLS[config.model.cell]) if recurrent else {}

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.config.task,
            "model": self.config.model_name,
            "settings": {
                group: {
                    name: {**about(name, field), "default": value} for name, field, value in rows
                }
                for group, rows in self.groups.items()
            },
            "cell": self.cell_options,
        }

    def lines(self) -> list[str]:
        lines = [f"settings of --task {self.config.task} --model {self.config.model_name}"]
        for group, rows in self.groups.items():
            fields = [(name, field) for name, field, _ in rows]
            lines += ["", group, *table(fields, {name: value for name, _, value in rows})]
        if self.cell_options:
            lines += ["", f"options of the cell {self.config.model.cell}"]
            lines.append(assigned(self.cell_options))
        return lines


def word2vec_settings() -> list[tuple[str, FieldInfo]]:
    return [(n, field) for n, field in settings(EmbedConfig) if n.startswith("word2vec.")]


def topic_settings() -> list[tuple[str, FieldInfo]]:
    return [(n, field) for n, field in settings(TopicsConfig) if n.startswith("topics.")]


def table(
    rows: Iterable[tuple[str, FieldInfo]], defaults: Mapping[str, Any] | None = None
) -> list[str]:
    """Settings with their defaults and meanings, in columns.

    defaults   {name: value} that stand for those of the schema
    """
    cells = [("setting", "default", "meaning")]
    for name, field in rows:
        meaning = (field.description or "") + allowed_words(choices(name, field))
        default = field.default if defaults is None else defaults[name]
        cells.append((name, typed(default), meaning))
    widths = [max(len(row[i]) for row in cells) for i in range(2)]
    return [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in cells]


def about(name: str, field: FieldInfo) -> dict[str, Any]:
    return {
        "default": field.default,
        "about": field.description,
        "choices": list(choices(name, field)),
    }


def presets(task: type[Task]) -> dict[str, dict[str, Any]]:
    """Settings that the models of a task stand for, except those that only name a cell."""
    cells = recurrent_models()
    return {name: preset for name, preset in task.models().items() if name not in cells}


def typed(value: Any) -> str:
    """A value as one would type it after --set."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def assigned(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={typed(value)}" for name, value in values.items())


def allowed_words(words: tuple[str, ...]) -> str:
    return f" [{'|'.join(words)}]" if words else ""


def choices(name: str, field: FieldInfo) -> tuple[str, ...]:
    """The words that a setting may be: those of a Literal type, or the names of formats."""
    if name == "data.format":
        return ("auto", *FORMATS)
    return tuple(word for word in get_args(field.annotation) if isinstance(word, str))
