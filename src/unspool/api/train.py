"""Train a model: from a data file and some settings to a trained model in a run folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unspool.api.auto import AUTO, RESULT, resume_auto, seconds_of, train_auto
from unspool.api.folds import run_folds, unseen_rows, whole_config
from unspool.api.held_out import folds_for, shortened, with_groups
from unspool.api.run import Run, load
from unspool.api.settings import (
    check_folds,
    make_config,
    open_data,
    refuse_changes,
    refuse_unread_settings,
)
from unspool.api.training import (
    MOST_ROWS,
    data_files,
    resume_training,
    start_training,
    write_report,
)
from unspool.config import Config
from unspool.config.resolve import changed, full_name
from unspool.data.plan import Plan, split_name, split_plans
from unspool.data.read.memory import source_of
from unspool.errors import Command, ConfigError, Option, RunError
from unspool.tasks import TASKS
from unspool.tasks.abilities import Averages, CalibratesFolds, SearchesModels
from unspool.tasks.document import DocumentTask
from unspool.tasks.planner import Source, open_plan, usual_columns
from unspool.training.fold_report import FoldsReport
from unspool.training.folder import RunFolder, path_of
from unspool.training.machine import with_device, with_precision
from unspool.training.output_folder import check_rescue, free_folder
from unspool.training.progress import Note, Progress, Shown, Watcher, watching
from unspool.training.transfer import Start, open_start

USUAL_BUDGET = "5m"


def train(
    data: Any = None,
    labels: Any = None,
    *,
    task: str | None = None,
    model: str | None = None,
    valid: Any = None,
    test: Any = None,
    out: str | Path | None = None,
    config: str | None = None,
    resume: bool = False,
    start: str | Path | None = None,
    budget: str | float | None = None,
    rescue: str | Path | None = None,
    quiet: bool = False,
    watcher: Watcher | None = None,
    note: Note | None = None,
    progress: Progress = None,
    weights: Sequence[float] | None = None,
    **settings: Any,
) -> Run:
    """Train a model on data and return it; everything about it lies in the folder `out`.

    data      a file: CSV, TSV, JSONL, `label text` lines, documents or one long text; also .gz, or
              "-"; or values in memory: a data frame, a dict of columns, a list of dicts, texts with
              their labels
    labels    of texts in memory, one for each
    valid     data to validate on, as `data`, or a tuple of texts and labels; likewise `test`
    task      classify, regress, tag, generate, translate, caption, ... or elmo; by default what the
              data suggest
    model     a cell's name, with `bi` before it for both directions: lstm, bigru, ...; transformer
              or cnn; for translate seq2seq, bahdanau, luong or transformer
              auto: the best of several, or their mean, within the `budget`
    start     a folder of a model whose encoder, tokenizer and settings the new one takes over
    budget    of --model auto: "5m" (the default), "1h", or seconds
    rescue    another folder, to become the run folder where `out` cannot be written at the end
    weights   how much each row of `data` counts in the loss, of classify and regress
    quiet     show nothing; otherwise decisions and progress are shown in a terminal and a notebook
    settings  any setting by its name: hidden=128, epochs=5, lr=1e-3 (see `unspool settings`)
    """
    sources = _sources(data, labels, valid, test)
    if weights is not None and ("WORLD_SIZE" in os.environ or requested_processes(settings)):
        raise ConfigError(
            "weights of rows are for one process", remedy=("leave out ", Option("processes"))
        )
    out = None if out is None else path_of(out, "out")
    start = None if start is None else path_of(start, "start")
    if "WORLD_SIZE" in os.environ and (followed := followed_run(sources)):
        return load(followed)
    with watching(quiet, note=note, watcher=watcher, progress=progress) as shown, leading():
        if resume:
            if weights is not None:
                raise ConfigError(
                    "weights of rows cannot be resumed with", remedy="train again without resume"
                )
            folder = _resumed(out, task, model, settings, config, start)
            with folder.holding():
                return _resume(folder, sources, shown, rescue, requested_processes(settings))
        if sources.get("train", "") == "":
            raise ConfigError("no data", remedy=("name a file: ", Command("train", "reviews.csv")))
        plan = open_data(sources["train"], task=task, settings=settings, config_file=config)
        shown.note(plan.summary)
        plan = replace(plan, weights=checked_weights(weights, plan))
        if model == AUTO:
            check_rescue(rescue, several=Option(model="auto"))
            if {"processes", "train.processes"} & settings.keys():
                raise ConfigError(
                    (Option("processes"), " is for one training"),
                    got=Option(model="auto"),
                    remedy="name a model",
                )
            refuse_search(plan.task, settings, start)
            limit = seconds_of(budget or USUAL_BUDGET)
            best = _search(plan, sources, out, config, settings, limit, shown)
            assert best is not None
            return best
        if model is None and not any((budget, start, config, rescue)) and only_data(settings):
            best = _search(plan, sources, out, config, settings, None, shown)
            if best is not None:
                return best
        if budget is not None:
            raise ConfigError(
                (Option("budget"), " is for ", Option(model="auto")),
                got=budget,
                remedy="leave it out",
            )
        origin = None if start is None else open_start(start)
        decided = {**plan.settings, **settings}
        requested = make_config(
            plan.task, model, settings=decided, config_file=config, start=origin, plan=plan
        )
        refuse_unread_settings(settings, config, [requested])
        final = with_columns(requested, plan)
        plans = open_plans(plan, final, sources, shown.note)
        folder = RunFolder(Path(out) if out else free_folder(plan.table.path, final.model_name))
        spare = check_rescue(
            rescue, folder.path, several=Option("folds") if final.data.folds else None
        )
        with folder.making():
            return train_plans(folder, final, plans, origin, shown, spare)


def checked_weights(weights: Sequence[float] | None, plan: Plan) -> np.ndarray | None:
    """(N,) weights of all rows of a plan."""
    if weights is None:
        return None
    if not issubclass(TASKS[plan.task], DocumentTask):
        raise ConfigError(
            "weights of rows are for classify and regress",
            got=f"task {plan.task}",
            remedy=("leave out ", Option("weights")),
        )
    array, rows = np.asarray(weights, dtype=np.float64), sum(1 for _ in plan.rows())
    if array.shape != (rows,):
        raise ConfigError(
            f"weights must have shape ({rows},), one for each row",
            got=array.shape,
            remedy="give as many as there are rows",
        )
    wrong = np.flatnonzero(~(np.isfinite(array) & (array > 0)))
    if len(wrong):
        raise ConfigError(
            f"weight {wrong[0] + 1} is not above 0",
            got=float(array[wrong[0]]),
            remedy="leave out rows of weight 0",
        )
    return array


def _resumed(
    out: str | Path | None,
    task: str | None,
    model: str | None,
    settings: Mapping[str, Any],
    config: str | None,
    start: str | Path | None,
) -> RunFolder:
    """The folder to go on in; what was given besides must not change the run."""
    if out is None:
        raise ConfigError("resume needs the run folder", remedy=("give it as ", Option(out="RUN")))
    folder = RunFolder(Path(out))
    if model == AUTO and (folder.path / RESULT).exists():
        model = None  # a search that has ended, and has the settings of what it kept
    refuse_changes(folder, task, model, settings, config)
    if start is not None:
        raise ConfigError(
            (Option("start"), " cannot be combined with ", Option(resume=True)),
            got=start,
            remedy=("leave out ", Option("start")),
        )
    return folder


def refuse_search(task: str, settings: Mapping[str, Any], start: str | Path | None) -> None:
    """Raise an error where the best of several models cannot be searched for."""
    folds = {"folds", "data.folds"} & settings.keys()
    if not isinstance(TASKS[task], SearchesModels) or start is not None or folds:
        able = [name for name, kind in TASKS.items() if isinstance(kind, SearchesModels)]
        raise ConfigError(
            (Option(model="auto"), f" is for new models of {', '.join(able)}, without folds"),
            got=f"task {task}",
            remedy="name a model",
        )


def only_data(settings: Mapping[str, Any]) -> bool:
    """Whether settings are about the data alone, so that they choose no model; folds do."""
    try:
        names = set(map(full_name, settings))
    except ConfigError:  # an option of a cell, or an error that is raised later
        return False
    return all(name.startswith("data.") for name in names) and "data.folds" not in names


def _search(
    plan: Plan,
    sources: Mapping[str, Source],
    out: str | Path | None,
    config_file: str | None,
    settings: Mapping[str, Any],
    budget: float | None,
    shown: Shown,
) -> Run | None:
    """Train the best of several models; None without a budget, where there is nothing to choose
    from or by: the default model is trained alone."""
    kind, decided = TASKS[plan.task], {**plan.settings, **settings}
    if not isinstance(kind, SearchesModels) or not (budget or isinstance(kind, Averages)):
        return None
    named = {
        name: with_columns(
            make_config(plan.task, name, settings=decided, config_file=config_file, plan=plan), plan
        )
        for name in (kind.candidates() if budget else [kind.default_model])
    }
    first = next(iter(named.values()))
    refuse_unread_settings(settings, config_file, list(named.values()))
    configs = {quick.model_name: quick for quick in kind.quick_candidates(first)} | named
    plans = open_plans(plan, first, sources, shown.note)
    corpus = kind.load_corpus(first, plans, progress=shown.progress)
    if budget is None:
        if "valid" not in corpus.parts or len(corpus.parts["train"]) > MOST_ROWS:
            return None
        names = ", ".join(configs)
        shown.note(f"models: {names}; the best of them is kept, or a mean (--model names one)")
    folds = 0
    if isinstance(kind, Averages):
        configs, corpus = with_groups(configs, first.model_name, corpus, plans, shown)
        first = configs[first.model_name]
        folds = folds_for(first, corpus, plans, budget=budget is not None)
    if folds and budget is None:
        configs = {name: shortened(config, corpus) for name, config in configs.items()}
    folder = RunFolder(Path(out) if out else free_folder(plan.table.path, AUTO))
    with folder.making():
        return train_auto(folder, configs, plans, folds, budget, shown)


def with_columns(config: Config, plan: Plan) -> Config:
    """The settings with the columns that were found."""
    columns = {
        "data.columns": usual_columns(plan),
        "data.split_column": split_name(plan, config.data),
    }
    return changed(config, columns)


def open_plans(
    plan: Plan, config: Config, sources: Mapping[str, Source], note: Note
) -> dict[str, Plan]:
    """The plans of all parts of a run that come with the data; `plan` is that of "train"."""
    plans, parts_note = split_plans(plan, config.data)
    if parts_note is not None:
        note(parts_note)
    for name, source in sources.items():
        if name != "train":
            plans[name] = open_plan(source, config.data, config.task)
    return plans


def train_plans(
    folder: RunFolder,
    config: Config,
    plans: dict[str, Plan],
    start: Start | None,
    shown: Shown,
    rescue: Path | None = None,
) -> Run:
    """Train with settings and data that are known, into a folder that is there."""
    check_folds(config, plans)
    if not config.data.whole:
        return start_training(folder, config, plans, start, shown, rescue)
    first = changed(config, {"data.fold": 1})
    TASKS[config.task].load_corpus(first, plans)  # raises what stands in the way of a start
    record = {} if start is None else {"start": start.record()}
    threads = config.train.threads or torch.get_num_threads()
    folder.write_config(config, data_files(plans), threads, record)
    report = cross_validate(folder, config, plans, start, shown)
    return _whole(folder, config, plans, start, report, shown)


def cross_validate(
    folder: RunFolder, config: Config, plans: dict[str, Plan], start: Start | None, shown: Shown
) -> FoldsReport:
    """A run for each fold, but for those that are finished."""

    def train_fold(home: RunFolder, fold_config: Config) -> Run:
        if home.config_file.exists():
            with home.holding():
                return resume_training(home, plans, shown)
        with home.making():
            return start_training(home, fold_config, plans, start, shown)

    return run_folds(folder, config, train_fold, shown.note)


def _whole(
    folder: RunFolder,
    config: Config,
    plans: dict[str, Plan],
    start: Start | None,
    report: FoldsReport,
    shown: Shown,
) -> Run:
    """The model of all rows, after the folds; its report is theirs."""
    final = whole_config(config, report)
    epochs = f" for {final.train.stop_epoch} epochs, the median" if final.train.stop_epoch else ""
    shown.note(f"— all rows{epochs}")
    if folder.checkpoints.exists():
        run = resume_training(folder, plans, shown)
    else:
        run = start_training(folder, final, plans, start, shown)
    if isinstance(run.task, CalibratesFolds):
        unseen = unseen_rows(folder.path, config.data.folds)
        report.calibration, notes = run.task.calibrate_folds(unseen)
        for line in notes:
            shown.note(line)
    run.task.save(folder.path)
    write_report(run, report, "folds", report.baselines())
    return run


def followed_run(sources: Mapping[str, Source]) -> Path | None:
    """The run of another process of torchrun, trained along with it; None in the first process."""
    from unspool.api.processes import follow_launched, follows

    def plans_of(folder: RunFolder) -> dict[str, Plan]:
        return recorded_plans(folder, folder.read_config(), sources)

    return follow_launched(plans_of) if follows() else None


@contextmanager
def leading() -> Iterator[None]:
    """Let the other processes of torchrun end with this one."""
    try:
        yield
    finally:
        if "WORLD_SIZE" in os.environ:
            from unspool.api.processes import end_launched

            end_launched()


def requested_processes(settings: Mapping[str, Any]) -> int | None:
    """The number of processes to resume on; None: as many as before."""
    value = settings.get("train.processes", settings.get("processes"))
    return None if value is None else int(value)


def _resume(
    folder: RunFolder,
    sources: Mapping[str, Source],
    shown: Shown,
    rescue: str | Path | None,
    processes: int | None,
) -> Run:
    """Go on with a run; data that are `given` stand for the recorded ones, as after a move."""
    record = folder.read_record()
    if (folder.path / RESULT).exists() and AUTO not in record:
        shown.note("the search is finished")
        return load(folder.path)
    config = with_precision(with_device(folder.read_config(), resumed=True))
    spare = check_rescue(
        rescue, folder.path, several=Option("folds") if config.data.folds else None
    )
    plans = recorded_plans(folder, config, sources)
    if AUTO in record:
        return resume_auto(folder, record[AUTO], plans, shown)
    if config.data.whole:
        start = open_start(record["start"]["path"]) if "start" in record else None
        report = cross_validate(folder, config, plans, start, shown)
        return _whole(folder, config, plans, start, report, shown)
    return resume_training(folder, plans, shown, spare, processes)


def recorded_plans(
    folder: RunFolder, config: Config, sources: Mapping[str, Source]
) -> dict[str, Plan]:
    """The plans of a run that has begun, of its recorded data or of `sources` in their place."""
    record = folder.read_record()
    plans: dict[str, Plan] = {}
    for name, source in sources.items():
        if name not in record["data"]:
            raise ConfigError(
                f"the run has no {name} file",
                where=folder.path,
                got=source,
                remedy=("leave out ", Option(name)),
            )
    if any(file.get("weights") for file in record["data"].values()):
        raise ConfigError(
            "weights of rows cannot be resumed with",
            where=folder.path,
            remedy="train again without resume",
        )
    for name, file in record["data"].items():
        source = sources.get(name, file["path"])
        if name not in sources and file.get("memory"):
            raise RunError(
                f"the {name} data were values in memory ({file['path']}), which the run keeps no"
                " copy of",
                where=folder.path,
                remedy="give them again, in Python: unspool.train(data, resume=True, out=...)",
            )
        if source == "-":
            raise RunError(
                f"the {name} data came from standard input, which cannot be read again",
                where=folder.path,
                remedy="give them as a file",
            )
        plan = open_plan(source, config.data, config.task)
        if plan.table.sha256 != file["sha256"]:
            raise RunError(
                f"the {name} data have changed since the run began",
                where=plan.table.path,
                remedy=("give the old ones, or train from scratch with another ", Option("out")),
            )
        if name == "train":
            plans |= split_plans(plan, config.data)[0]
        else:
            plans[name] = plan
    return plans


def _sources(data: Any, labels: Any, valid: Any, test: Any) -> dict[str, Source]:
    """The data that were given, by part."""
    parts = {"train": (data, labels), "valid": (valid, None), "test": (test, None)}
    return {name: source_of(*pair) for name, pair in parts.items() if pair[0] is not None}
