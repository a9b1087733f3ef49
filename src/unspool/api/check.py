"""Look at data before training: a file and some settings in, a report out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from unspool.api.settings import make_config, open_data
from unspool.config.resolve import changed
from unspool.data import check as data_check
from unspool.data.check import CheckReport
from unspool.data.check.fix import Repairs, check_target, write_fixed
from unspool.data.plan import split_plans
from unspool.data.read.memory import source_of
from unspool.data.store.columns import Progress
from unspool.tasks import TASKS
from unspool.tasks.planner import open_plan
from unspool.tasks.task import row_noun

WHOLE = 2**31  # tokens: the longest that max_length can be, so that nothing is cut


def check(
    data: Any,
    labels: Any = None,
    *,
    valid: Any = None,
    test: Any = None,
    task: str | None = None,
    group: str | None = None,
    suspects: bool = True,
    fix: str | Path | None = None,
    repair: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> CheckReport:
    """Look at the data before training: counts, lengths, labels, leaks, doubtful rows. The split is
    the one that training would make. Data are given as to `train`.

    group      a column, such as a speaker, whose values should not be in two parts
    suspects   whether to look for wrong labels, which takes longest
    fix        where to write a copy of `data` without some of what was found; never over a file
    repair     what to repair in it: names with commas; None for the usual
    """
    if not {"bad_files", "data.bad_files"} & settings.keys():
        settings["data.bad_files"] = "skip"  # all of them are listed
    plan = open_data(source_of(data, labels), task=task, settings=settings)
    if fix is not None:
        check_target(plan, Path(fix))
    config = make_config(plan.task, None, settings={**plan.settings, **settings})
    plans, _ = split_plans(plan, config.data)
    for name, path in (("valid", valid), ("test", test)):
        if path is not None:
            plans[name] = open_plan(source_of(path), config.data, plan.task)
    if group is not None:
        for part in plans.values():
            part.table.column(group, option="group")
    kind = TASKS[plan.task]
    whole = changed(config, {"data.max_length": WHOLE})
    checked = data_check.check(
        kind.load_corpus(whole, plans, progress=progress),
        summary=plan.summary,
        task=plan.task,
        unit=row_noun(kind, config),
        max_length=config.data.max_length,
        group=group,
        suspects=suspects,
        progress=progress,
    )
    bad_files = [line for part in plans.values() for line in part.table.reader.bad_files]
    notes = [*dict.fromkeys(bad_files), *checked.report.notes]
    checked = replace(checked, report=replace(checked.report, notes=notes))
    if fix is None:
        return checked.report
    repairs = Repairs(checked.examiners, repair)
    fixed = write_fixed(plan, Path(fix), repairs, checked.lines, checked.examiners)
    return replace(checked.report, fixed=fixed)
