"""A path, or columns in memory, in; the plan of a task out: for learning, and for prediction."""

from __future__ import annotations

from pathlib import Path

from unspool.config import DataConfig
from unspool.data.plan import Plan, choose_plan, unfit
from unspool.data.read import Table, open_table
from unspool.data.read.memory import Columns, memory_table
from unspool.errors import choose
from unspool.tasks import TASKS
from unspool.tasks.inputs import INPUTS, TASK_INPUTS

Source = str | Path | Columns
# Settings of what need not be there.
OUTPUTS = ("label", "source", "target", "pattern")
# The setting that names the column of a field, or the settings that name its columns; `series` for
# fields of vectors.
SETTINGS: dict[str, str | tuple[str, ...]] = {
    "pair": ("text", "text_pair"),
    "question": ("text_pair", "text"),
    "span": "label",
    "story": ("text", "text_pair"),
    "text": "text",
    "caption": "text",
    "words": "text",
    "label": "label",
    "labels": "label",
    "tags": "label",
    "number": "label",
    "source": "source",
    "target": "target",
    "static": "static",
}


def open_plan(source: Source, data: DataConfig, task: str | None = None) -> Plan:
    """The columns for the inputs and outputs of a task; if None, of the one that fits best."""
    table = _open(source, data)
    return choose_plan(table, with_usual(table, table.data), task, TASKS)


def usual_columns(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The names of the columns that are read, by the settings that name them."""
    if not plan.table.header and "series" not in plan.columns:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for field, column in plan.columns.items():
        names, setting = plan.table.reader.sources(column), SETTINGS.get(field, "series")
        if isinstance(setting, str):
            found[setting] = names
        else:
            found |= {own: (name,) for own, name in zip(setting, names)}
    return found


def with_usual(table: Table, data: DataConfig) -> DataConfig:
    """The settings, which name the columns that a run was trained on where the table has them and
    the user has named no others."""
    known = table.header or "series" in data.columns  # a series may have columns without names
    names = {column.name for column in table.columns} if known else set()
    found = {
        setting: ",".join(columns)
        for setting, columns in data.columns.items()
        if getattr(data, setting) is None and names.issuperset(columns)
    }
    return data.model_copy(update=found)


def open_inputs(source: Source, data: DataConfig, task: str) -> Plan:
    """The columns for the inputs of a task. Those of its outputs need not be there."""
    data = data.model_copy(update={"text": data.text or data.source, **dict.fromkeys(OUTPUTS)})
    table = _open(source, data)
    usual = with_usual(table, table.data)
    data = usual.model_copy(update={"text": usual.text or usual.source, **dict.fromkeys(OUTPUTS)})
    plan = TASKS[task].plan(table, data, named=True, outputs=False)
    if plan is None:
        raise unfit(table, task)
    return plan


def _open(source: Source, data: DataConfig) -> Table:
    choose("input", data.input, ["auto", *INPUTS, *TASK_INPUTS])
    if isinstance(source, Columns):
        return memory_table(source, data)
    return open_table(str(source), data)
