"""One training in one folder: settings and plans in, a run with its report out."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from unspool.api.run import Run
from unspool.config import Config
from unspool.config.resolve import changed
from unspool.data.corpus import Corpus
from unspool.data.fields.tokens import read_tokenizer
from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.read.files import sides
from unspool.data.read.memory import MemoryTable
from unspool.errors import Option, TrainingError
from unspool.insight.gallery import fitted_pictures
from unspool.insight.summary import summary_of
from unspool.io.files import list_hash, write_atomic, write_json
from unspool.io.pictures import save_picture
from unspool.tasks import TASKS, Report, Task, build_model
from unspool.tasks.abilities import (
    Calibrates,
    FitsDirectly,
    HasBaselines,
    HasFindings,
    HasReferences,
)
from unspool.tasks.embedding import extended, freeze_embedding, mix_report, place_vectors
from unspool.tasks.examples import write_examples
from unspool.tasks.linear import Fitting
from unspool.tasks.stored_answers import write_answers
from unspool.tasks.task import fits_directly
from unspool.training.card import model_card
from unspool.training.checkpoint import Counters, save_checkpoint
from unspool.training.comparison import BaselineComparison
from unspool.training.folder import RunFolder
from unspool.training.machine import precision_note, tune_process, with_device, with_precision
from unspool.training.optim import build_optimizer
from unspool.training.output_folder import FolderHandle
from unspool.training.processes import Processes
from unspool.training.progress import Shown
from unspool.training.signals import Interrupted, stop_on_signals
from unspool.training.tensors import save_tensors
from unspool.training.trainer import WALL_CLOCK, Pace, Trainer
from unspool.training.transfer import Start, take_over
from unspool.vectors import load as load_vectors
from unspool.vectors.files import hash_of

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
    simple = task.baselines(config) if isinstance(task, HasBaselines) else []
    configs = [c for c in simple if c.model_name != config.model_name]
    if not config.train.baseline or not configs:
        return {}
    rows = len(parts["train"])
    if rows > MOST_ROWS:
        note(
            f"baselines left out: {rows:,} rows are more than {MOST_ROWS:,}; train one with"
            f" {Option(model='linear')}"
        )
        return {}
    reports = {}
    for baseline in configs:
        corpus = TASKS[baseline.task].load_corpus(baseline, plans)
        assert all(np.array_equal(parts[name].rows, corpus.parts[name].rows) for name in parts)
        made = TASKS[baseline.task](baseline, corpus.fields)
        assert isinstance(made, FitsDirectly)
        model = made.fit_model(corpus.parts).model.eval()
        if isinstance(made, Calibrates):
            made.calibrate(model, corpus.parts.get("valid"))
        reports[baseline.model_name] = made.evaluate(model, corpus.parts[judged])
    return reports


def start_training(
    folder: RunFolder,
    config: Config,
    plans: dict[str, Plan],
    start: Start | None,
    shown: Shown,
    rescue: Path | None = None,
    pace: Pace = WALL_CLOCK,
) -> Run:
    """Train from the start; `rescue` is a folder for what cannot be saved in `folder`."""
    config = with_precision(with_device(config))
    note, progress = shown.note, shown.progress
    kind = TASKS[config.task]
    fitted = None if start is None else start.tokenizer
    corpus = kind.load_corpus(config, plans, fitted=fitted, progress=progress)
    file = config.embedding.file
    vectors = None if file is None else load_vectors(file)
    if vectors is not None and config.embedding.extend:
        words = extended(kind(config, corpus.fields).tokenizer, vectors, config.tokenizer.vocab)
        again = kind.load_corpus(config, plans, fitted=words, progress=progress)
        corpus = replace(again, notes=corpus.notes)
    for line in [*corpus.notes, *corpus.cached]:
        note(line)
    threads = config.train.threads or max(1, torch.get_num_threads() // config.train.processes)
    tune_process(threads)
    files = data_files(plans)
    task = kind(config, corpus.fields)
    if fits_directly(task):
        folder.write_config(config, files, threads)
        return _fit(folder, task, corpus, plans, shown, rescue, pace)
    model = initial_model(task)
    origins: dict[str, dict[str, str]] = {}
    if start is not None:
        note(take_over(task, model, start))
        origins["start"] = start.record()
    if vectors is not None and file is not None:
        note(place_vectors(model, task, vectors, corpus.parts["train"]))
        origins["vectors"] = {"path": str(Path(file).resolve()), "sha256": hash_of(file)}
    task.save(folder.path)
    shutil.rmtree(folder.checkpoints, ignore_errors=True)  # of a run that never began
    if origins:
        # The first checkpoint holds what was taken, so that nothing else is needed to resume.
        optimizer = build_optimizer(model, config.train)
        save_checkpoint(folder.checkpoints, model, optimizer, None, Counters())
    folder.write_config(config, files, threads, origins)
    folder.write_rows(corpus.parts["train"])
    write_examples(folder.path, task, corpus.parts)
    return _train(folder, task, model, corpus, plans, shown, False, rescue, pace)


def resume_training(
    folder: RunFolder,
    plans: dict[str, Plan],
    shown: Shown,
    rescue: Path | None = None,
    processes: int | None = None,
    pace: Pace = WALL_CLOCK,
) -> Run:
    """Train from the newest checkpoint; on another number of `processes` than before, if given."""
    record = folder.read_record()
    config = with_precision(with_device(folder.read_config(), resumed=True))
    if processes is not None:
        config = changed(config, {"train.processes": processes})
    given_words = "start" in record or config.embedding.extend
    fitted = read_tokenizer(folder.path) if given_words else None
    corpus = TASKS[config.task].load_corpus(config, plans, fitted=fitted, progress=shown.progress)
    tune_process(record["threads"])
    task = TASKS[config.task](config, corpus.fields)
    if fits_directly(task):
        return _fit(folder, task, corpus, plans, shown, rescue, pace)
    model = initial_model(task)
    return _train(folder, task, model, corpus, plans, shown, True, rescue, pace)


def initial_model(task: Task) -> nn.Module:
    """The model, with the initial weights of the run's seed."""
    torch.manual_seed(task.config.train.seed)
    model = build_model(task, training=True)
    if task.config.embedding.frozen:
        freeze_embedding(model)
    return model


