"""Models as the process that speaks HTTP sees them: processes that are started, asked and replaced.

A `ModelHandle` has some processes with the same weights. A reload starts new ones and changes to
them when all are ready; every request is answered by the process that it was sent to.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from unspool.errors import ConfigError, RunError
from unspool.serve import frames
from unspool.serve.engine import EngineSettings, run_engine
from unspool.serve.frames import Reply, ReplyReader, request_frame
from unspool.serve.problems import Problem, problem_content
from unspool.serve.settings import ServeLimits, ServeSettings

LOADING = 300.0  # seconds in which a model has to be ready
HANGING = 3.0  # deadlines after which a process that gives no answer is ended
PAUSE = (0.5, 30.0)  # seconds before a process that has died is started again: first, at most
BUFFERED = 64_000_000  # bytes of requests that wait for one process


class PendingRequest:
    """A request that a process works at.

    on_part   gets each part of a reply that comes in several
    """

    __slots__ = ("began", "done", "id", "on_part", "process", "size", "timer")

    def __init__(self, process: ModelProcess, id: int, size: int, on_part: Any) -> None:
        self.process, self.id, self.size, self.on_part = process, id, size, on_part
        self.began = monotonic()
        self.done: asyncio.Future[Reply] = process.loop.create_future()
        self.timer = process.loop.call_later(process.limits.deadline, self.late)

    def end(self, reply: Reply) -> None:
        self.timer.cancel()
        if not self.done.done():
            self.done.set_result(reply)

    def late(self) -> None:
        """Answer for a process that takes too long."""
        seconds = self.process.limits.deadline
        content = problem_content(504, f"the model did not answer within {seconds:g} seconds")
        self.process.drop(self, Reply(self.id, 504, True, content))

    def leave(self) -> None:
        """Forget the job: its client has gone."""
        self.process.drop(self, Reply(self.id, 499, True, b""))


class ModelProcess(asyncio.Protocol):
    """One process of a model, and the jobs that it has not answered."""

    def __init__(self, settings: EngineSettings, on_end: Callable[[ModelProcess], None]) -> None:
        self.settings, self.limits, self.on_end = settings, settings.limits, on_end
        self.loop = asyncio.get_running_loop()
        self.reader = ReplyReader()
        self.jobs: dict[int, PendingRequest] = {}
        self.started: asyncio.Future[dict[str, Any]] = self.loop.create_future()
        self.next_id, self.buffered, self.ended = 2, 0, False
        self.figures = (0, 0, 0, 0)
        self.heard = monotonic()
        self.transport: asyncio.Transport | None = None

    async def start(self) -> dict[str, Any]:
        """The description of the model; a RunError where it cannot be loaded."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self.process = context.Process(
            target=run_engine, args=(theirs, self.settings), daemon=True, name=self.settings.name
        )
        await self.loop.run_in_executor(None, self.process.start)
        theirs.close()
        channel = socket.socket(fileno=os.dup(ours.fileno()))
        ours.close()
        channel.setblocking(False)
        await self.loop.connect_accepted_socket(lambda: self, channel)
        try:
            return await asyncio.wait_for(self.started, LOADING)
        except TimeoutError:
            self.kill()
            raise RunError("the model was not ready in time", where=self.settings.folder) from None

    @property
    def pid(self) -> int | None:
        return self.process.pid

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard = monotonic()
        for reply in self.reader.feed(data):
            self.take(reply)

    def take(self, reply: Reply) -> None:
        if reply.id == frames.STARTED:
            self.begin(reply)
        elif reply.id == frames.BATCHES:
            batches, items, made, sessions = map(int, reply.content.split())
            self.figures = (batches, items, made, sessions)
        elif (job := self.jobs.get(reply.id)) is not None:
            if not reply.last:
                job.on_part(reply.content)
                return
            self.forget(job)
            job.end(reply)

    def begin(self, reply: Reply) -> None:
        if self.started.done():
            return
        if reply.status == 200:
            self.started.set_result(json.loads(reply.content))
        else:
            self.started.set_exception(RunError(reply.content.decode()))

    def submit(
        self, operation: int, argument: str, body: bytes, on_part: Callable[[bytes], None] | None
    ) -> PendingRequest:
        assert self.transport is not None
        if self.buffered + len(body) > BUFFERED:
            raise Problem(503, "too many bytes wait for the model", retry=1)
        self.next_id = 2 + (self.next_id - 1) % 0xFFFF_FFF0
        job = PendingRequest(self, self.next_id, len(body), on_part)
        if not self.jobs:
            self.heard = monotonic()
        self.jobs[job.id] = job
        self.buffered += job.size
        self.transport.write(request_frame(job.id, operation, argument, body))
        return job

    def forget(self, job: PendingRequest) -> None:
        if self.jobs.pop(job.id, None) is not None:
            self.buffered -= job.size

    def drop(self, job: PendingRequest, reply: Reply) -> None:
        if job.id not in self.jobs:
            return
        self.forget(job)
        job.end(reply)
        if self.transport is not None and not self.ended:
            self.transport.write(request_frame(job.id, frames.CANCEL, "", b""))

    def hangs(self) -> bool:
        """Whether it has been silent for several deadlines while it had work."""
        return self.heard + HANGING * self.limits.deadline < monotonic() and bool(self.jobs)

    def connection_lost(self, error: Exception | None) -> None:
        self.ended = True
        if not self.started.done():
            where = self.settings.folder
            self.started.set_exception(RunError("its process has ended while loading", where=where))
            self.started.exception()  # perhaps nobody waits for it any more
        content = problem_content(503, "the process of the model has ended")
        for job in list(self.jobs.values()):
            self.forget(job)
            job.end(Reply(job.id, 503, True, content))
        self.on_end(self)

    def stop(self) -> None:
        """End the process as soon as it has sent what it works at."""
        if self.transport is not None:
            self.transport.close()

    def kill(self) -> None:
        self.stop()
        with suppress(Exception):
            self.process.kill()

    async def join(self, seconds: float) -> None:
        """Wait for its end; kill it after so many seconds."""
        end = monotonic() + seconds
        while self.process.is_alive() and monotonic() < end:
            await asyncio.sleep(0.02)
        if self.process.is_alive():
            self.process.kill()
            await self.loop.run_in_executor(None, self.process.join)


