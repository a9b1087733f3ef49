"""Train a model: from a data file and some settings to a trained model in a run folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from unspool.api.run import Run
from unspool.api.settings import make_config, open_data, refuse_changes
from unspool.api.spelling import in_python
from unspool.api.watching import Note, Progress, Shown, watching
from unspool.config import Config
from unspool.config.resolve import changed
from unspool.data.corpus import Corpus
from unspool.data.fields.text import read_tokenizer
from unspool.data.parts import split_name, split_plans
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.read.files import sides
from unspool.data.read.memory import MemoryTable, source_of
from unspool.errors import ConfigError, RunError
from unspool.insight.gallery import fitted_pictures
from unspool.insight.summary import summary_of
from unspool.io.files import write_atomic
from unspool.io.pictures import save_picture
from unspool.tasks import TASKS, Report, Task, build_model
from unspool.tasks.contextual import mix_report
from unspool.tasks.embedding import extended, freeze_embedding, place_vectors
from unspool.tasks.opening import Source, open_plan, usual_columns
from unspool.training.card import model_card
from unspool.training.checkpoint import Counters, save_checkpoint
from unspool.training.folder import RunFolder, free_folder
from unspool.training.machine import precision_note, tune_process, with_device, with_precision
from unspool.training.optim import build_optimizer
from unspool.training.progress import Watcher
from unspool.training.signals import Interrupted, stop_on_signals
from unspool.training.trainer import Trainer
from unspool.training.transfer import Start, open_start, take_over
from unspool.vectors import load as load_vectors
from unspool.vectors.files import hash_of


@in_python
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
    quiet: bool = False,
    watcher: Watcher | None = None,
    note: Note | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Run:
    """Train a model on data and return it; everything about it lies in the folder `out`.

    data      a file: CSV, TSV, JSONL, `label text` lines, documents or one long text; also .gz, or
              "-"; or values in memory: a data frame, a dict of columns, a list of dicts, texts with
              their labels
    labels    of texts in memory, one for each
    valid     data to validate on, as `data`, or a tuple of texts and labels; likewise `test`
    task      classify, regress, tag, generate, translate, pretrain or elmo; by default what the
              data suggest
    model     a cell's name, with `bi` before it for both directions: lstm, bigru, ...; transformer
              or cnn; for translate seq2seq, bahdanau, luong or transformer
    start     a folder of a model whose encoder, tokenizer and settings the new one takes over
    quiet     show nothing; otherwise decisions and progress are shown in a terminal and a notebook
    settings  any setting by its name: hidden=128, epochs=5, lr=1e-3 (see `unspool settings`)
    """
    sources = _sources(data, labels, valid, test)
    with watching(quiet, note=note, watcher=watcher, progress=progress) as shown:
        if resume:
            return _resume(_resumed(out, task, model, settings, config, start), sources, shown)
        if sources.get("train", "") == "":
            raise ConfigError("no data given", remedy="name a file: unspool train reviews.csv")
        plan = open_data(sources["train"], task=task, settings=settings, config_file=config)
        shown.note(plan.summary)
        origin = None if start is None else open_start(start)
        decided = {**plan.settings, **settings}
        asked = make_config(plan.task, model, settings=decided, config_file=config, start=origin)
        plans, parts_note = split_plans(plan, asked.data)
        if parts_note is not None:
            shown.note(parts_note)
        found = {
            "data.columns": usual_columns(plan),
            "data.split_column": split_name(plan, asked.data),
        }
        final = with_precision(with_device(changed(asked, found)))
        for name, source in sources.items():
            if name != "train":
                plans[name] = open_plan(source, final.data, final.task)
        folder = RunFolder(Path(out) if out else free_folder(plan.table.path, final.model_name))
        with folder.making():
            return _begin(folder, final, plans, origin, shown)


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
        raise ConfigError("resume needs the run folder", remedy="give it as --out RUN")
    folder = RunFolder(Path(out))
    refuse_changes(folder, task, model, settings, config)
    if start is not None:
        raise ConfigError(
            "a run that is resumed has its start behind it", got=start, remedy="leave out --from"
        )
    return folder


def _begin(
    folder: RunFolder,
    config: Config,
    plans: dict[str, Plan],
    start: Start | None,
    shown: Shown,
) -> Run:
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
    for line in corpus.notes:
        note(line)
    threads = config.train.threads or torch.get_num_threads()
    task, model = _make(config, corpus, threads)
    files = {
        name: _recorded(plan.table)
        for name, plan in plans.items()
        if name == "train" or plan.only is None
    }
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
    return _train(folder, task, model, corpus, shown, resume=False)


def _resume(folder: RunFolder, given: Mapping[str, Source], shown: Shown) -> Run:
    """Go on with a run; data that are `given` stand for the recorded ones, as after a move."""
    record = folder.read_record()
    config = with_device(folder.read_config(), resumed=True)
    config = with_precision(config)  # runs of old may have recorded `auto`
    plans: dict[str, Plan] = {}
    for name, source in given.items():
        if name not in record["data"]:
            raise ConfigError(
                f"the run has no {name} file",
                where=folder.path,
                got=source,
                remedy=f"leave out --{name}",
            )
    for name, file in record["data"].items():
        source = given.get(name, file["path"])
        if name not in given and file.get("memory"):
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
                remedy="give the old ones, or train anew with another --out",
            )
        if name == "train":
            plans |= split_plans(plan, config.data)[0]
        else:
            plans[name] = plan
    given_words = "start" in record or config.embedding.extend
    fitted = read_tokenizer(folder.path) if given_words else None
    corpus = TASKS[config.task].load_corpus(config, plans, fitted=fitted, progress=shown.progress)
    task, model = _make(config, corpus, record["threads"])
    return _train(folder, task, model, corpus, shown, resume=True)


def _sources(data: Any, labels: Any, valid: Any, test: Any) -> dict[str, Source]:
    """The data that were given, by part."""
    given = {"train": (data, labels), "valid": (valid, None), "test": (test, None)}
    return {name: source_of(*pair) for name, pair in given.items() if pair[0] is not None}


def _recorded(table: Table) -> dict[str, Any]:
    """The data for config.json; a path is whole, so that a run can be resumed from any folder."""
    path = table.path
    if isinstance(table, MemoryTable):
        return {"path": path, "sha256": table.sha256, "memory": True}
    if path != "-":
        path = ",".join(str(Path(side).resolve()) for side in sides(path))
    return {"path": path, "sha256": table.sha256}


def _make(config: Config, corpus: Corpus, threads: int) -> tuple[Task, nn.Module]:
    """The task, and its model with the initial weights of the run's seed."""
    tune_process(threads)
    torch.manual_seed(config.train.seed)
    task = TASKS[config.task](config, corpus.fields)
    model = build_model(task)
    if config.embedding.frozen:
        freeze_embedding(model)
    return task, model


