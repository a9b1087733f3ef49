"""`--model auto`: a budget of time in, the best of several models or their mean out.

The baselines of the task come first, then its candidates, each with an equal share of the time that
is left, then the best network again with another seed. The validation part decides between them,
and whether a mean of some is better than the best one; the test part, if there is one, is only
reported on. Every model that was tried stays as a run in the folder `tried`.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from unspool.api.run import Run, load
from unspool.api.training import begin, data_files, report_run, write_report
from unspool.api.watching import Shown
from unspool.config import Config
from unspool.config.resolve import changed
from unspool.data.corpus import Corpus
from unspool.data.plan import Plan
from unspool.errors import ConfigError
from unspool.io.files import write_json
from unspool.tasks import TASKS
from unspool.training.checkpoint import Counters
from unspool.training.folder import RunFolder
from unspool.training.tensors import save_tensors

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
LEAST = 5.0  # seconds for which a network is worth beginning
MOST_MEMBERS = 4


def seconds_of(budget: str | float) -> float:
    """`300`, `90s`, `5m` or `1h`"""
    found = re.fullmatch(r"([\d.]+)\s*([smh]?)", str(budget).strip().lower())
    try:
        seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise ConfigError("--budget is a time", got=budget, remedy="write it as 300, 90s, 5m or 1h")
    return seconds


@dataclass(frozen=True)
class Tried:
    """One model, and what it gives on the validation part."""

    name: str
    run: Run
    scores: np.ndarray
    metrics: dict[str, float]
    seconds: float


def train_auto(
    folder: RunFolder,
    configs: Mapping[str, Config],
    plans: dict[str, Plan],
    budget: float,
    shown: Shown,
) -> Run:
    """`configs` of the models to try, by name, in their order."""
    started, tried = time.monotonic(), list[Tried]()
    waiting = dict(configs)
    while waiting:
        name = next(iter(waiting))
        config = waiting.pop(name)
        left = budget - (time.monotonic() - started)
        quick = TASKS[config.task](config, TASKS[config.task].make_fields(config)).at_once
        if left < LEAST and not quick:
            shown.note(f"— {name}: no time left")
            continue
        shown.note(f"— {name}, {left:.0f} s left")
        networks = 1 + len(waiting)
        share = {} if quick else {"train.max_seconds": max(LEAST, left / networks)}
        own = changed(config, {**share, "train.baseline": False})
        tried.append(try_model(folder, name, own, plans, shown))
        if not waiting and name in configs:
            waiting = another_seed(tried, configs, budget - (time.monotonic() - started))
    chosen = best_mean(tried)
    for line in table(tried, chosen):
        shown.note(line)
    seconds = time.monotonic() - started
    if len(chosen) == 1:
        run = keep(folder, chosen[0])
    else:
        run = keep_mean(folder, chosen, plans, seconds, shown)
    record = {"budget": budget, "seconds": round(seconds, 1), "models": rows(tried, chosen)}
    write_json(folder.path / "auto.json", record)
    reports = {own.name: own.run.report for own in tried if own.run.report is not None}
    name = chosen[0].name if len(chosen) == 1 else ""
    others = {key: report for key, report in reports.items() if key != name}
    write_report(run, run.report, run.report_part, others)
    return run


def try_model(
    folder: RunFolder, name: str, config: Config, plans: dict[str, Plan], shown: Shown
) -> Tried:
    home, started = RunFolder(folder.path / "tried" / name), time.monotonic()
    with home.making():
        run = begin(home, config, plans, None, shown)
    task: Any = run.task
    if "valid" not in run.parts:
        raise ConfigError("--model auto needs a validation part", remedy="set valid_share=0.1")
    part = run.parts["valid"]
    scores = task.scores(run.model, part, len(task.outputs)) / task.temperature
    metrics = task.metrics(part, scores * task.temperature)
    return Tried(name, run, scores, metrics, time.monotonic() - started)


def another_seed(
    tried: list[Tried], configs: Mapping[str, Config], left: float
) -> dict[str, Config]:
    """The best network once more, where there is time for it."""
    networks = [own for own in tried if not own.run.task.at_once]
    if not networks:
        return {}
    best = max(networks, key=lambda own: own.run.task.rank(own.metrics))
    if best.seconds > left:
        return {}
    seed = best.run.config.train.seed + 1
    return {f"{best.name}-seed2": changed(configs[best.name], {"train.seed": seed})}


def best_mean(tried: list[Tried]) -> list[Tried]:
    """The best model, and then whatever makes the mean of all better, the best addition first."""
    task: Any = tried[0].run.task
    chosen = [max(tried, key=lambda own: task.rank(own.metrics))]
    rank = task.rank(mean_metrics(chosen))
    while len(chosen) < MOST_MEMBERS:
        others = [own for own in tried if own not in chosen]
        ranks = [task.rank(mean_metrics([*chosen, own])) for own in others]
        # Better in the metric itself: its second part, the loss, nearly always gains.
        if not ranks or max(ranks)[0] <= rank[0]:
            break
        best = int(np.argmax([own[0] for own in ranks]))
        chosen.append(others[best])
        rank = ranks[best]
    return chosen


def mean_metrics(members: list[Tried]) -> dict[str, float]:
    task: Any = members[0].run.task
    plain = type(task)(task.config, task.fields)  # of the temperature 1
    return plain.metrics(
        members[0].run.parts["valid"], plain.averaged([own.scores for own in members])
    )


def rows(tried: list[Tried], chosen: list[Tried]) -> list[dict[str, Any]]:
    return [
        {
            "model": own.name,
            "valid": own.metrics,
            "seconds": round(own.seconds, 1),
            "kept": own in chosen,
        }
        for own in tried
    ]


def table(tried: list[Tried], chosen: list[Tried]) -> list[str]:
    task = tried[0].run.task
    metric = task.metric
    width = max(len(own.name) for own in tried)
    lines = [f"{'tried':<{width}}  valid {metric:>10}  seconds"]
    for own in sorted(tried, key=lambda own: task.rank(own.metrics), reverse=True):
        kept = "  kept" if own in chosen else ""
        lines.append(f"{own.name:<{width}}  {own.metrics[metric]:16.4f}  {own.seconds:7.0f}{kept}")
    if len(chosen) > 1:
        value = mean_metrics(chosen)[metric]
        lines.append(
            f"{'mean':<{width}}  {value:16.4f}           of the {len(chosen)} that are kept"
        )
    return lines


def keep(folder: RunFolder, best: Tried) -> Run:
    """The run of the best model, in the folder of the whole."""
    shutil.copytree(best.run.path, folder.path, dirs_exist_ok=True)
    run = load(folder.path)
    run.counters, run.parts = best.run.counters, best.run.parts
    report = best.run.report
    if report is not None:
        run.keep(report)
    return run


def keep_mean(
    folder: RunFolder, members: list[Tried], plans: dict[str, Plan], seconds: float, shown: Shown
) -> Run:
    kind: Any = type(members[0].run.task)
    task, model = kind.joined([own.run.task for own in members], [own.run.model for own in members])
    parts = task.joined_parts([own.run.parts for own in members])
    threads = task.config.train.threads or torch.get_num_threads()
    folder.write_config(task.config, data_files(plans), threads)
    save_tensors(folder.weights, model.state_dict(), {})
    ends = [own.run.counters for own in members if own.run.counters is not None]
    counters = Counters(
        tokens=sum(end.tokens for end in ends),
        seconds=seconds,
        finished="the mean of " + ", ".join(own.name for own in members),
    )
    corpus = Corpus(task.fields, parts)
    return report_run(folder, task, model, corpus, plans, counters, shown)
