"""Answers to a whole file: in chunks, on several processes, and resumable.

    items -> chunks of CHUNK -> predicted and formatted, in any process -> written in order

A chunk is predicted by itself, so what is written depends neither on the number of processes nor on
where a command was stopped. `.NAME.part` grows by whole chunks; `.NAME.journal` has a line with the
rows and bytes that are complete, so that `--resume` cuts off what is not and goes on behind it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, Self

from unspool import __version__
from unspool.api.run import Run, load
from unspool.cli.answers import (
    AnswerFormat,
    Cells,
    SourceRows,
    WrittenAnswers,
    answer_format,
    finish,
    unwritable,
)
from unspool.cli.options import PLUGINS, load_plugin
from unspool.cli.show import note
from unspool.data.plan import Plan
from unspool.errors import DataError, Option, RunError, UserError
from unspool.io.files import hash_of, open_regular, parse_json
from unspool.io.lock import lock_file
from unspool.io.parent import end_with_parent
from unspool.training.machine import tune_process

CHUNK = 4096  # texts; a multiple of what every task predicts at once
RECORDINGS = 256  # in a chunk of what is no text, and may be large
AHEAD = 2  # chunks that wait for each process
EVERY = 1.0  # seconds between two lines of the journal
ANEW = ("leave out ", Option(resume=True), " to begin anew")


class ItemChunk(NamedTuple):
    """Items in a row of the file, the first with a number, and the cells beside each."""

    first: int
    items: list[Any]
    rows: list[Cells] | None


class PredictedChunk(NamedTuple):
    content: bytes
    written: WrittenAnswers


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class BulkPrediction:
    """All that a process needs to predict chunks."""

    run: Path
    options: Any
    format: AnswerFormat
    plugins: tuple[str, ...] = ()
    threads: int = 1

    def predict(self, run: Run, chunk: ItemChunk) -> PredictedChunk:
        text = io.StringIO(newline="")
        answers = run.predict_lazily(chunk.items, self.options)
        rows = None if chunk.rows is None else deque(chunk.rows)
        written = self.format.write(answers, text, rows, chunk.first)
        return PredictedChunk(text.getvalue().encode(), written)


def predict_file(
    run: Run,
    items: Iterator[Any],
    source: SourceRows | None,
    plan: Plan,
    out: Path,
    options: Any,
    names: Mapping[str, str],
    *,
    processes: int,
    resume: bool,
) -> None:
    """Write the answers to all items of a plan into `out`.

    source      the cells beside each item, as it is read
    names       what columns of the answers are called
    processes   0: one a core
    """
    processes = processes or cores()
    shown = answer_format(out.suffix.lower(), source, names)
    job = BulkPrediction(run.path, options, shown, tuple(PLUGINS), max(1, cores() // processes))
    with ResumableFile(out, key_of(run, plan, job), resume=resume) as partial:
        if partial.complete:
            note(f"{out} is complete")
            return
        skip(items, source, partial.rows)
        warnings, plural = Counter[str](), "predictions"
        size = CHUNK if run.task.reads_tokens else RECORDINGS
        chunks = chunked(items, source, size, partial.rows)
        for predicted in predictions(run, job, chunks, processes):
            partial.add(predicted.content, predicted.written.number)
            warnings.update(predicted.written.warnings)
            plural = predicted.written.plural
    for line in WrittenAnswers(partial.rows, plural, warnings).lines(out):
        note(line)


def key_of(run: Run, plan: Plan, job: BulkPrediction) -> str:
    """The model, the content of the file and how it is read, the options and the format."""
    work = [
        __version__, CHUNK, RECORDINGS, plan.key,
        hash_of(run.folder.config_file), hash_of(run.folder.weights),
        asdict(job.options) if job.options is not None else None, asdict(job.format),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(work, sort_keys=True, default=str).encode()).hexdigest()


def skip(items: Iterator[Any], source: SourceRows | None, count: int) -> None:
    """Read over items that are done."""
    for _ in islice(items, count):
        if source is not None:
            source.rows.popleft()


def chunked(
    items: Iterator[Any], source: SourceRows | None, size: int, done: int
) -> Iterator[ItemChunk]:
    while some := list(islice(items, size)):
        rows = None if source is None else [source.rows.popleft() for _ in some]
        yield ItemChunk(done + 1, some, rows)
        done += len(some)


def predictions(
    run: Run, job: BulkPrediction, chunks: Iterator[ItemChunk], processes: int
) -> Iterator[PredictedChunk]:
    """The answers to chunks, in order."""
    if processes == 1:
        yield from (job.predict(run, chunk) for chunk in chunks)
        return
    waiting: deque[Future[PredictedChunk]] = deque()
    # A forked process would inherit locks of threads that it does not have.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), start, (job, os.getcwd()))
    try:
        for chunk in chunks:
            waiting.append(pool.submit(predict_chunk, chunk))
            if len(waiting) > AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise RunError(
            "a process that predicts has ended unexpectedly, perhaps for lack of memory",
            where=job.run,
            remedy=("go on with ", Option(resume=True), " and fewer ", Option("processes")),
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class Worker(NamedTuple):
    job: BulkPrediction
    run: Run


_worker: list[Worker] = []  # of this process, once it has started


def start(job: BulkPrediction, folder: str) -> None:
    """Load the model in a new process, which ends with the one that has started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the first process sees to it
    end_with_parent()
    os.chdir(folder)
    for plugin in job.plugins:
        load_plugin(plugin)
    tune_process(job.threads)
    _worker[:] = [Worker(job, load(job.run, note=lambda line: None))]