def _train(
    folder: RunFolder,
    task: Task,
    model: nn.Module,
    corpus: Corpus,
    shown: Shown,
    *,
    resume: bool,
) -> Run:
    note = shown.note
    count = sum(p.numel() for p in model.parameters())
    note(f"model: {task.config.model_name}, {count:,} parameters; run folder: {folder.path}")
    settings = task.config.train
    note(precision_note(settings.precision, settings.device))
    model.to(settings.device)
    trainer = Trainer(task, model, corpus.parts, folder, shown.watcher)
    if resume:
        trainer.resume()
        note(f"resuming at step {trainer.counters.step} of {trainer.total}")
    try:
        with stop_on_signals() as stop:
            counters = trainer.run(stop)
    except Interrupted:
        counters = trainer.counters
        folder.record_weights(None if counters.best_step else counters.step)
        _write_card(folder, task, model.eval().cpu(), counters, None, "stopped")
        raise
    folder.record_weights(None)
    note(f"finished: {counters.finished}; {counters.seconds:.0f} s of training")

    folder.load_weights(model)
    for name, value in mix_report(model).items():
        note(f"{name}: {value}")
    run = Run(folder, task, model)
    run.counters = counters
    for line in task.calibrate(run.model, corpus.parts.get("valid")):
        note(line)
    task.save(folder.path)
    judged = "test" if "test" in corpus.parts else "valid" if "valid" in corpus.parts else None
    report = None
    if judged is not None:
        report = task.evaluate(run.model, corpus.parts[judged])
        mix = mix_report(model)
        report.part = judged
        folder.write_report(report, mix)
        run.keep(report)
        for name, figure in fitted_pictures(report.to_json()):
            save_picture(figure, folder.path / f"{name}.png")
    model.cpu()  # where a run that is loaded has it
    _write_card(folder, task, model, counters, report, judged)
    return run


def _write_card(
    folder: RunFolder,
    task: Task,
    model: nn.Module,
    counters: Counters,
    report: Report | None,
    part: str | None,
) -> None:
    layers = summary_of(task, model).lines()
    write_atomic(
        folder.path / "README.md", model_card(folder, task, layers, counters, report, part)
    )