def _train(
    folder: RunFolder,
    task: Task,
    model: nn.Module,
    corpus: Corpus,
    plans: Mapping[str, Plan],
    shown: Shown,
    resume: bool,
    rescue: Path | None,
    pace: Pace,
) -> Run:
    """Train by gradient steps."""
    note = shown.note
    note(_about(task, model, folder))
    settings = task.config.train
    note(precision_note(settings.precision, settings.device))
    model.to(settings.device)
    with (
        spare_folder(rescue, folder, task, corpus.parts) as spare,
        processes_of(folder, task.config, dict(plans), pace) as processes,
    ):
        if processes.size > 1:
            note(f"processes: {processes.size}, {torch.get_num_threads()} threads each")
        parts, watcher = corpus.parts, shown.watcher
        trainer = Trainer(task, model, parts, folder, watcher, spare, processes, pace)
        if resume:
            trainer.resume()
            note(f"resuming at step {trainer.counters.step} of {trainer.total}")
        if not trainer.chooses and settings.keep == "best":
            note(
                f"the last epoch is kept: {len(corpus.parts['valid'])} validation rows are fewer"
                f" than {task.least_rows}, too few to choose one by"
            )
        counters = trainer.counters
        try:
            with stop_on_signals() as stop:
                trainer.run(stop)
        except Interrupted:
            folder = trainer.folder
            folder.record_weights(None if counters.best_step else counters.step)
            folder.record_corpus(plans["train"].summary, corpus)
            layers = summary_of(task, model.eval().cpu()).lines()
            card = model_card(folder, task, layers, counters, None, "stopped")
            write_atomic(folder.path / "README.md", card)
            list_hash(folder.metrics)
            raise
        if processes.size > 1:
            processes.leave()
        folder = trainer.folder
        corpus = replace(corpus, notes=[*corpus.notes, *trainer.notes])
        folder.record_weights(None)
        note(f"finished: {counters.finished}; {counters.seconds:.0f} s of training")
        folder.load_weights(model)
        return report_run(folder, task, model, corpus, plans, counters, shown)


def processes_of(
    folder: RunFolder, config: Config, plans: dict[str, Plan], pace: Pace
) -> AbstractContextManager[Processes]:
    """The processes that train together; those of a search, which may pause, train alone."""
    if (config.train.processes == 1 and "WORLD_SIZE" not in os.environ) or pace is not WALL_CLOCK:
        return nullcontext(Processes())
    from unspool.api.processes import training_processes

    return training_processes(folder, config, plans)


@contextmanager
def spare_folder(
    path: Path | None, folder: RunFolder, task: Task, parts: Mapping[str, Part]
) -> Iterator[Callable[[], RunFolder] | None]:
    """Second folder of the same run, held to the end; None without a path."""
    if path is None:
        yield None
        return
    record = folder.read_record()
    with ExitStack() as stack:

        def make() -> RunFolder:
            spare = RunFolder(path)
            stack.enter_context(spare.making())
            task.save(path)
            spare.write_rows(parts["train"])
            write_examples(path, task, parts)
            write_json(spare.config_file, record)
            return spare

        yield make


