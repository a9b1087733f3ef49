"""Starting a run: from a data file and some words to a trained model in a run folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from unspool.config import Config
from unspool.data.corpus import Corpus, load_corpus
from unspool.data.files import sides
from unspool.data.readers import Source, open_source
from unspool.errors import ConfigError, RunError, choose
from unspool.files import write_atomic, write_json
from unspool.resolving import read_toml
from unspool.run import Run, build_model, summary_of
from unspool.settings import draft_config, make_config, refuse_changes
from unspool.starting import Start, open_start, take_over
from unspool.tasks import TASKS, Task
from unspool.tasks.contextual import mix_report
from unspool.tasks.embedding import extended, freeze_embedding, place_vectors
from unspool.tasks.task import read_tokenizer
from unspool.text.tokenizers import Tokenizer
from unspool.training.card import model_card
from unspool.training.checkpoint import Counters, save_checkpoint
from unspool.training.folder import RunFolder, free_folder
from unspool.training.machine import tune_process
from unspool.training.optim import build_optimizer
from unspool.training.precision import precision_note, with_precision
from unspool.training.progress import Silent, Watcher
from unspool.training.signals import stop_on_signals
from unspool.training.trainer import Trainer
from unspool.vectors import load as load_vectors
from unspool.vectors.reading import hash_of

if TYPE_CHECKING:
    from unspool.data.check import CheckReport

Say = Callable[[str], None]
Progress = Callable[[str, float], None]


def open_data(
    data: str | Path,
    *,
    task: str | None = None,
    model: str | None = None,
    settings: Mapping[str, Any],
    config_file: str | None = None,
) -> Source:
    """The training file, read as the settings say; it knows its task where `task` is None."""
    said = read_toml(config_file) if config_file is not None else {}
    if task is None and "task" in said:
        task = choose("task", str(said["task"]), TASKS, where=config_file)
    name = model or said.get("model")
    # Until the data have said their task, the first that knows the model reads the settings.
    able = (task for task, kind in TASKS.items() if name is None or name in kind.models())
    draft = draft_config(task or next(able, "classify"), model, settings, config_file)
    return open_source(str(data), draft.data, task=task)


def train(
    data: str | Path | None = None,
    *,
    task: str | None = None,
    model: str | None = None,
    valid: str | Path | None = None,
    test: str | Path | None = None,
    out: str | Path | None = None,
    config: str | None = None,
    resume: bool = False,
    start: str | Path | None = None,
    watcher: Watcher | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Run:
    """Train a model on a file and return it; everything about it lies in the folder `out`.

    data      CSV, TSV, JSONL, `label text` lines, documents or one long text; also .gz, or "-"
    task      classify, tag, generate, translate, pretrain or elmo; by default what the data suggest
    model     a cell's name, with `bi` before it for both directions: lstm, bigru, ...; transformer
              or cnn; for translate seq2seq, bahdanau, luong or transformer
    start     a folder of a model whose encoder, tokenizer and settings the new one takes over
    settings  any setting by its name: hidden=128, epochs=5, lr=1e-3 (see `unspool settings`)
    """
    say = say or (lambda text: None)
    if resume:
        if out is None:
            raise ConfigError("resume needs the run folder", remedy="give it as --out RUN")
        folder = RunFolder(Path(out))
        refuse_changes(folder, task, model, settings, config)
        if start is not None:
            raise ConfigError(
                "a run that is resumed has its start behind it",
                got=start,
                remedy="leave out --from",
            )
        given = {"train": data, "valid": valid, "test": test}
        return _resume(folder, given, watcher or Silent(), say, progress)
    if not data:
        raise ConfigError("no data given", remedy="name a file: unspool train reviews.csv")
    source = open_data(data, task=task, model=model, settings=settings, config_file=config)
    say(source.says)
    begun = None if start is None else open_start(start)
    final = with_precision(
        make_config(source.task, model, settings=settings, config_file=config, start=begun)
    )
    sources = {"train": source}
    for name, path in (("valid", valid), ("test", test)):
        if path is not None:
            sources[name] = open_source(str(path), final.data, task=final.task)
    folder = RunFolder(Path(out) if out else free_folder(source.path, final.model_name))
    with folder.making():
        return _begin(folder, final, sources, begun, watcher or Silent(), say, progress)


def check(
    data: str | Path,
    *,
    valid: str | Path | None = None,
    test: str | Path | None = None,
    task: str | None = None,
    **settings: Any,
) -> CheckReport:
    """Look at the data before training: counts, lengths, labels, leaks, doubtful rows."""
    from unspool.data import check as data_check

    source = open_data(data, task=task, settings=settings)
    final = make_config(source.task, None, settings=settings)
    others = [
        open_source(str(path), final.data, task=source.task) if path is not None else None
        for path in (valid, test)
    ]
    return data_check.check(
        source, valid=others[0], test=others[1], data=final.data, tokenizer=final.tokenizer
    )


def _begin(
    folder: RunFolder,
    config: Config,
    sources: dict[str, Source],
    start: Start | None,
    watcher: Watcher,
    say: Say,
    progress: Progress | None,
) -> Run:
    corpus = _load(config, sources, None if start is None else start.tokenizer, progress)
    file = config.embedding.file
    vectors = None if file is None else load_vectors(file)
    if vectors is not None and config.embedding.extend:
        words = extended(corpus.tokenizer, vectors, config.tokenizer.vocab)
        corpus = replace(_load(config, sources, words, progress), notes=corpus.notes)
    for note in corpus.notes:
        say(note)
    threads = config.train.threads or torch.get_num_threads()
    task, model = _make(config, corpus, threads)
    files = {
        name: {"path": _recorded(source.path), "sha256": source.content}
        for name, source in sources.items()
    }
    begun: dict[str, dict[str, str]] = {}
    if start is not None:
        say(take_over(task, model, start))
        begun["start"] = start.record()
    if vectors is not None and file is not None:
        say(place_vectors(model, task, vectors, corpus.parts["train"]))
        begun["vectors"] = {"path": str(Path(file).resolve()), "sha256": hash_of(file)}
    task.save(folder.path)
    shutil.rmtree(folder.checkpoints, ignore_errors=True)  # of a run that never began
    if begun:
        # The first checkpoint holds what was taken, so that nothing else is needed to resume.
        optimizer = build_optimizer(model, config.train)
        save_checkpoint(folder.checkpoints, model, optimizer, None, Counters())
    folder.write_config(config, files, threads, begun)
    return _train(folder, task, model, corpus, watcher, say, resume=False)


def _resume(
    folder: RunFolder,
    given: Mapping[str, str | Path | None],
    watcher: Watcher,
    say: Say,
    progress: Progress | None,
) -> Run:
    """Go on with a run; files that are `given` stand for the recorded ones, as after a move."""
    record = folder.read_record()
    config = with_precision(folder.read_config())  # runs of old may have recorded `auto`
    sources = {}
    for name, path in given.items():
        if path is not None and name not in record["data"]:
            raise ConfigError(
                f"the run has no {name} file",
                where=folder.path,
                got=path,
                remedy=f"leave out --{name}",
            )
    for name, file in record["data"].items():
        path = given[name] or file["path"]
        if path == "-":
            raise RunError(
                f"the {name} data came from standard input, which cannot be read again",
                where=folder.path,
                remedy="give them as a file",
            )
        source = open_source(str(path), config.data, task=config.task)
        if source.content != file["sha256"]:
            raise RunError(
                f"the {name} data have changed since the run began",
                where=source.path,
                remedy="put the old file back, or train anew with another --out",
            )
        sources[name] = source
    given_words = "start" in record or config.embedding.extend
    fitted = read_tokenizer(folder.path) if given_words else None
    corpus = _load(config, sources, fitted, progress)
    task, model = _make(config, corpus, record["threads"])
    return _train(folder, task, model, corpus, watcher, say, resume=True)


def _recorded(path: str) -> str:
    """The path for config.json: whole, so that a run can be resumed from any folder."""
    return path if path == "-" else ",".join(str(Path(side).resolve()) for side in sides(path))


def _load(
    config: Config,
    sources: dict[str, Source],
    fitted: Tokenizer | None,
    progress: Progress | None,
) -> Corpus:
    return load_corpus(
        sources["train"],
        valid=sources.get("valid"),
        test=sources.get("test"),
        data=config.data,
        tokenizer=config.tokenizer,
        seed=config.data.split_seed,
        fitted=fitted,
        progress=progress,
    )


def _make(config: Config, corpus: Corpus, threads: int) -> tuple[Task, nn.Module]:
    """The task, and its model with the initial weights of the run's seed."""
    tune_process(threads)
    torch.manual_seed(config.train.seed)
    task = TASKS[config.task].prepare(config, corpus)
    model = build_model(task)
    if config.embedding.frozen:
        freeze_embedding(model)
    return task, model