def predict_chunk(chunk: ItemChunk) -> PredictedChunk:
    (worker,) = _worker
    return worker.job.predict(worker.run, chunk)


class ResumableFile:
    """`.NAME.part`, which grows beside a file, and the journal of what is complete in it.

    rows       that are complete
    complete   the file has been finished before
    """

    def __init__(self, out: Path, key: str, *, resume: bool) -> None:
        self.out, self.key, self.resume = out, key, resume
        self.data = out.with_name(f".{out.name}.part")
        self.journal = out.with_name(f".{out.name}.journal")
        self.rows, self.size, self.complete, self.noted = 0, 0, False, time.monotonic()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            try:
                self.log = opened.enter_context(open_regular(self.journal, "a+b", buffering=0))
                lock_file(self.log.fileno(), self.journal)
                before = self._read() if self.resume else None
                if self.resume and before is None:
                    note(f"{self.out}: nothing was begun, so there is nothing to resume")
                if before is None:
                    self.log.truncate(0)
                    self.log.write(json.dumps({"key": self.key}).encode() + b"\n")
                else:
                    self.rows, self.size, self.complete = before
                if not self.complete:
                    mode = "r+b" if self.size else "wb"
                    self.file = opened.enter_context(open_regular(self.data, mode))
                    self.file.truncate(self.size)
                    self.file.seek(self.size)
            except BlockingIOError:
                raise DataError(
                    "another process writes this file",
                    where=self.out,
                    remedy="wait for it, or stop it",
                ) from None
            except OSError as error:
                raise unwritable(self.out, error) from None
            self.opened = opened.pop_all()
        if self.rows:
            note(f"{self.out}: {self.rows:,} rows are there already")
        return self

    def _read(self) -> tuple[int, int, bool] | None:
        """Rows and bytes that are complete, and whether all are; None where nothing was begun."""
        self.log.seek(0)
        content = self.log.read()
        self.log.truncate(content.rfind(b"\n") + 1)  # a last line that was cut off
        first, *lines = content.split(b"\n")
        if not lines:
            return None
        rows = size = complete = 0
        try:
            if parse_json(first)["key"] != self.key:
                raise DataError(
                    "was begun with another file, model or options",
                    where=self.out,
                    remedy=ANEW,
                )
            for line in lines[:-1]:
                rows, size, complete = map(int, parse_json(line))
        except (ValueError, TypeError, KeyError):
            raise DataError(
                "damaged: no journal of predictions",
                where=self.journal,
                remedy=ANEW,
            ) from None
        if not self.data.exists() or self.data.stat().st_size < size:
            return (rows, size, True) if complete and self.out.exists() else None
        return rows, size, False

    def add(self, content: bytes, rows: int) -> None:
        try:
            self.file.write(content)
            self.rows, self.size = self.rows + rows, self.size + len(content)
            if time.monotonic() - self.noted > EVERY:
                self._note()
        except OSError as error:
            raise RunError(
                f"cannot be written ({error.strerror})",
                where=self.out,
                remedy=("make room, and go on with ", Option(resume=True)),
            ) from None

    def _note(self, *, complete: bool = False) -> None:
        """Write down what is complete, once it is on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.log.write(json.dumps([self.rows, self.size, int(complete)]).encode() + b"\n")
        self.log.flush()
        self.noted = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> None:
        with self.opened:
            try:
                self._end(error)
            except OSError as failed:
                raise unwritable(self.out, failed) from None

    def _end(self, error: BaseException | None) -> None:
        """Give the file its name; after an error in the data leave nothing, and after any other
        what can be resumed."""
        if error is None:
            if not self.complete:
                self._note(complete=True)
                finish(self.data, self.out)
            self.journal.unlink()
        elif not self.rows or (isinstance(error, UserError) and not isinstance(error, RunError)):
            self.data.unlink()
            self.journal.unlink()
        else:
            with suppress(OSError):
                self._note()
            note(f"{self.rows:,} rows are done; the same command with --resume goes on")
