"""From what was said to a `Config`: the task's defaults, the model's, a file's, the caller's."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from unspool.config import SECTIONS, Config, read_toml, resolve
from unspool.errors import ConfigError, choose
from unspool.nn.cells import CELLS, cell_options
from unspool.tasks import TASKS
from unspool.tasks.encoder import model_settings, try_cell
from unspool.training.folder import RunFolder


def make_config(
    task: str,
    model: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    config_file: str | None = None,
    where: str = "--set",
) -> Config:
    """All settings of a run: the task's own defaults, the model's, a file's, then the caller's."""
    config = draft_config(task, model, settings or {}, config_file, where)
    try_cell(config.model)
    TASKS[task].check_config(config)
    return config


def draft_config(
    task: str,
    model: str | None,
    settings: Mapping[str, Any],
    config_file: str | None,
    where: str = "--set",
) -> Config:
    """The settings before the task has looked at them."""
    kind = TASKS[choose("task", task, TASKS)]
    from_file = read_toml(config_file) if config_file else {}
    from_file.pop("task", None)
    name = model or str(from_file.pop("model", kind.default_model))
    preset = model_settings(name, where=None if model else config_file)
    said = {**preset, **from_file, **settings}
    cell = choose(
        "cell",
        str(said.get("cell", said["model.cell"])),
        CELLS,
        where=where if {"cell", "model.cell"} & settings.keys() else config_file,
    )
    return resolve(
        task=task,
        model=name,
        layers=[
            (f"task {task}", kind.defaults),
            (f"model {name}", preset),
            (config_file or "config file", from_file),
            (where, settings),
        ],
        options=list(cell_options(CELLS[cell])),
    )


def refuse_changes(
    folder: RunFolder,
    task: str | None,
    model: str | None,
    settings: Mapping[str, Any],
    config_file: str | None,
) -> None:
    """A resumed run keeps its settings: what is said again must be what it has."""
    stored = folder.read_config()
    from_file = read_toml(config_file) if config_file else {}
    task = task or from_file.pop("task", None)
    model = model or from_file.pop("model", None)
    from_file = {key: value for key, value in from_file.items() if key not in ("task", "model")}
    known = {
        f"{section}.{name}": value
        for section in SECTIONS
        for name, value in stored.model_dump()[section].items()
    }
    asked = resolve(
        task=task or stored.task,
        model=model or stored.model_name,
        layers=[("run", known), (config_file or "config file", from_file), ("--set", settings)],
        options=list(cell_options(CELLS[stored.model.cell])) if stored.model.cell in CELLS else (),
    )
    if asked == stored:
        return
    names = ["task", "model_name", *known]
    name = next(n for n in names if attrgetter(n)(asked) != attrgetter(n)(stored))
    raise ConfigError(
        f"the run has {name}={attrgetter(name)(stored)}, which --resume cannot change",
        where=folder.path,
        got=attrgetter(name)(asked),
        remedy="leave the setting out, or train anew with another --out",
    )