def _train(
    folder: RunFolder,
    task: Task,
    model: nn.Module,
    corpus: Corpus,
    watcher: Watcher,
    say: Say,
    *,
    resume: bool,
) -> Run:
    count = sum(p.numel() for p in model.parameters())
    say(f"model: {task.config.model_name}, {count:,} parameters; run folder: {folder.path}")
    say(precision_note(task.config.train.precision))
    trainer = Trainer(task, model, corpus.parts, folder, watcher)
    if resume:
        trainer.resume()
        say(f"resuming at step {trainer.counters.step} of {trainer.total}")
    with stop_on_signals() as stop:
        counters = trainer.run(stop)
    say(f"finished: {counters.finished}; {counters.seconds:.0f} s of training")

    folder.load_weights(model)
    for name, value in mix_report(model).items():
        say(f"{name}: {value}")
    run = Run(folder, task, model)
    run.counters = counters
    judged = "test" if "test" in corpus.parts else "valid" if "valid" in corpus.parts else None
    report = task.evaluate(run.model, corpus.parts[judged]) if judged else None
    if report is not None:
        mix = mix_report(model)
        write_json(folder.path / "evaluation.json", {"part": judged, **report.to_json(), **mix})
        run.report, run.report_part = report, judged
    write_atomic(
        folder.path / "README.md",
        model_card(folder, task, summary_of(task, model).lines(), counters, report, judged),
    )
    return run
