"""The simplest models of a task on the data of a run: its parts in, a report of each out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.tasks import TASKS, Report, Task

MOST_ROWS = 200_000  # to train on, beyond which a baseline takes more than a minute or so


def fit_baselines(
    task: Task,
    parts: Mapping[str, Part],
    plans: Mapping[str, Plan],
    judged: str,
    note: Callable[[str], None],
) -> dict[str, Report]:
    """Their reports on the part that is judged, by name; of a task that has none, nothing."""
    config = task.config
    others = [own for own in task.baselines(config) if own.model_name != config.model_name]
    if not config.train.baseline or not others:
        return {}
    rows = len(parts["train"])
    if rows > MOST_ROWS:
        note(
            f"baselines left out: {rows:,} rows are more than {MOST_ROWS:,}; train one by itself"
            " with --model linear"
        )
        return {}
    found = {}
    for own in others:
        corpus = TASKS[own.task].load_corpus(own, plans)
        assert all(np.array_equal(parts[name].rows, corpus.parts[name].rows) for name in parts)
        made = TASKS[own.task](own, corpus.fields)
        model = made.fit_model(corpus.parts).model.eval()
        made.calibrate(model, corpus.parts.get("valid"))
        found[own.model_name] = made.evaluate(model, corpus.parts[judged])
    return found
