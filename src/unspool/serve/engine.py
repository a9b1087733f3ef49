"""The process of a model: frames in, replies out, in one thread.

Requests that arrive while a batch is computed are the next batch, so nothing waits while the model
is idle. Between batches every text that a language model writes grows by a token.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import traceback
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from unspool.errors import UserError
from unspool.io.parent import end_with_parent
from unspool.serve import frames
from unspool.serve.frames import RequestReader, reply_frame
from unspool.serve.problems import Problem, problem_content
from unspool.serve.settings import ServeLimits

if TYPE_CHECKING:
    from unspool.serve.loading import Loaded

RECEIVED = 1 << 18  # bytes of the socket at once
SWEEP = 1.0  # seconds after which an idle process looks for expired streams


@dataclass(frozen=True)
class EngineSettings:
    """Settings of the process of one model."""

    name: str
    folder: str
    threads: int
    device: str
    precision: str
    validation: str | None
    max_loss: float
    plugins: tuple[str, ...]
    texts: bool
    prefix: str  # of the names of its streams
    limits: ServeLimits


class Arrived(NamedTuple):
    """A request with the moment of its arrival."""

    request: frames.RequestFrame
    moment: float


def run_engine(connection: Connection, settings: EngineSettings) -> None:
    """Entry of the process. Ends with its parent, or where that closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the parent drains
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    end_with_parent()
    channel = socket.socket(fileno=os.dup(connection.fileno()))
    connection.close()
    channel.setblocking(True)
    try:
        from unspool.serve.loading import load_served

        engine = Engine(channel, settings, load_served(settings))
    except UserError as error:
        channel.sendall(reply_frame(frames.STARTED, 422, str(error).encode()))
        return
    except Exception as error:
        traceback.print_exc()
        line = f"{settings.folder}: unspool failed: {type(error).__name__}: {error}"
        channel.sendall(reply_frame(frames.STARTED, 500, line.encode()))
        return
    engine.run()
    sys.stderr.flush()
    os._exit(0)  # without the time that the libraries take to unload


