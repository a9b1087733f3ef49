"""Look at data before training: a file and some settings in, a report out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unspool.api.settings import make_config, open_data
from unspool.api.spelling import in_python, spelled
from unspool.config.resolve import changed
from unspool.data import check as data_check
from unspool.data.check import CheckReport
from unspool.data.parts import split_plans
from unspool.data.read.memory import source_of
from unspool.tasks import TASKS
from unspool.tasks.opening import open_plan


@in_python
def check(
    data: Any,
    labels: Any = None,
    *,
    valid: Any = None,
    test: Any = None,
    task: str | None = None,
    **settings: Any,
) -> CheckReport:
    """Look at the data before training: counts, lengths, labels, leaks, doubtful rows. The split is
    the one that training would make. Data are given as to `train`."""
    plan = open_data(source_of(data, labels), task=task, settings=settings)
    config = make_config(plan.task, None, settings={**plan.settings, **settings})
    plans, _ = split_plans(plan, config.data)
    for name, path in (("valid", valid), ("test", test)):
        if path is not None:
            plans[name] = open_plan(source_of(path), config.data, plan.task)
    kind = TASKS[plan.task]
    whole = changed(config, {"data.max_length": 0})
    report = data_check.check(
        kind.load_corpus(whole, plans),
        summary=spelled(plan.summary),
        task=plan.task,
        unit=kind.unit,
        max_length=config.data.max_length,
    )
    suggestions = [
        replace(each, setting=each.setting and spelled(each.setting)) for each in report.suggestions
    ]
    return replace(report, suggestions=suggestions)
