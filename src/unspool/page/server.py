"""The page on this machine: a small web server on the loopback address.

In: a `Subject`. Out: GET / (the page), /web/FILE (its scripts and style), /api/NAME?PARAMETERS (an
answer as JSON; of a bad question {"error": one line}, status 400), or POST with the parameters as
JSON where they are long. Nothing is written, and nobody
else may ask: not another machine, and not another site in the same browser.
"""

from __future__ import annotations

import errno
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock, local
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from unspool.errors import ConfigError, Option, UserError
from unspool.io.files import parse_json
from unspool.page.answers import ANSWERS, DEFAULTS, answer, encoded, query_of
from unspool.page.saved import TYPES, asset, assets
from unspool.page.subject import Subject

MOST = 64  # at once; browsers open six
READING = 10.0  # seconds for a whole request; a connection kept for the next one may wait as long
WRITING = 60.0  # seconds for a whole reply


class Connections:
    """Open sockets, the longest-waiting first, with the moment at which each is late; None while
    its reply is being computed."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._late: dict[socket.socket, float | None] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._late)

    def add(self, connection: socket.socket) -> bool:
        """Return whether there is room for one more, if need be by closing the connection idle for
        longest; there is none while all of them are being answered."""
        if len(self) >= self.most and not self.end_longest():
            return False
        self.expect(connection, READING)
        return True

    def expect(self, connection: socket.socket, seconds: float | None) -> None:
        """The client has so many seconds from now on; None: it is our turn."""
        with self._lock:
            self._late.pop(connection, None)
            self._late[connection] = None if seconds is None else time.monotonic() + seconds

    def remove(self, connection: socket.socket) -> None:
        with self._lock:
            self._late.pop(connection, None)

    def end_late(self) -> None:
        now = time.monotonic()
        with self._lock:
            late = [c for c, end in self._late.items() if end is not None and end < now]
            for connection in late:
                self._end(connection)

    def end_longest(self) -> bool:
        """Return whether one waited for its client and was ended."""
        with self._lock:
            connection = next((c for c, end in self._late.items() if end is not None), None)
            if connection is not None:
                self._end(connection)
            return connection is not None

    def _end(self, connection: socket.socket) -> None:
        del self._late[connection]
        with suppress(OSError):  # the client was quicker
            connection.shutdown(socket.SHUT_RDWR)


HOST = "127.0.0.1"
KEPT = 16  # answers
LONGEST = 2_000_000  # bytes of the body of a question
CHANGING = {"training"}  # answers that are not kept
WAITING = 16  # questions that may wait for one another; browsers ask six
INSTANT_ANSWERS = {"run", "training", "positions"}  # that need no computing, and do not wait for it
# Of accept(2): there is no room for another connection, which waits and makes the socket ready.
FULL = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
BACK_OFF = 0.2  # seconds
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; img-src 'self' data:; media-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Asking(local):
    """The connection that each thread answers."""

    connection: socket.socket | None = None


class Busy(Exception):
    """Too many questions wait already."""


class Reply(NamedTuple):
    status: int
    type: str
    body: bytes


class PageServer(ThreadingHTTPServer):
    """Answers requests; port 0 takes a free one."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # connections that wait to be accepted

    def __init__(self, subject: Subject, port: int = 0) -> None:
        self.subject = subject
        # One computation at a time, all in one thread: OpenMP keeps a team for each that asks.
        self.worker = ThreadPoolExecutor(1)
        self.waiting = BoundedSemaphore(WAITING)
        self.asking = Asking()
        self.kept = lru_cache(KEPT)(self.computed)
        self.connections = Connections()
        try:
            super().__init__((HOST, port), Handler)
        except OverflowError:
            raise ConfigError(
                "a port is a number from 0 to 65535",
                got=port,
                remedy=("leave out ", Option("port")),
            ) from None
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            raise ConfigError(
                f"port {port} is in use" if taken else f"port {port}: {error.strerror}",
                remedy=("choose another one with ", Option("port"), ", or leave it out"),
            ) from None

    def address(self, **params: str | None) -> str:
        """The URL of the page, or of a view and a text in it."""
        shown = {name: value for name, value in params.items() if value is not None}
        fragment = "#" + urlencode(shown, quote_via=quote) if shown else ""
        return f"http://{HOST}:{self.server_port}/{fragment}"

    def answer(self, name: str, parameters: Mapping[str, str]) -> bytes:
        """An answer as JSON."""
        query = query_of(name, parameters)
        return (self.computed if name in CHANGING else self.kept)(name, tuple(query.items()))

    def computed(self, name: str, query: tuple[tuple[str, str], ...]) -> bytes:
        connection = self.asking.connection

        def work() -> bytes:
            if connection is not None and is_reset(connection):
                raise ConnectionAbortedError  # the client no longer waits
            return encoded(answer(self.subject, name, dict(query)))

        if name in INSTANT_ANSWERS:
            return work()
        if not self.waiting.acquire(blocking=False):
            raise Busy
        try:
            return self.worker.submit(work).result()
        finally:
            self.waiting.release()

    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in FULL:
                self.connections.end_longest()
                time.sleep(BACK_OFF)
            raise

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether there is room; a refusal gets no answer, as that would take room too."""
        return self.connections.add(request)

    def service_actions(self) -> None:
        self.connections.end_late()

    def shutdown_request(self, request: Any) -> None:
        self.connections.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is nobody's fault; all else is one of unspool's."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        self.worker.shutdown(wait=False, cancel_futures=True)


class Handler(BaseHTTPRequestHandler):
    """One request. Host and Origin say whether it comes from the page itself: a site whose name was
    made to mean 127.0.0.1 has its own name in Host."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # with it a body waits 40 ms for the receipt of its headers

    def handle_one_request(self) -> None:
        self.server.connections.expect(self.connection, READING)
        super().handle_one_request()

    def do_GET(self) -> None:
        self.server.connections.expect(self.connection, None)
        self.send(self.reply())

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """A question that is too long for an address: its parameters are an object of strings."""
        size = self.headers.get("Content-Length", "")
        plain = size.isascii() and size.isdecimal() and len(size) < 10
        folder, _, name = self.path[1:].partition("/")
        if folder != "api" or "text" not in DEFAULTS.get(name, {}):
            self.send_error(501)
        elif not plain or int(size) > LONGEST:
            self.close_connection = True
            self.send(failure(413, f"a question has at most {LONGEST:,} bytes"))
        else:
            body = self.rfile.read(int(size))
            self.server.connections.expect(self.connection, None)
            self.send(self.reply(body))

    def reply(self, body: bytes | None = None) -> Reply:
        names = [f"{host}:{self.server.server_port}" for host in (HOST, "localhost")]
        origin = self.headers.get("Origin")
        if self.headers.get("Host") not in names:
            return failure(403, f"this page answers to {names[0]} alone")
        if origin is not None and origin not in [f"http://{name}" for name in names]:
            return failure(403, "this page answers to itself alone")
        try:
            address = urlsplit(self.path)
        except ValueError:  # http://[::1
            return failure(400, "the address cannot be read")
        if address.path == "/":
            return Reply(200, TYPES["html"], asset("index.html"))
        if self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            return failure(403, "this page answers to itself alone")
        folder, _, name = address.path[1:].partition("/")
        if folder == "web" and name in assets():
            return Reply(200, TYPES[name.rpartition(".")[2]], asset(name))
        if folder == "api" and name in ANSWERS:
            return self.answered(name, address.query, body)
        return failure(404, "there is no such page")

    def answered(self, name: str, query: str, body: bytes | None) -> Reply:
        self.server.asking.connection = self.connection
        try:
            parameters = dict(parse_qsl(query, keep_blank_values=True, errors="strict"))
            if body is not None:
                parameters |= asked_in(body, self.headers.get("Content-Type", ""))
            return Reply(200, TYPES["json"], self.server.answer(name, parameters))
        except UserError as error:
            return failure(400, str(error))
        except UnicodeDecodeError:
            return failure(400, "the address is not valid text")
        except Busy:
            return failure(503, f"{WAITING} other questions are being answered. Ask again later")
        except ConnectionError:
            raise
        except Exception as error:
            traceback.print_exc()  # a fault of unspool's, not of who asked
            return failure(500, f"unspool failed: {type(error).__name__}: {error}")

    def send(self, reply: Reply) -> None:
        self.server.connections.expect(self.connection, WRITING)
        try:
            self.send_response(reply.status)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Type", reply.type)
            self.send_header("Content-Length", str(len(reply.body)))
            if reply.status == 405:
                self.send_header("Allow", "GET, HEAD")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)
        except ConnectionError:
            self.close_connection = True  # the page no longer waits

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Reply to what the library refuses: other methods, addresses that are too long."""
        self.close_connection = True
        if code == 501:
            self.send(failure(405, "this page is only read"))
        else:
            self.send(failure(code, message or "a request that cannot be read"))

    def version_string(self) -> str:
        return "unspool"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for the address."""


def is_reset(connection: socket.socket) -> bool:
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def asked_in(body: bytes, type: str) -> dict[str, str]:
    """The parameters in the body of a question."""
    try:
        query = parse_json(body)
    except ValueError:
        query = None
    if type != TYPES["json"] or not isinstance(query, dict):
        raise ConfigError("a question is a JSON object")
    if not all(isinstance(value, str) for value in query.values()):
        raise ConfigError("the parameters of a question are strings")
    return query


def failure(status: int, line: str) -> Reply:
    return Reply(status, TYPES["json"], encoded({"error": " ".join(line.split())}))
