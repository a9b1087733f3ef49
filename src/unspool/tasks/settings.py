"""Which settings a run reads: those of its task, its kind of input and its network.

A task and a kind of input declare their settings (`Task.settings`, `InputKind.settings`); every
run reads the others (`EVERY_RUN`). A setting may also depend on others (`when` in `config/`).
In: a `Config`, names of settings. Out: the names that it reads, or an error about one it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic.fields import FieldInfo

from unspool.config import SECTIONS, Config, declare, settings
from unspool.config.resolve import full_name
from unspool.errors import Command, ConfigError
from unspool.tasks import TASKS
from unspool.tasks.inputs import INPUTS, TEXT

# Settings that no task and no kind of input declares, so that none need be imported to know them.
EVERY_RUN = declare(
    data="input format encoding read_memory read_seconds columns decimal sheet bad_files"
    " split_column"
    " header valid_share test_share split_seed folds fold fold_part group",
    model="network cell bidirectional layers hidden filters widths embedding dropout"
    " options heads feed_forward activation norm epsilon embedding_norm positions"
    " context self_attention attention_window attention_dropout",
    train="epochs least_steps stop_epoch max_steps batch batch_tokens optimizer lr momentum"
    " beta2 weight_decay schedule warmup clip freeze layer_decay max_seconds patience keep"
    " eval_steps log_steps checkpoint_seconds max_bad_steps precision device threads"
    " tensorboard seed accumulate processes",
)
SECTION_TITLES = {
    "data": "files and splits",
    "tokenizer": "tokenizer",
    "model": "network",
    "embedding": "word vectors",
    "train": "training",
}


def read_settings(config: Config) -> list[str]:
    """The names of all settings that a run reads, in the order of the schema."""
    return [name for name, _ in settings() if unread_reason(name, config) is None]


def grouped_settings(config: Config) -> dict[str, list[tuple[str, FieldInfo, Any]]]:
    """{what reads them: [(name, field, value in this run)]}: task, input, then sections."""
    task, kind = TASKS[config.task], INPUTS.get(_input(config), INPUTS[TEXT])
    groups: dict[str, list[tuple[str, FieldInfo, Any]]] = {
        f"task {config.task}": [],
        f"{kind.name} input": [],
        **{title: [] for title in SECTION_TITLES.values()},
    }
    for name, field in settings():
        if unread_reason(name, config) is not None:
            continue
        if name in task.settings:
            group = f"task {config.task}"
        elif name in kind.settings:
            group = f"{kind.name} input"
        else:
            group = SECTION_TITLES[name.partition(".")[0]]
        groups[group].append((name, field, _value(name, config)))
    return {group: rows for group, rows in groups.items() if rows}


def refuse_unread(
    values: Mapping[str, Any], configs: Sequence[Config], *, where: str | None
) -> None:
    """Raise a ConfigError about the first setting that none of some runs reads.

    values   {name: value} as the user wrote them; the cell's own options are always read
    """
    for key, value in values.items():
        try:
            name = full_name(key)
        except ConfigError:  # an option of the cell, which `resolve` has checked
            continue
        if name.startswith("model.options"):
            continue
        reasons = [unread_reason(name, config) for config in configs]
        if None not in reasons:
            first = configs[0]
            model = {"model": first.model_name} if len(configs) == 1 else {}
            raise ConfigError(
                f"{name} {reasons[0]}",
                where=where,
                got=value,
                remedy=(
                    "leave it out; `",
                    Command("settings", task=first.task, **model),
                    "` lists what this run reads",
                ),
            )


def unread_reason(name: str, config: Config) -> str | None:
    """Why a run does not read a setting; None if it does."""
    task, kind = TASKS[config.task], INPUTS.get(_input(config), INPUTS[TEXT])
    if name not in EVERY_RUN | task.settings | kind.settings:
        return f"is a setting of {_listed(_owners(name))}; this is {config.task} of {kind.name}"
    if name in task.unread.get("any", ()):
        return f"has no effect on {config.task}"
    if name in task.unread.get(_input(config), ()):
        return f"has no effect on {config.task} of {_input(config)}"
    conditions = _conditions()[name]
    if conditions and not any(_holds(condition, config) for condition in conditions):
        conditions = [c for c in conditions if _may_hold(c, config)] or conditions
        names = [condition.partition("=")[0] for condition in conditions]
        values = ", ".join(f"{other}={_value(other, config)}" for other in names)
        return f"is read only with {' or '.join(conditions)}; this run has {values}"
    return None


def _may_hold(condition: str, config: Config) -> bool:
    """Whether a condition is about a setting that this run reads."""
    name = condition.partition("=")[0]
    return name != "task" and unread_reason(name, config) is None


def _input(config: Config) -> str:
    """Return the kind of input; before the data are known, the task's usual one."""
    name = config.data.input
    return TASKS[config.task].roles.default_input if name == "auto" else name


@cache
def _conditions() -> dict[str, list[str]]:
    extras = {name: field.json_schema_extra for name, field in settings()}
    return {
        name: list(extra.get("when", [])) if isinstance(extra, dict) else []  # type: ignore[arg-type]
        for name, extra in extras.items()
    }


def _owners(setting: str) -> list[str]:
    """The tasks and kinds of input that declare a setting."""
    declared = {name: TASKS[name].settings for name in TASKS}
    declared |= {name: kind.settings for name, kind in INPUTS.items()}
    return [name for name, settings in declared.items() if setting in settings]


def _holds(condition: str, config: Config) -> bool:
    name, equals, values = condition.partition("=")
    value = _value(name, config)
    return str(value) in values.split("|") if equals else bool(value)


def _value(name: str, config: Config) -> Any:
    section, _, setting = name.partition(".")
    if not setting:
        return getattr(config, name)
    part = getattr(config, section)
    fields = SECTIONS[section].model_fields
    return getattr(
        part, next(key for key, field in fields.items() if setting in (key, field.alias))
    )


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