class ModelHandle:
    """A model by name, with its processes."""

    def __init__(self, name: str, folder: str, settings: ServeSettings) -> None:
        self.name, self.folder, self.settings = name, folder, settings
        self.limits: ServeLimits = settings.limits
        self.card: dict[str, Any] = {}
        self.processes: list[ModelProcess] = []
        self.old: set[ModelProcess] = set()  # which still answer what they were asked
        self.generation = self.restarts = 0
        self.reloading = asyncio.Lock()
        self.tasks: set[asyncio.Task[Any]] = set()
        self.ending = False
        self.problem: str | None = "loading"

    async def start(self) -> None:
        """Start all processes; an error where one cannot."""
        self.processes, self.card = await self.new_processes()
        self.problem = None

    async def new_processes(self) -> tuple[list[ModelProcess], dict[str, Any]]:
        self.generation += 1
        made = [self.new_process(number) for number in range(self.settings.processes)]
        results = await asyncio.gather(*(p.start() for p in made), return_exceptions=True)
        failed = next((r for r in results if isinstance(r, BaseException)), None)
        if failed is not None:
            for process in made:
                process.kill()
            raise failed
        return made, results[0]  # type: ignore[return-value]

    def new_process(self, number: int) -> ModelProcess:
        settings = self.settings
        engine = EngineSettings(
            name=self.name,
            folder=self.folder,
            threads=settings.threads_each(),
            device=settings.device,
            precision=settings.precision,
            validation=settings.validation,
            max_loss=settings.max_loss,
            plugins=settings.plugins,
            texts=settings.texts,
            prefix=f"{self.generation}.{number}",
            limits=self.limits,
        )
        return ModelProcess(engine, self.process_ended)

    async def reload(self) -> None:
        """Change to what the folder has now; the old model stays where that cannot be served."""
        async with self.reloading:
            processes, card = await self.new_processes()
            before, self.processes, self.card = self.processes, processes, card
            self.problem = None
            for process in before:
                self.old.add(process)
                self.run(self.retire(process))

    async def retire(self, process: ModelProcess) -> None:
        """End a process when it has answered everything."""
        end = monotonic() + self.limits.drain
        while process.jobs and not process.ended and monotonic() < end:
            await asyncio.sleep(0.02)
        process.stop()
        await process.join(5.0)
        self.old.discard(process)

    def process_ended(self, process: ModelProcess) -> None:
        """Start another one in place of one that has died."""
        if process in self.processes and not self.ending:
            self.run(self.replace(process))

    async def replace(self, process: ModelProcess) -> None:
        pause, most = PAUSE
        while process in self.processes and not self.ending:
            if not self.ready:
                self.problem = "its process has ended, and is started again"
            await asyncio.sleep(pause)
            number = self.processes.index(process) if process in self.processes else 0
            fresh = self.new_process(number)
            try:
                card = await fresh.start()
            except Exception as error:
                self.problem = str(error)
                fresh.kill()
                pause = min(2 * pause, most)
                continue
            if process in self.processes:
                self.processes[self.processes.index(process)] = fresh
                self.card, self.problem = card, None
                self.restarts += 1
            else:
                fresh.kill()
            return

    def run(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    @property
    def ready(self) -> bool:
        return any(not process.ended for process in self.processes)

    @property
    def waiting(self) -> int:
        return sum(len(process.jobs) for process in self.processes)

    def submit(
        self,
        operation: int,
        body: bytes,
        *,
        argument: str = "",
        on_part: Callable[[bytes], None] | None = None,
    ) -> PendingRequest:
        """Hand a request to the process with the fewest; a Problem where there is no room."""
        processes = [process for process in self.processes if not process.ended]
        if not processes:
            raise Problem(503, f"the model {self.name} is not ready: {self.problem}", retry=5)
        self.refuse_if_full()
        process = processes[0] if len(processes) == 1 else min(processes, key=lambda p: len(p.jobs))
        if "-" in argument:
            process = self.process_of(argument)
        return process.submit(operation, argument, body, on_part)

    def refuse_if_full(self) -> None:
        """Raise a Problem where as many requests wait as may."""
        room = self.limits.queue * sum(not process.ended for process in self.processes)
        if room and self.waiting >= room:
            raise Problem(429, f"{self.waiting:,} requests wait for the model already", retry=1)

    def process_of(self, session: str) -> ModelProcess:
        """The process that has a stream."""
        prefix = session.partition("-")[0]
        for process in self.processes:
            if process.settings.prefix == prefix and not process.ended:
                return process
        raise Problem(404, "there is no such session: it has ended, or the model was reloaded")

    def end_hanging(self) -> None:
        for process in self.processes:
            if process.hangs():
                process.kill()

    async def stop(self) -> None:
        self.ending = True
        everyone = [*self.processes, *self.old]
        for process in everyone:
            process.stop()
        await asyncio.gather(*(process.join(5.0) for process in everyone))


class Models(dict[str, ModelHandle]):
    """All models of a server by name."""

    @classmethod
    def of(cls, settings: ServeSettings) -> Models:
        return cls({n: ModelHandle(n, folder, settings) for n, folder in settings.models})

    async def start(self) -> None:
        await asyncio.gather(*(model.start() for model in self.values()))

    async def reload(self, name: str | None = None) -> dict[str, str]:
        """Reload a model, or all; returns `reloaded` or what is wrong, by name."""
        names = list(self) if name is None else [name]
        results = await asyncio.gather(
            *(self[each].reload() for each in names), return_exceptions=True
        )
        return {
            each: "reloaded" if result is None else f"kept the old one: {result}"
            for each, result in zip(names, results)
        }

    async def watch(self) -> None:
        """End processes that hang, for ever."""
        while True:
            await asyncio.sleep(1.0)
            for model in self.values():
                model.end_hanging()

    async def stop(self) -> None:
        await asyncio.gather(*(model.stop() for model in self.values()))

    def get_ready(self, name: str) -> ModelHandle:
        model = self.get(name)
        if model is None:
            raise Problem(404, f"there is no model {name!r}; there are {', '.join(self)}"[:300])
        return model


def check_folder(folder: str) -> None:
    """Refuse what is no run folder before a process is started for it."""
    if not os.path.exists(folder):
        raise ConfigError("no such run folder", where=folder, remedy="check the path")
