"""Abuse of the server of the page, on this machine: half requests, resets, huge headers and
numbers, wrong hosts, hundreds of connections. After each it still answers, and has printed
nothing."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import resource
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from mutate import PIECES, damage, odd_text
from part import Part
from samples import train_run
from settings import ODD
from supervise import MOST_BYTES, Case, end_with_parent, usage_of

RUNS = [
    "bilstm", "transformer", "tagger", "writer", "cnn", "rater", "motions", "moments", "forecaster",
    "transcriber", "pen", "digits", "eye",
]  # fmt: skip
FEW = 40  # descriptors of the last server
MOST_SECONDS = 10.0
FOREVER = 300.0  # seconds after which nothing is waited for any more, however busy the machine
TICK = 0.05


class Server(Part):
    """The page's server."""

    name = "server"
    short = 6
    patience = 600.0
    workers = 1  # so that what a server says belongs to one case

    def prepare(self) -> None:
        runs = [train_run(name, self.runs) for name in RUNS]
        self.servers = [Started(run) for run in runs]
        self.servers.append(Started(runs[0], few=True))

    def close(self) -> None:
        for server in self.servers:
            server.stop()

    def case(self, case: Case) -> None:
        abuses = [
            half, half, reset, reset, huge, mutated, mutated, mutated, mutated, odd_question,
            odd_question, odd_question, odd_question, wrong_host, method, body, noise, unread,
            crowd, together,
        ]  # fmt: skip
        rng = case.random
        server = rng.choice(self.servers)
        before = len(server.said())
        abuse = rng.choice(abuses)
        case.tell("run", [abuse.__name__, server.path.name])
        problem = abuse(server, rng)
        if problem:
            case.problem(f"{abuse.__name__}: {problem}")
        for problem in server.problems(before):
            case.problem(f"after {abuse.__name__}: {problem}")
        case.tell("ended", [0, ""])
        if case.shown:
            case.shown(f"{abuse.__name__} of {server.path.name}\n{server.said()[before:]}")


class Started:
    """`unspool look RUN --no-browser` in a process of its own."""

    def __init__(self, run: Path, few: bool = False) -> None:
        self.path, self.few = run, few
        self.log = run.with_name(f"{run.name}{'-few' if few else ''}.log")
        self.log.touch()
        self.pid = os.fork()
        if self.pid == 0:
            self._be()
        end = time.monotonic() + 60
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/", self.said())):
            assert time.monotonic() < end, f"no server: {self.said()}"
            time.sleep(0.01)
        self.port = int(found[1])
        self.host = f"127.0.0.1:{self.port}"

    def _be(self) -> None:
        try:
            end_with_parent()
            for number in (1, 2):
                os.dup2(os.open(self.log, os.O_WRONLY | os.O_APPEND), number)
            if self.few:
                resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW))
            from unspool.cli import main

            sys.argv = ["unspool", "look", str(self.path), "--no-browser"]
            main()
        finally:
            os._exit(1)

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=FOREVER)

    def ask(self, path: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=FOREVER)
        try:
            with Clock(self.pid) as clock:
                connection.request("GET", path, headers=headers)
                reply = connection.getresponse()
                found = reply.status, reply.read()
        finally:
            connection.close()
        clock.check()
        return found

    def problems(self, before: int) -> list[str]:
        """What is wrong with it now; `before` characters were in its log."""
        found = []
        begun = time.monotonic()
        try:
            status, _ = self.ask("/api/run")
            if status != 200:
                found.append(f"a sound question has status {status}")
        except OSError as error:
            found.append(f"no answer after {time.monotonic() - begun:.1f} s ({error!r})")
        more = self.said()[before:].strip()
        if more:
            found.append(f"it printed {more.splitlines()[-1]!r}")
        _, resident, state = usage_of(self.pid)
        if state == "Z":
            found.append("it has ended")
        if resident > MOST_BYTES:
            found.append(f"it takes {resident / (1 << 30):.1f} GB")
        return found

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Clock(threading.Thread):
    """Seconds in which this process and the server could run: on a busy machine, or where somebody
    stops them for a while, they are slow and do not hang."""

    seconds = 0.0

    def __init__(self, server: int) -> None:
        super().__init__(daemon=True)
        self.server, self.ended = server, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(TICK):
            if usage_of(self.server)[2] != "T":
                self.seconds += TICK

    def __enter__(self) -> Clock:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()

    def check(self) -> None:
        if self.seconds > MOST_SECONDS:
            raise TimeoutError(f"an answer after {self.seconds:.1f} s")


