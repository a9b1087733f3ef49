"""The processes of a training: those that the first one starts, or those that torchrun has started.

The first process plans, writes the run folder and reports. The others follow: they read the same
data, make the same model, and compute their share of each batch until training ends.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from unspool.api.training import initial_model
from unspool.config import Config
from unspool.data.corpus import Corpus
from unspool.data.fields.tokens import read_tokenizer
from unspool.data.plan import Plan
from unspool.errors import TrainingError, UserError, as_flags
from unspool.io.parent import end_with_parent
from unspool.nn.cells import CELLS
from unspool.tasks import TASKS, Task
from unspool.training.folder import RunFolder
from unspool.training.machine import tune_process
from unspool.training.processes import Processes
from unspool.training.progress import Silent
from unspool.training.signals import Interrupted, stop_on_signals
from unspool.training.trainer import Trainer

RUN = "unspool/run/{}"  # key of torchrun's store: the folder of the n-th training, "" at the end


class Module(NamedTuple):
    """A module that a model needs and that is not part of the package."""

    name: str
    file: str


class Follower(NamedTuple):
    """Input of a process that follows the first one."""

    rank: int
    size: int
    folder: Path
    config: Config
    plans: dict[str, Plan]
    threads: int
    modules: list[Module]


@contextmanager
def training_processes(
    folder: RunFolder, config: Config, plans: dict[str, Plan]
) -> Iterator[Processes]:
    """The processes that train a model, seen from the first of them."""
    if launched():
        with torchrun_processes(folder) as processes:
            yield processes
    elif config.train.processes == 1:
        yield Processes()
    else:
        with started_processes(folder, config, plans) as processes:
            yield processes


@contextmanager
def started_processes(
    folder: RunFolder, config: Config, plans: dict[str, Plan]
) -> Iterator[Processes]:
    """This process and those that it starts on this machine."""
    size, context = config.train.processes, multiprocessing.get_context("spawn")
    threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory(prefix="unspool-") as place:
        exchanges: Any = context.Array("q", size, lock=False)
        store, started = str(Path(place) / "store"), {}
        for rank in range(1, size):
            follower = Follower(rank, size, folder.path, config, plans, threads, modules(config))
            started[rank] = context.Process(
                target=run_follower, args=(follower, exchanges, store), daemon=True
            )
            started[rank].start()
        processes = Processes(0, size, exchanges, started)
        try:
            while not all(exchanges[rank] for rank in started):
                if any(process.exitcode is not None for process in started.values()):
                    raise TrainingError(processes.failure())
                time.sleep(0.02)
            exchanges[0] = 1
            with on_loopback():
                processes.join(dist.FileStore(store, size))
            yield processes
        finally:
            processes.leave()


def run_follower(follower: Follower, exchanges: Any, store: str) -> None:
    """Entry of a process that the first one has started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal; training takes it over
    end_with_parent()
    torch.set_num_threads(follower.threads)
    processes = Processes(follower.rank, follower.size, exchanges)

    def join() -> None:
        exchanges[follower.rank] = 1
        with on_loopback():
            processes.join(dist.FileStore(store, follower.size))

    try:
        for module in follower.modules:
            load_module(module)
        follow(RunFolder(follower.folder), follower.config, follower.plans, processes, join)
    except UserError as error:
        with as_flags():
            print(f"unspool: process {follower.rank + 1}: {error}", file=sys.stderr, flush=True)
        sys.exit(1)


def follow(
    folder: RunFolder, config: Config, plans: dict[str, Plan], processes: Processes, join: Any
) -> None:
    """Train along with the first process; nothing is written or shown."""
    tune_process(torch.get_num_threads())
    task, corpus = read_task(folder, config, plans)
    model = initial_model(task)
    model.to(config.train.device)
    trainer = Trainer(task, model, corpus.parts, folder, Silent(), processes=processes)
    trainer.resume()
    join()
    try:
        with stop_on_signals() as stop, suppress(Interrupted):
            trainer.run(stop)
    finally:
        processes.leave()