class Engine:
    """A model that answers what arrives on a socket."""

    def __init__(self, channel: socket.socket, settings: EngineSettings, loaded: Loaded) -> None:
        self.socket, self.settings, self.limits = channel, settings, settings.limits
        self.loaded, self.served = loaded, loaded.served
        self.generator, self.sessions = loaded.generator, loaded.sessions
        self.reader = RequestReader()
        self.waiting: deque[Arrived] = deque()
        self.ready: deque[Any] = deque()  # work that did not fit into the batch before
        self.writing: dict[int, Any] = {}  # completions by the id of their request
        self.batches = self.items = 0
        self.reported = (0, 0, 0)
        self.swept = monotonic()
        self.send(frames.STARTED, 200, self.loaded.description())

    def run(self) -> None:
        """Serve until the other side closes."""
        while self.receive():
            self.compute(self.next_batch())
            if self.generator is not None and len(self.generator):
                self.grow()
            self.report()

    # Frames

    def receive(self) -> bool:
        """Take in all that has arrived; wait where there is nothing else to do."""
        busy = self.waiting or self.ready or (self.generator is not None and len(self.generator))
        if not self.read(0 if busy else SWEEP):
            return False
        if not busy and self.waiting and self.limits.delay:
            end = monotonic() + self.limits.delay / 1000
            while (left := end - monotonic()) > 0 and len(self.waiting) < self.limits.batch_items:
                if not self.read(left):
                    return False
        return True

    def read(self, seconds: float) -> bool:
        readable, _, _ = select.select([self.socket], [], [], seconds)
        while readable:
            try:
                data = self.socket.recv(RECEIVED, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                return False
            if not data:
                return False
            for request in self.reader.feed(data):
                self.take(request)
            if len(data) < RECEIVED:
                break
        return True

    def take(self, request: frames.RequestFrame) -> None:
        if request.operation == frames.CANCEL:
            self.cancel(request.id)
        else:
            self.waiting.append(Arrived(request, monotonic()))

    def cancel(self, id: int) -> None:
        """Forget a request whose client has gone."""
        self.waiting = deque(each for each in self.waiting if each.request.id != id)
        self.ready = deque(work for work in self.ready if work.id != id)
        writing = self.writing.pop(id, None)
        if writing is not None:
            writing.cancel()

    def send(self, id: int, status: int, content: bytes, *, last: bool = True) -> None:
        try:
            self.socket.sendall(reply_frame(id, status, content, last=last))
        except OSError:
            os._exit(0)  # nobody is there to hear of it

    def report(self) -> None:
        """Send the figures of this process, if there are new ones."""
        now = monotonic()
        if now - self.swept < SWEEP:
            return
        self.swept = now
        self.sessions.expire()
        made = 0 if self.generator is None else self.generator.made
        figures = (self.batches, self.items, made)
        if figures != self.reported:
            self.reported = figures
            content = "{} {} {} {}".format(*figures, len(self.sessions.open))
            self.send(frames.BATCHES, 200, content.encode())

    # Work

    def next_batch(self) -> list[Any]:
        """Work that is computed together, of requests in the order of their arrival."""
        batch: list[Any] = []
        items = size = 0
        while self.ready or self.waiting:
            work = self.ready.popleft() if self.ready else self.prepared(self.waiting.popleft())
            if work is None:
                continue
            fits = not batch or (
                work.key is not None
                and work.key == batch[0].key
                and items + len(work.items) <= self.limits.batch_items
                and size + work.size <= self.limits.batch_tokens
            )
            if not fits:
                self.ready.appendleft(work)
                break
            batch.append(work)
            items, size = items + len(work.items), size + work.size
        return batch

    def prepared(self, arrived: Arrived) -> Any:
        """The work of a request; None where it was answered at once."""
        request = arrived.request
        if monotonic() - arrived.moment > self.limits.wait:
            self.refuse(request.id, Problem(503, "the request has waited too long"))
            return None
        try:
            return self.operation(request)
        except Exception as error:
            self.fail(request.id, error)
            return None

    def operation(self, request: frames.RequestFrame) -> Any:
        id, body, served = request.id, request.body, self.served
        if request.operation == frames.PREDICT:
            return served.predict(id, body)
        if request.operation == frames.EMBED:
            return served.embed(id, body)
        if request.operation == frames.INFER:
            return served.infer(id, body)
        if request.operation == frames.EXPLAIN:
            return served.explain(id, body)
        if request.operation == frames.LOOK:
            return served.look(id, request.argument, body)
        if request.operation == frames.STREAM:
            prefix = request.argument or self.settings.prefix
            self.send(id, 200, self.sessions.push(prefix, body))
        elif request.operation == frames.CLOSE:
            closed = self.sessions.close(request.argument)
            if not closed:
                raise Problem(404, "there is no such session")
            self.send(id, 200, b"{}")
        elif request.operation == frames.COMPLETE:
            self.complete(id, body)
        return None

    def complete(self, id: int, body: bytes) -> None:
        from unspool.serve.completions import Completing, Completion
        from unspool.serve.work import parsed

        if self.generator is None:
            raise Problem(404, "this model writes no texts")
        request = parsed(Completion, body)

        def send(content: bytes, last: bool) -> None:
            if last:
                self.writing.pop(id, None)
            self.send(id, 200, content, last=last)

        tokenizer = self.served.task.tokenizer
        completing = Completing(id, self.served.name, request, tokenizer, self.limits, send)
        if completing.left:
            self.writing[id] = completing
            completing.start(self.generator)

    def grow(self) -> None:
        assert self.generator is not None
        try:
            self.generator.step()
        except Exception as error:
            ids = list(self.writing)
            for id in ids:
                self.writing.pop(id).cancel()
                self.fail(id, error)
            self.generator = self.loaded.new_generator()

    def compute(self, batch: list[Any]) -> None:
        """Answer each; one that cannot be answered does not harm the others."""
        if not batch:
            return
        items = [item for work in batch for item in work.items]
        self.batches, self.items = self.batches + 1, self.items + len(items)
        try:
            answers = batch[0].compute(items)
        except Exception as error:
            if len(batch) == 1:
                self.fail(batch[0].id, error)
                return
            for work in batch:
                self.compute([work])
            return
        first = 0
        for work in batch:
            share, first = answers[first : first + len(work.items)], first + len(work.items)
            try:
                content = work.finish(share)
            except Exception as error:
                self.fail(work.id, error)
            else:
                self.send(work.id, 200, content)

    def fail(self, id: int, error: Exception) -> None:
        """Answer with what is wrong: with the request, or with unspool."""
        if isinstance(error, Problem):
            self.refuse(id, error)
        elif isinstance(error, UserError):
            self.refuse(id, Problem(422, str(error)))
        elif isinstance(error, MemoryError):
            self.refuse(id, Problem(413, "the request takes more memory than there is"))
        else:
            if self.settings.texts:
                traceback.print_exception(error)
            else:  # a message may have what was asked
                lines = "".join(traceback.format_tb(error.__traceback__))
                print(f"{lines}{type(error).__name__}", file=sys.stderr, flush=True)
            self.refuse(id, Problem(500, f"unspool failed: {type(error).__name__}"))

    def refuse(self, id: int, problem: Problem) -> None:
        self.send(id, problem.status, problem_content(problem.status, problem.detail))