def _fit(
    folder: RunFolder,
    task: Task,
    corpus: Corpus,
    plans: Mapping[str, Plan],
    shown: Shown,
    rescue: Path | None,
    pace: Pace,
) -> Run:
    """Fit a model that is not trained by steps, and so has no checkpoints."""
    assert isinstance(task, FitsDirectly)
    started = pace.clock()
    with (
        spare_folder(rescue, folder, task, corpus.parts) as spare,
        FolderHandle(folder.path) as handle,
    ):
        fitting = task.fit_model(corpus.parts)
        counters = Counters(
            tokens=int(corpus.parts["train"][task.input].tokens.sum()),
            seconds=pace.clock() - started,
            finished=fitting.note,
        )
        shown.note(_about(task, fitting.model, folder))
        shown.note(f"fitted: {fitting.note}; {counters.seconds:.1f} s")
        try:
            handle.check()
            _save_fitted(folder, task, fitting, corpus)
        except OSError as error:
            what = f"cannot save the trained model ({error.strerror})"
            if spare is None:
                remedy = (
                    "free some space, then ",
                    Option(resume=True),
                    ", or use ",
                    Option("rescue"),
                )
                raise TrainingError(what, where=folder.path, remedy=remedy) from None
            lost, folder = folder, spare()
            _save_fitted(folder, task, fitting, corpus)
            shown.watcher.note(f"{lost.path}: {what}; it is in {folder.path}")
        return report_run(folder, task, fitting.model, corpus, plans, counters, shown)


def _save_fitted(folder: RunFolder, task: Task, fitting: Fitting, corpus: Corpus) -> None:
    task.save(folder.path)
    write_atomic(folder.metrics, "".join(f"{json.dumps(each)}\n" for each in fitting.log))
    save_tensors(folder.weights, fitting.model.state_dict(), {})
    folder.write_rows(corpus.parts["train"])
    write_examples(folder.path, task, corpus.parts)


def _about(task: Task, model: nn.Module, folder: RunFolder) -> str:
    count = sum(p.numel() for p in model.parameters())
    return f"model: {task.config.model_name}, {count:,} parameters; run folder: {folder.path}"


def report_run(
    folder: RunFolder,
    task: Task,
    model: nn.Module,
    corpus: Corpus,
    plans: Mapping[str, Plan],
    counters: Counters,
    shown: Shown,
) -> Run:
    """The run of a trained model, with its report and those of its baselines."""
    for name, value in mix_report(model).items():
        shown.note(f"{name}: {value}")
    run = Run(folder, task, model)
    run.counters, run.parts = counters, corpus.parts
    folder.record_corpus(plans["train"].summary, corpus)
    if isinstance(task, Calibrates) and not task.config.data.whole:  # its folds calibrate that
        for line in task.calibrate(run.model, corpus.parts.get("valid")):
            shown.note(line)
    task.save(folder.path)
    judged = "test" if "test" in corpus.parts else "valid" if "valid" in corpus.parts else None
    report, baselines = None, dict[str, Report]()
    if judged is not None:
        report = task.evaluate(run.model, corpus.parts[judged])
        report.notes += tuple(corpus.notes)
        report.caution = "" if judged in plans else corpus.caution
        baselines = fit_baselines(task, corpus.parts, plans, judged, shown.note)
    model.cpu()  # where a run that is loaded has it
    write_report(run, report, judged, baselines)
    return run


def write_report(
    run: Run,
    report: Report | None,
    part: str | None,
    baselines: Mapping[str, Report],
    *,
    choice: str | None = None,
) -> None:
    """Write evaluation.json, pictures and the model card; `choice` as in `BaselineComparison`."""
    folder, task = run.folder, run.task
    if report is not None:
        report.part = part
        run.keep(report)
        references = dict[str, Report]()
        if isinstance(task, HasReferences) and part in run.parts:
            references = task.references(run.parts["train"], run.parts[part])
        if every := {**baselines, **references}:
            run.comparison = BaselineComparison(task, report, every, choice, set(references))
        more = {} if run.comparison is None else run.comparison.to_json()
        folder.write_report(report, {**mix_report(run.model), **more})
        for name, figure in fitted_pictures(report.to_json()):
            save_picture(figure, folder.path / f"{name}.png")
    write_answers(folder.path, task, run.model)
    layers, counters = summary_of(task, run.model).lines(), run.counters
    assert counters is not None
    findings = task.findings(run.model) if isinstance(task, HasFindings) else []
    card = model_card(folder, task, layers, counters, report, part, run.comparison, findings)
    write_atomic(folder.path / "README.md", card)
    if folder.metrics.exists():  # the mean of several models has no log
        list_hash(folder.metrics)


def data_files(plans: Mapping[str, Plan]) -> dict[str, dict[str, Any]]:
    """Record of the data for config.json."""
    return {
        name: _recorded(plan.table) | ({} if plan.weights is None else {"weights": True})
        for name, plan in plans.items()
        if name == "train" or plan.only is None
    }


def _recorded(table: Table) -> dict[str, Any]:
    """The data for config.json; a path is whole, so that a run can be resumed from any folder."""
    path = table.path
    if isinstance(table, MemoryTable):
        return {"path": path, "sha256": table.sha256, "memory": True}
    if path != "-":
        path = ",".join(str(Path(side).resolve()) for side in sides(path))
    return {"path": path, "sha256": table.sha256}