Abuse = Callable[[Started, random.Random], str | None]


def request(server: Started, path: str = "/api/run", *more: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {server.host}", *more, "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


def question(rng: random.Random) -> str:
    """The address of an answer, with odd parameters."""
    from unspool.page.answers import DEFAULTS

    name = rng.choice(list(DEFAULTS))
    given = []
    for key, usual in DEFAULTS[name].items():
        if rng.random() < 0.2:
            continue
        value = odd_text(rng)[:3000] if key in ("text", "word") else usual
        if key == "text" and rng.random() < 0.4:
            value = rng.choice(["1", "2", "3", odd_series(rng)[:3000]])
        if rng.random() < 0.3:
            value = rng.choice(ODD)
        given.append(f"{key}={quote(value, errors='surrogateescape')}")
    if rng.random() < 0.1:
        given.append(rng.choice(["x=1", "=", "&&", "text", "%", "%ff", "text=%ed%a0%80"]))
    return f"/api/{name}?{'&'.join(given)}"


def odd_series(rng: random.Random) -> str:
    """What a page sends of a series or a drawing: JSON, damaged now and then."""
    width, steps = rng.choice([1, 2, 2, 3]), rng.choice([1, 5, 20])
    rows = [[round(rng.gauss(0, 1), 2) for _ in range(width)] for _ in range(steps)]
    content = json.dumps(rng.choice([rows, [rows], [row[0] for row in rows], {"values": rows}]))
    times = rng.choice([0, 0, 1, 2])
    return damage(content.encode(), rng, times).decode("utf-8", "surrogateescape")


def send(server: Started, content: bytes) -> str | None:
    """Send bytes, then end; what is wrong with the reply."""
    with server.connect() as connection, Clock(server.pid) as clock:
        with contextlib.suppress(OSError):
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
        received = b""
        try:
            while data := connection.recv(1 << 16):
                received += data
        except ConnectionError:
            return None
        except TimeoutError:
            return f"the connection is still open after {FOREVER:.0f} s"
    if clock.seconds > MOST_SECONDS + 2:  # the server itself ends one after ten
        return f"the connection was open for {clock.seconds:.1f} s"
    return wrong(received)


def wrong(reply: bytes) -> str | None:
    """A reply is JSON, with one line where something is refused, and never a fault of unspool's."""
    if not reply.startswith(b"HTTP/"):
        return f"no reply of HTTP: {reply[:80]!r}" if reply and reply[:1] != b"{" else None
    head, _, rest = reply.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    if status >= 500 and status not in (501, 503, 505):
        return f"status {status}: {rest[:200].decode(errors='replace')}"
    if status >= 400 and b"Content-Length" in head:
        length = int(re.search(rb"Content-Length: (\d+)", head)[1])  # type: ignore[index]
        if length and "\n" in json.loads(rest[:length])["error"]:
            return "an error of several lines"
    return None


def half(server: Started, rng: random.Random) -> str | None:
    """Requests that do not go on; others are answered meanwhile."""
    whole = request(server, "/")
    opened = []
    try:
        for _ in range(rng.choice([1, 5, 20])):
            connection = server.connect()
            opened.append(connection)
            connection.sendall(whole[: rng.randrange(len(whole))])
        status, _ = server.ask("/")
        return None if status == 200 else f"status {status} meanwhile"
    except OSError as error:
        return f"not answered meanwhile: {error!r}"
    finally:
        for connection in opened:
            connection.close()


def reset(server: Started, rng: random.Random) -> str | None:
    for _ in range(rng.choice([1, 3, 10])):
        connection = server.connect()
        path = rng.choice(["/", "/web/app.js", question(rng)])
        content = request(server, path)
        connection.sendall(content[: rng.choice([len(content), rng.randrange(len(content))])])
        if rng.random() < 0.3:
            time.sleep(rng.uniform(0, 0.05))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    return None


def huge(server: Started, rng: random.Random) -> str | None:
    size = rng.choice([1000, 60_000, 70_000, 1_000_000])
    return send(
        server,
        rng.choice([
            request(server, "/" + "a" * size),
            request(server, "/api/trace?text=" + "good%20" * (size // 7)),
            request(server, "/", "X: " + "a" * size),
            request(server, "/", *["X: a"] * (size // 100)),
            b"GET " + b" " * size + b"\r\n\r\n",
            b"A" * size,
            request(server, "/", "Cookie: " + "a=b; " * (size // 5)),
        ]),
    )  # fmt: skip


def mutated(server: Started, rng: random.Random) -> str | None:
    return send(server, damage(request(server, question(rng)), rng))


def odd_question(server: Started, rng: random.Random) -> str | None:
    return send(server, request(server, question(rng), "Connection: close"))


def wrong_host(server: Started, rng: random.Random) -> str | None:
    """Neither another name nor another site is answered."""
    name = rng.choice(
        ["evil.example", "127.0.0.1", "", "[::1", "a" * 5000, f"localhost:{'9' * 20}"]
    )
    name = rng.choice(
        [name, f"evil.example:{server.port}", f"127.0.0.1:{server.port}.evil.example"]
    )
    header = rng.choice(["Host", "Origin"])
    headers = {header: name if header == "Host" else f"http://{name}"}
    try:
        status, _ = server.ask("/api/run", **headers)
    except http.client.HTTPException as error:
        return repr(error)
    return None if status in (400, 403) else f"{header} {name!r} has status {status}"


def method(server: Started, rng: random.Random) -> str | None:
    word = rng.choice(
        ["POST", "PUT", "DELETE", "get", "CONNECT", "TRACE", "", "G T", "é", "X" * 999]
    )
    version = rng.choice(
        ["HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "HTTP/1." + "9" * 5000, "HTTP", "", "X"]
    )
    path = rng.choice(["/", "*", "http://[::1", "//", "/%", "http://evil.example/", "/..", "/\\"])
    return send(server, f"{word} {path} {version}\r\nHost: {server.host}\r\n\r\n".encode())


def body(server: Started, rng: random.Random) -> str | None:
    length = rng.choice(["0", "-1", "5", "9" * 30, "x", "1e3", "99999999", "²"])
    headers = rng.choice([f"Content-Length: {length}", "Transfer-Encoding: chunked"])
    content = request(server, "/", headers, "Connection: close")
    return send(server, content + rng.choice([b"", b"hello", b"ffffffff\r\n", b"0\r\n\r\n"]))


def noise(server: Started, rng: random.Random) -> str | None:
    starts = [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\0" * 50,
        b"\r\n" * 99,
    ]
    return send(server, rng.choice([*starts, *PIECES]) + rng.randbytes(rng.choice([0, 10, 5000])))


def unread(server: Started, rng: random.Random) -> str | None:
    """Many questions in one connection, whose answers nobody reads."""
    with server.connect() as connection:
        connection.settimeout(2.0)
        with contextlib.suppress(OSError):
            connection.sendall(
                request(server, rng.choice(["/", "/web/app.js", question(rng)])) * 200
            )
    return None


def crowd(server: Started, rng: random.Random) -> str | None:
    """More connections than the server takes; it does not spin, and answers when they have gone."""
    opened: list[socket.socket] = []
    try:
        for _ in range(rng.choice([50, 200])):
            with contextlib.suppress(OSError):
                opened.append(server.connect())
        before, _, _ = usage_of(server.pid)
        time.sleep(1.0)
        after, _, _ = usage_of(server.pid)
    finally:
        for connection in opened:
            connection.close()
    return f"computes for {after - before:.1f} s of one second" if after - before > 0.6 else None


def together(server: Started, rng: random.Random) -> str | None:
    """The same questions at once have the same answers."""
    text = quote(rng.choice(["a good film", "Anna met Bern", "bad"]))
    paths = [f"/api/trace?text={text}", f"/api/saliency?text={text}", "/api/run", "/web/app.js"]
    replies: list[tuple[str, int, bytes]] = []

    def ask(path: str) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            replies.append((path, *server.ask(path)))

    threads = [threading.Thread(target=ask, args=(path,)) for path in paths * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    different = {path for path in paths if len({r[1:] for r in replies if r[0] == path}) > 1}
    missing = "" if len(replies) == len(threads) else f"{len(threads) - len(replies)} unanswered"
    return f"different answers to {sorted(different)}" if different else missing or None
