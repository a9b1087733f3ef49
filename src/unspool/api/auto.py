"""Choice of a model: several configs in, the best of them or the mean of some out.

Simple models come first, then networks. Held-out rows decide between them, and whether a mean of
some is better than the best one: those of the validation part, or of small data all rows, each
scored by a model of the other folds. The test part, if there is one, is only reported on. Every
model that was tried stays as a run in the folder `tried`.

`--model auto` has a budget of processor time, which networks share by successive halving. Where no
model is named, the default network alone is tried beside the simple models, without a budget.
"""

from __future__ import annotations

import math
import re
import shutil
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
from unspool.api.tried import (
    ModelTrial,
    TriedModel,
    best_mean,
    far_better,
    mean_scores,
    rows,
    table,
    task_of,
)
from unspool.config import Config
from unspool.config.resolve import build, changed
from unspool.data.corpus import Corpus
from unspool.data.plan import Plan
from unspool.errors import ConfigError, Option
from unspool.io.files import write_json
from unspool.tasks import Report
from unspool.tasks.inputs.text import DIRECT_FIT
from unspool.training.checkpoint import Counters
from unspool.training.folder import RunFolder
from unspool.training.progress import Note, Shown
from unspool.training.signals import Interrupted
from unspool.training.tensors import save_tensors
from unspool.training.trainer import WALL_CLOCK, Pace, Paused

