"""Choice of a model: several configs in, the best of them or the mean of some out.

Simple models come first, then networks. Held-out rows decide between them, and whether a mean of
some is better than the best one: those of the validation part, or of small data all rows, each
scored by a model of the other folds. The test part, if there is one, is only reported on. Every
model that was tried stays as a run in the folder `tried`.

`--model auto` has a budget of time: each network gets half of the time that is left, and at the end
the best one is trained again with another seed. Where no model is named, the default network alone
is tried beside the simple models, without a budget.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from unspool.api.run import Run, load
from unspool.api.training import (
    data_files,
    report_run,
    resume_training,
    start_training,
    write_report,
)
from unspool.api.tried import TriedModel, best_mean, mean_scores, rows, table, task_of
from unspool.config import Config
from unspool.config.resolve import build, changed
from unspool.data.corpus import Corpus
from unspool.data.plan import Plan
from unspool.errors import ConfigError, Option
from unspool.io.files import write_json
from unspool.tasks import TASKS, Report
from unspool.tasks.task import fits_directly
from unspool.training.checkpoint import Counters
from unspool.training.comparison import paired_interval
from unspool.training.folder import RunFolder
from unspool.training.progress import Note, Shown
from unspool.training.signals import Interrupted
from unspool.training.tensors import save_tensors

AUTO = "auto"  # as the name of a model
RESULT = "auto.json"
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
LEAST = 5.0  # seconds for which a network is worth beginning
LEAST_EPOCHS = 2  # of a fold, for which it is worth going on with the others
HOPELESS = 0.05  # how much worse than the best a model surely is on a fold that ends its trial


def seconds_of(budget: str | float) -> float:
    """`300`, `90s`, `5m` or `1h`"""
    match = re.fullmatch(r"([\d.]+)\s*([smh]?)", str(budget).strip().lower())
    try:
        seconds = float(match[1]) * UNITS[match[2]] if match else 0.0
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise ConfigError(
            (Option("budget"), " is a time"), got=budget, remedy="write it as 300, 90s, 5m or 1h"
        )
    return seconds


def train_auto(
    folder: RunFolder,
    configs: Mapping[str, Config],
    plans: dict[str, Plan],
    folds: int,
    budget: float | None,
    shown: Shown,
) -> Run:
    """`configs` of the models to try, by name, in their order; the budget is in seconds."""
    configs = {name: changed(c, {"train.baseline": False}) for name, c in configs.items()}
    first = next(iter(configs.values()))
    record = {
        "budget": budget,
        "folds": folds,
        "configs": {name: c.model_dump(mode="json") for name, c in configs.items()},
    }
    threads = first.train.threads or torch.get_num_threads()
    whole = first.model_copy(update={"model_name": AUTO})
    folder.write_config(whole, data_files(plans), threads, {AUTO: record})
    shown = shown._replace(note=once(shown.note))
    return Search(folder, plans, configs, folds, budget, shown).run()


def resume_auto(
    folder: RunFolder, record: Mapping[str, Any], plans: dict[str, Plan], shown: Shown
) -> Run:
    """Go on with a search; what it has tried is kept, and its time counts."""
    configs = {name: build(Config, stored) for name, stored in record["configs"].items()}
    budget = None if record["budget"] is None else float(record["budget"])
    shown = shown._replace(note=once(shown.note))
    return Search(folder, plans, configs, int(record["folds"]), budget, shown).run()


class Member(NamedTuple):
    """A run in a mean, with its weight among those of its kind, and its temperature."""

    run: Run
    weight: float
    temperature: float


@dataclass(frozen=True)
class Search:
    folder: RunFolder
    plans: dict[str, Plan]
    configs: Mapping[str, Config]
    folds: int
    budget: float | None  # seconds; None: no limit, and no second seed
    shown: Shown
    whole: dict[str, Run] = field(default_factory=dict)  # models of all rows, by name

    def run(self) -> Run:
        tried = self.try_all()
        chosen = best_mean(tried)
        for line in table(tried, chosen):
            self.shown.note(line)
        seconds = sum(model.seconds for model in tried)
        record = {"budget": self.budget, "folds": self.folds, "seconds": round(seconds, 1)}
        write_json(self.folder.path / RESULT, {**record, "models": rows(tried, chosen)})
        run = self.keep(chosen)
        same = [chosen[0].name] if len(chosen) == 1 else []
        rest = {model.name: self.report(model) for model in tried if model.name not in same}
        report = run.report
        if report is None and self.folds:  # nothing was held out of all
            task: Any = run.task
            report, part = task.report(mean_scores(chosen), chosen[0].truth), "folds"
        else:
            part = run.report_part or "valid"
        write_report(run, report, part, rest, choice=self.choice(chosen))
        return run

    def report(self, model: TriedModel) -> Report:
        """On the test part, of a model that takes seconds as it is without folds; else on the rows
        that were held out."""
        whole = self.folds and model.at_once and "test" in model.runs[0].parts
        report = self.train_whole(model).report if whole else None
        return model.report() if report is None else report

    def choice(self, chosen: list[TriedModel]) -> str:
        """How the models were chosen, in words."""
        names = [model.name for model in chosen]
        where = f"{self.folds} folds" if self.folds else "the validation part"
        if len(names) == 1:
            return f"{names[0]}: the best on {where}"
        return f"the mean of {', '.join(names[:-1])} and {names[-1]}: the best on {where}"

    def try_all(self) -> list[TriedModel]:
        tried, waiting = list[TriedModel](), dict(self.configs)
        left = math.inf if self.budget is None else self.budget
        while waiting:
            name = next(iter(waiting))
            config = waiting.pop(name)
            quick = fits_directly(
                TASKS[config.task](config, TASKS[config.task].make_fields(config))
            )
            begun = (self.folder.path / "tried" / name).exists()
            if left < LEAST and not quick and not begun:
                self.shown.note(f"— {name}: no time left")
                continue
            limited = math.isfinite(left)
            self.shown.note(f"— {name}" + f", {max(0.0, left):.0f} s left" * limited)
            share = max(LEAST, left / 2 if waiting else left) / max(1, self.folds)
            limit = {"train.max_seconds": share} if limited and not quick else {}
            model, seconds = self.try_model(name, changed(config, limit), tried)
            left -= seconds
            if model is not None:
                tried.append(model)
            if not waiting and name in self.configs and limited:
                waiting = another_seed(tried, self.configs, left)
        return tried

    def try_model(
        self, name: str, config: Config, tried: list[TriedModel]
    ) -> tuple[TriedModel | None, float]:
        """On the validation part, or on every fold, and the seconds it took; None: the first fold
        has shown that there is too little time, or that one that was tried before is far better.
        What was begun before goes on."""
        home, runs, seconds = self.folder.path / "tried" / name, list[Run](), 0.0
        shown = self.shown
        for fold in range(1, self.folds + 1) if self.folds else [0]:
            settings = {
                "data.folds": self.folds,
                "data.fold": fold,
                "data.fold_part": "valid",
                "train.keep": "last",  # the rows of a fold judge the model, and choose no epoch
            }
            fold_config = changed(config, settings) if fold else config
            started = time.monotonic()
            run = self.train(RunFolder(home / str(fold) if fold else home), fold_config, shown)
            if "valid" not in run.parts:
                raise ConfigError(
                    (Option(model="auto"), " needs a validation part"), remedy="set valid_share=0.1"
                )
            trained = 0.0 if run.counters is None else run.counters.seconds
            seconds += max(trained, time.monotonic() - started)
            runs.append(run)
            if fold == 1 and out_of_time(run):
                self.shown.note(f"— {name}: too slow for its time, left out")
                return None, seconds
            if fold == 1 and not fits_directly(run.task) and (better := far_better(tried, run)):
                self.shown.note(f"— {name}: far behind {better.name} on the first fold, left out")
                return None, seconds
            shown = shown._replace(note=lambda text: None)  # the others would say the same
        return TriedModel.of(name, runs, seconds), seconds

    def train(self, home: RunFolder, config: Config, shown: Shown) -> Run:
        try:
            if home.config_file.exists():
                with home.holding():
                    return resume_training(home, self.plans, shown)
            with home.making():
                return start_training(home, config, self.plans, None, shown)
        except Interrupted as stopped:
            raise Interrupted(stopped.number, self.folder.path, stopped.step) from None

    def keep(self, chosen: list[TriedModel]) -> Run:
        """The models that were chosen as the run of the whole."""
        members = [each for model in chosen for each in self.members(model)]
        if len(members) > 1:
            return self.keep_mean(chosen, members)
        run = self.copied(members[0].run)
        if self.folds and not chosen[0].at_once:
            self.calibrate(run, chosen)
        return run

    def calibrate(self, run: Run, chosen: list[TriedModel]) -> None:
        """By the rows of the folds; the report on the test part follows."""
        for line in task_of(run).calibrate_by(mean_scores(chosen), chosen[0].truth):
            self.shown.note(line)
        run.task.save(run.path)
        if "test" in run.parts:
            report = run.task.evaluate(run.model, run.parts["test"])
            report.part = "test"
            run.keep(report)

    def members(self, model: TriedModel) -> list[Member]:
        """The models of a kind in a mean: those of the folds, whose errors differ; or one of all
        rows where that takes seconds, or where each fold lacks whole groups."""
        temperatures = [task_of(run).temperature for run in model.runs]
        config = self.configs[model.name]
        if not self.folds or not (model.at_once or config.data.grouped):
            share = 1 / len(model.runs)
            return [Member(run, share, t) for run, t in zip(model.runs, temperatures)]
        return [Member(self.train_whole(model), 1.0, float(np.mean(temperatures)))]

    def train_whole(self, model: TriedModel) -> Run:
        """A model of all rows but those of the test part."""
        if model.name in self.whole:
            return self.whole[model.name]
        settings: dict[str, Any] = {"data.valid_share": 0.0, "train.keep": "last"}
        if self.budget is not None and not model.at_once:
            settings["train.max_seconds"] = max(LEAST, model.seconds / self.folds)
        config = changed(self.configs[model.name], settings)
        home = RunFolder(self.folder.path / "tried" / model.name / "all")
        run = self.whole[model.name] = self.train(home, config, self.shown)
        return run

    def copied(self, best: Run) -> Run:
        self.folder.take(best.folder)
        run = load(self.folder.path)
        run.counters, run.parts = best.counters, best.parts
        if best.report is not None:
            run.keep(best.report)
        return run

    def keep_mean(self, chosen: list[TriedModel], members: list[Member]) -> Run:
        folder, runs = self.folder, [member.run for member in members]
        kind: Any = type(runs[0].task)
        task, model = kind.joined(
            [run.task for run in runs],
            [run.model for run in runs],
            [member.weight / len(chosen) for member in members],
            [member.temperature for member in members],
        )
        parts = task.joined_parts([run.parts for run in runs])
        ends = [run.counters for run in runs if run.counters is not None]
        each = ""
        if self.folds:
            each = (
                f", {len(runs)} models of all rows"
                if len(runs) == len(chosen)
                else (f", networks one for each of {self.folds} folds")
            )
        counters = Counters(
            tokens=sum(end.tokens for end in ends),
            seconds=sum(member.seconds for member in chosen),
            finished="the mean of " + ", ".join(member.name for member in chosen) + each,
        )
        threads = task.config.train.threads or torch.get_num_threads()
        # The weights first: a folder whose search was stopped here still has its own settings.
        save_tensors(folder.weights, model.state_dict(), {})
        task.save(folder.path)
        folder.write_rows(*(run.parts["train"] for run in runs))
        folder.write_config(task.config, data_files(self.plans), threads)
        if not self.folds:
            corpus = Corpus(task.fields, parts)
            return report_run(folder, task, model, corpus, self.plans, counters, self.shown)
        run = Run(folder, task, model)
        run.counters, run.parts = counters, parts
        self.calibrate(run, chosen)
        return run


def once(note: Note) -> Note:
    """Leave out lines that were shown before, such as those about the data."""
    lines = set[str]()

    def show(line: str) -> None:
        if line not in lines:
            lines.add(line)
            note(line)

    return show


def out_of_time(run: Run) -> bool:
    """Return whether the seconds of a network were over when it had hardly begun."""
    counters, most = run.counters, run.config.train.max_seconds
    if counters is None or not 0 < most <= counters.seconds:
        return False
    return counters.epoch < LEAST_EPOCHS


def far_better(tried: list[TriedModel], run: Run) -> TriedModel | None:
    """Return the best model so far where a run is surely much worse on the same held-out rows."""
    if not tried:
        return None
    best, mine = max(tried, key=lambda model: model.rank), TriedModel.of("", [run], 0.0)
    rival = TriedModel.of("", best.runs[:1], 0.0)
    reports = [model.held_out_report() for model in (mine, rival)]
    interval = paired_interval(*reports)
    higher = run.task.metric.higher_is_better
    surely = interval is not None and higher and interval[1] < -HOPELESS
    return best if surely else None


def another_seed(
    tried: list[TriedModel], configs: Mapping[str, Config], left: float
) -> dict[str, Config]:
    """The best network once more, where there is time for it."""
    networks = [model for model in tried if not model.at_once]
    if not networks:
        return {}
    best = max(networks, key=lambda model: model.rank)
    if best.seconds > left:
        return {}
    config = configs[best.name]
    return {f"{best.name}-seed2": changed(config, {"train.seed": config.train.seed + 1})}