def read_task(folder: RunFolder, config: Config, plans: dict[str, Plan]) -> tuple[Task, Corpus]:
    """The task and the data of a run that has begun."""
    fitted = None
    if "start" in folder.read_record() or config.embedding.extend:
        fitted = read_tokenizer(folder.path)
    corpus = TASKS[config.task].load_corpus(config, plans, fitted=fitted)
    return TASKS[config.task](config, corpus.fields), corpus


# Processes that torchrun has started


def launched() -> bool:
    """Whether torchrun has started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", 1)) > 1 and "MASTER_ADDR" in os.environ


def follows() -> bool:
    """Whether another process is the first."""
    return launched() and int(os.environ["RANK"]) > 0


class StoredCounts:
    """The number of exchanges of each process, in torchrun's store."""

    def __init__(self, store: dist.Store) -> None:
        self.store = store

    def __getitem__(self, rank: int) -> int:
        key = f"unspool/exchanges/{rank}"
        return int(self.store.get(key)) if self.store.check([key]) else 0

    def __setitem__(self, rank: int, count: int) -> None:
        self.store.set(f"unspool/exchanges/{rank}", str(count))


@cache
def torchrun_store() -> dist.Store:
    """The store that all processes of torchrun share."""
    return next(iter(dist.rendezvous("env://")))[0]


class Launched:
    """The trainings of this process that others follow, in their order."""

    number = 0


@contextmanager
def torchrun_processes(folder: RunFolder) -> Iterator[Processes]:
    """This process, the first, and the others of torchrun, which follow it."""
    store = torchrun_store()
    store.set(RUN.format(Launched.number), str(folder.path.resolve()))
    processes = Processes(0, int(os.environ["WORLD_SIZE"]), StoredCounts(store))
    processes.join(dist.PrefixStore(f"unspool/{Launched.number}", store))
    Launched.number += 1
    try:
        yield processes
    finally:
        processes.leave()


def end_launched() -> None:
    """Tell the others that there is nothing more to train."""
    if launched() and not follows():
        torchrun_store().set(RUN.format(Launched.number), "")
        Launched.number += 1


def follow_launched(plans_of: Callable[[RunFolder], dict[str, Plan]]) -> Path:
    """Follow the first process through all its trainings; the last folder.

    plans_of   (folder) -> the plans of its data
    """
    store, last = torchrun_store(), None
    while True:
        key = RUN.format(Launched.number)
        while not store.check([key]):
            time.sleep(0.1)
        path = store.get(key).decode()
        if not path:
            Launched.number += 1
            if last is None:
                raise TrainingError("nothing was trained that several processes could share")
            return last
        last, folder = Path(path), RunFolder(Path(path))
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        processes = Processes(rank, size, StoredCounts(store))
        prefix = dist.PrefixStore(f"unspool/{Launched.number}", store)
        Launched.number += 1
        config, plans = folder.read_config(), plans_of(folder)
        follow(folder, config, plans, processes, lambda p=processes, s=prefix: p.join(s))


@contextmanager
def on_loopback() -> Iterator[None]:
    """Connections of torch.distributed stay on this machine."""
    name, before = "GLOO_SOCKET_IFNAME", os.environ.get("GLOO_SOCKET_IFNAME")
    os.environ[name] = before or ("lo0" if sys.platform == "darwin" else "lo")
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


# Modules of custom cells


def modules(config: Config) -> list[Module]:
    """The module of a custom cell, by its file."""
    cell: Mapping[str, Any] = CELLS
    name = cell[config.model.cell].__module__ if config.model.cell in cell else "unspool"
    file = getattr(sys.modules.get(name), "__file__", None)
    outside = not name.startswith("unspool.") and name not in ("unspool", "__main__")
    return [Module(name, file)] if outside and file else []


def load_module(module: Module) -> None:
    spec = importlib.util.spec_from_file_location(module.name, module.file)
    if spec is not None and spec.loader is not None and module.name not in sys.modules:
        sys.modules[module.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[module.name])