AUTO = "auto"  # as the name of a model
RESULT = "auto.json"
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
FEW_GROUPS = 5  # fewer do not tell which model suits a new one
LEAST = 5.0  # seconds for which a network is worth beginning


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
    trials: dict[str, ModelTrial] = field(default_factory=dict)  # by name
    whole: dict[str, Run] = field(default_factory=dict)  # models of all rows, by name

    def run(self) -> Run:
        self.try_all()
        tried = self.tried
        stopped = [trial for trial in self.trials.values() if not trial.model and trial.metrics]
        chosen = best_mean(tried)
        for line in table(tried, chosen, stopped):
            self.shown.note(line)
        record = {"budget": self.budget, "folds": self.folds, "seconds": round(self.spent, 1)}
        write_json(self.folder.path / RESULT, {**record, "models": rows(tried, chosen, stopped)})
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
        for checkpoints in (self.folder.path / "tried").rglob("checkpoints"):
            shutil.rmtree(checkpoints)  # several times the weights; a finished search needs none
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
        if self.trials[names[0]].config.data.grouped and 0 < self.folds < FEW_GROUPS:
            where = f"{self.folds} groups of rows, which say little about a new one"
        if len(names) == 1:
            return f"{names[0]}: the best on {where}"
        return f"the mean of {', '.join(names[:-1])} and {names[-1]}: the best on {where}"

    @property
    def tried(self) -> list[TriedModel]:
        return [trial.model for trial in self.trials.values() if trial.model is not None]

    @property
    def spent(self) -> float:
        return sum(trial.seconds for trial in self.trials.values())

    @property
    def left(self) -> float:
        """Seconds of the budget that nothing has used; 0 if it is over."""
        return math.inf if self.budget is None else max(0.0, self.budget - self.spent)

    def try_all(self) -> None:
        """Try the simple models, and the networks as far as the budget goes."""
        networks = list[ModelTrial]()
        for name, config in self.configs.items():
            trial = self.trials[name] = ModelTrial(name, config)
            if config.model.network in DIRECT_FIT or self.budget is None:
                self.shown.note(f"— {name}")
                self.finish(trial)
            else:
                networks.append(trial)
        if networks:
            self.race(networks)

    def race(self, networks: list[ModelTrial]) -> None:
        """Share the budget by successive halving (Jamieson & Talwalkar 2016): train all networks on
        the first fold, resume the better half for twice as long, and so on. The best one gets the
        other folds; so do those after it, and the best one with another seed, while there is
        time."""
        while share_of(self.left, len(networks), self.folds) * max(1, self.folds) < LEAST:
            self.shown.note(f"— {networks.pop().name}: no time left")
            if not networks:
                return
        share = share_of(self.left, len(networks), self.folds)
        for trial in networks:
            trial.config = changed(trial.config, {"train.max_seconds": share})
        pause, first = share / 2 ** (len(networks) - 1).bit_length(), networks
        while len(first) > 1:
            for trial in first:
                self.shown.note(f"— {trial.name}, {self.left:.0f} s left")
                self.advance(trial, pause)
            networks[: len(first)] = sorted(first, key=lambda trial: trial.rank, reverse=True)
            first, pause = networks[: -(-len(first) // 2)], 2 * pause
        best = networks[0]
        seed = {"train.seed": best.config.train.seed + 1}
        again = ModelTrial(f"{best.name}-seed2", changed(best.config, seed))
        for trial in [*networks, again]:
            needed = best.seconds if trial is again else share * max(1, self.folds) - trial.seconds
            if trial is best or (best.model and needed <= self.left):
                self.trials[trial.name] = trial
                self.shown.note(f"— {trial.name}, {self.left:.0f} s left")
                self.finish(trial)

    def finish(self, trial: ModelTrial) -> None:
        """Train the model on every fold, unless the first shows that another is far better."""
        while len(trial.runs) < max(1, self.folds):
            better = far_better(self.tried, trial.runs[0]) if len(trial.runs) == 1 else None
            if better is not None:
                note = f"— {trial.name}: far behind {better.name} on the first fold, left out"
                self.shown.note(note)
                return
            self.advance(trial)
        trial.model = TriedModel.of(trial.name, trial.runs, trial.seconds)

    def advance(self, trial: ModelTrial, pause: float = 0.0) -> None:
        """Train the model on its next fold, or on the training part where there are none, up to a
        pause. What was begun before is resumed."""
        if trial.runs and pause:  # it ended before
            return
        fold = len(trial.runs) + 1 if self.folds else 0
        settings = {
            "data.folds": self.folds,
            "data.fold": fold,
            "data.fold_part": "valid",
            "train.keep": "last",  # the rows of a fold judge the model, and choose no epoch
        }
        config = changed(trial.config, settings) if fold else trial.config
        home, started = self.folder.path / "tried" / trial.name, processor_seconds()
        # Notes of later folds would be those of the first.
        shown = self.shown._replace(note=lambda text: None) if fold > 1 else self.shown
        try:
            run = self.train(RunFolder(home / str(fold) if fold else home), config, shown, pause)
        except Paused as paused:
            trial.paused(paused, processor_seconds() - started)
            return
        if "valid" not in run.parts:
            raise ConfigError(
                (Option(model="auto"), " needs a validation part"), remedy="set valid_share=0.1"
            )
        trial.ended(run, processor_seconds() - started)

    def train(self, home: RunFolder, config: Config, shown: Shown, pause: float = 0.0) -> Run:
        pace = WALL_CLOCK if self.budget is None else Pace(processor_seconds, pause)
        try:
            if home.config_file.exists():
                with home.holding():
                    return resume_training(home, self.plans, shown, pace=pace)
            with home.making():
                return start_training(home, config, self.plans, None, shown, pace=pace)
        except Interrupted as stopped:
            raise Interrupted(stopped.number, self.folder.path, stopped.step) from None

    def keep(self, chosen: list[TriedModel]) -> Run:
        """The models that were chosen as the run of the whole."""
        if len(chosen) == 1 and not self.folds:
            return self.copied(chosen[0].runs[0])
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
        grouped = self.trials[model.name].config.data.grouped
        if not self.folds or not (model.at_once or grouped):
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
        config = changed(self.trials[model.name].config, settings)
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
        if self.folds and len(runs) == len(chosen):
            each = f", {len(runs)} models of all rows"
        elif self.folds:
            each = f", networks one for each of {self.folds} folds"
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


def processor_seconds() -> float:
    """Time in which this thread ran: what other programs take is not in it."""
    return time.thread_time()


def share_of(seconds: float, networks: int, folds: int) -> float:
    """Return the longest training of one fold, where the best network has all folds and successive
    halving ends the others on the first one."""
    rounds, cost, reached = (networks - 1).bit_length(), float(max(0, folds - 1)), 0.0
    for number in range(rounds + 1):
        until = 2.0 ** (number - rounds)
        cost, reached = cost + networks * (until - reached), until
        networks = -(-networks // 2)
    return seconds / cost
