"""The `Config` of a run from the defaults of its task and model, a file and the caller; the summary
of the model that settings describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unspool.config import SECTIONS, Config, ModelConfig
from unspool.config.resolve import read_toml, resolve, resolve_data
from unspool.data.plan import Plan
from unspool.errors import ConfigError, Option, choose
from unspool.insight.summary import ModelSummary, summary_of
from unspool.nn.cells import CELLS, cell_options
from unspool.tasks import TASKS, build_model
from unspool.tasks.abilities import ChoosesModel
from unspool.tasks.embedding import check_embedding, vector_settings
from unspool.tasks.encoder import check_model
from unspool.tasks.planner import Source, open_plan
from unspool.tasks.settings import refuse_unread
from unspool.tasks.size import may_be_large, refuse_large_model
from unspool.training.folder import RunFolder
from unspool.training.transfer import Start, refuse_other_settings

SETTINGS = Option("settings")
SMALLEST_VOCABULARY = 16  # tokens; that of the data is not known yet


def open_data(
    data: Source,
    *,
    task: str | None = None,
    settings: Mapping[str, Any],
    config_file: str | None = None,
) -> Plan:
    """Plan of reading the training data; the task is inferred where neither the caller nor the
    config file names it."""
    settings_file = read_toml(config_file) if config_file is not None else {}
    if task is None and "task" in settings_file:
        task = choose("task", str(settings_file["task"]), TASKS, where=config_file)
    layers = [(config_file or "config file", settings_file), (SETTINGS, settings)]
    return open_plan(data, resolve_data(layers), task)


def make_config(
    task: str,
    model: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    config_file: str | None = None,
    where: object = SETTINGS,
    start: Start | None = None,
    plan: Plan | None = None,
) -> Config:
    """All settings of a run: the task's own defaults, the model's, those that its data ask for,
    those of the model that it starts from, a file's, then the caller's."""
    config = draft_config(task, model, settings or {}, config_file, where, start, plan)
    if start is not None:
        if config.embedding.file is not None and start.tokenizer is not None:
            raise ConfigError(
                "the model to start from has vectors of its own",
                where=start.path,
                got=f"embedding.from={config.embedding.file}",
                remedy=("leave out ", Option("start"), " or embedding.from"),
            )
        refuse_other_settings(config, start)
        if start.tokenizer is None and config.train.freeze != "none":
            raise ConfigError(
                "train.freeze freezes an encoder that was trained before, and this start has none",
                where=start.path,
                got=config.train.freeze,
                remedy="leave it out: contextual vectors are frozen unless tuned=true",
            )
    elif config.embedding.contextual is not None or config.embedding.tuned:
        raise ConfigError(
            ("contextual vectors come with a run of ", Option(task="elmo")),
            remedy=("name one with ", Option("start"), ", or leave out contextual and tuned"),
        )
    elif config.tokenizer.kind == "pretrained":
        raise ConfigError(
            "tokenizer.kind=pretrained is that of a model that was trained before",
            remedy=("name its folder with ", Option("start"), ", or choose char, word or bpe"),
        )
    elif config.train.freeze != "none":
        raise ConfigError(
            "train.freeze freezes what an encoder has learnt before, and this one starts anew",
            got=config.train.freeze,
            remedy=("name a run to start from with ", Option("start"), ", or leave it out"),
        )
    kind = TASKS[task]
    known = {preset.get("model.network", "recurrent") for preset in kind.models().values()}
    if config.model.network not in known:
        raise ConfigError(
            f"model.network={config.model.network} is not for task {task}",
            where=where,
            remedy=("leave it out: it follows from ", Option("model")),
        )
    check_model(config.model)
    check_embedding(config)
    kind.check_config(config)
    if start is None and may_be_large(config, SMALLEST_VOCABULARY, training=True):
        few = config.tokenizer.model_copy(update={"vocab": SMALLEST_VOCABULARY})
        smallest = config.model_copy(update={"tokenizer": few})
        refuse_large_model(kind.invented(smallest, classes=2), training=True)
    return config


def refuse_unread_settings(
    settings: Mapping[str, Any], config_file: str | None, configs: Sequence[Config]
) -> None:
    """Raise an error about a setting of the caller, or of a file, that no config reads."""
    from_file = read_toml(config_file) if config_file else {}
    from_file = {key: value for key, value in from_file.items() if key not in ("task", "model")}
    refuse_unread(from_file, configs, where=config_file)
    refuse_unread(settings, configs, where=None)


def draft_config(
    task: str,
    model: str | None,
    settings: Mapping[str, Any],
    config_file: str | None,
    where: object = SETTINGS,
    start: Start | None = None,
    plan: Plan | None = None,
) -> Config:
    """The settings before the task has looked at them."""
    kind = TASKS[choose("task", task, TASKS)]
    from_file = read_toml(config_file) if config_file else {}
    from_file.pop("task", None)
    models = kind.models()
    chosen = {**from_file, **settings}
    usual = kind.usual_model(chosen) if isinstance(kind, ChoosesModel) else kind.default_model
    if start is not None and start.model in models:
        usual = start.model
    name = model or str(from_file.pop("model", usual))
    if start is not None and name != start.model and name in models and start.model in models:
        raise ConfigError(
            f"the model to start from is a {start.model}",
            where=start.path,
            got=name,
            remedy=(
                "leave out ",
                Option("model"),
                ", or train from scratch without ",
                Option("start"),
            ),
        )
    preset = models[choose("model", name, models, where=None if model else config_file)]
    taken = {} if start is None else {**start.fixed, **start.defaults}
    values = {**preset, **taken, **from_file, **settings}
    recurrent = values.get("model.network", "recurrent") == "recurrent"
    if not recurrent and {"cell", "model.cell"} & {*from_file, *settings}:
        raise ConfigError(
            (Option(model=name), " has no cell to choose"),
            where=where,
            got=values.get("cell", values.get("model.cell")),
            remedy="leave it out, or name a recurrent model",
        )
    cell = choose(
        "cell",
        str(values.get("cell", values.get("model.cell", ModelConfig().cell))),
        CELLS,
        where=where if {"cell", "model.cell"} & settings.keys() else config_file,
    )
    return resolve(
        task=task,
        model=name,
        layers=[
            (f"task {task}", kind.defaults),
            (f"model {name}", preset),
            ("input", kind.recommended_settings({**kind.defaults, **values}, plan)),
            (Option("start"), taken),
            ("embedding.from", vector_settings(values)),
            (config_file or "config file", from_file),
            (where, settings),
        ],
        options=list(cell_options(CELLS[cell])) if recurrent else (),
    )


def refuse_changes(
    folder: RunFolder,
    task: str | None,
    model: str | None,
    settings: Mapping[str, Any],
    config_file: str | None,
) -> None:
    """A resumed run keeps its settings: what is given again must be what it has."""
    stored = folder.read_config()
    from_file = read_toml(config_file) if config_file else {}
    task = task or from_file.pop("task", None)
    model = model or from_file.pop("model", None)
    from_file = {key: value for key, value in from_file.items() if key not in ("task", "model")}
    known = _flat(stored)
    has_cell = stored.model.network == "recurrent" and stored.model.cell in CELLS
    requested = resolve(
        task=task or stored.task,
        model=model or stored.model_name,
        layers=[("run", known), (config_file or "config file", from_file), (SETTINGS, settings)],
        options=list(cell_options(CELLS[stored.model.cell])) if has_cell else (),
    )
    # What they became when the run began:
    kept = {
        name: getattr(stored.train, name)
        for name in ("precision", "device")
        if getattr(requested.train, name) == "auto"
    }
    kept["processes"] = stored.train.processes  # a run may go on with another number
    if kept:
        requested = requested.model_copy(update={"train": requested.train.model_copy(update=kept)})
    before, after = (
        {"task": config.task, "model_name": config.model_name, **_flat(config)}
        for config in (stored, requested)
    )
    for name in before:
        if before[name] != after[name]:
            raise ConfigError(
                f"the run has {name}={before[name]}, and a resumed run keeps its settings",
                where=folder.path,
                got=after[name],
                remedy=(
                    "leave the setting out, or train from scratch with another ",
                    Option("out"),
                ),
            )


def _flat(config: Config) -> dict[str, Any]:
    """{`section.name`: value}"""
    tree = config.model_dump()
    return {
        f"{section}.{name}": value for section in SECTIONS for name, value in tree[section].items()
    }


def summarise_settings(
    task: str | None, model: str | None, *, settings: Mapping[str, Any], classes: int
) -> ModelSummary:
    """Summarise the model that `settings` describe, with a full vocabulary; no task: the first."""
    config = make_config(task or next(iter(TASKS)), model, settings=settings)
    refuse_unread_settings(settings, None, [config])
    made = TASKS[config.task].invented(config, classes=classes)
    return summary_of(made, build_model(made))


def check_folds(config: Config, plans: dict[str, Plan]) -> None:
    """Refuse what no cross-validation can be made of."""
    data = config.data
    if data.folds == 1 or data.fold > data.folds:
        raise ConfigError(
            "a cross-validation has two folds or more, and data.fold is one of them",
            got=f"folds={data.folds}, fold={data.fold}",
            remedy=("try ", Option(folds=5)),
        )
    separate = [name for name in ("valid", "test") if name in plans]
    if data.folds and separate:
        raise ConfigError(
            (Option("folds"), f" makes its own {separate[0]} parts"),
            got=f"{separate[0]} data",
            remedy=("leave out ", Option(separate[0]), ", or add ", Option(split="none")),
        )
