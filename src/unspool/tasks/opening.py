"""A path in, the plan of a task out: for learning, and for prediction."""

from __future__ import annotations

from pathlib import Path

from unspool.config import DataConfig
from unspool.data.plan import Plan, choose_plan, unfit
from unspool.data.read import open_table
from unspool.tasks import TASKS


def open_plan(path: str | Path, data: DataConfig, task: str | None = None) -> Plan:
    """The columns for the inputs and outputs of a task; if None, of the one that fits best."""
    return choose_plan(open_table(str(path), data), data, task, TASKS)


def open_inputs(path: str | Path, data: DataConfig, task: str) -> Plan:
    """The columns for the inputs of a task. Those of its outputs need not be there."""
    text = data.text or data.source
    data = data.model_copy(update={"text": text, "label": None, "source": None, "target": None})
    table = open_table(str(path), data)
    plan = TASKS[task].plan(table, data, named=True, outputs=False)
    if plan is None:
        raise unfit(table, task)
    return plan
