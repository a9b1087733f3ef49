"""The page of `unspool look` as part of a server: its files, and the answers that it asks for.

GET / (the page), /web/FILE (its scripts and style), /api/NAME?PARAMETERS (an answer as JSON; to a
bad question {"error": one line}, status 400), or POST with the parameters as JSON where they are
long. Nothing is written, and nobody else may ask: not another machine, and not another site in the
same browser.
"""

from __future__ import annotations

import asyncio
import json
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import unspool.page
from unspool.errors import UserError
from unspool.io.assets import TYPES, Assets
from unspool.io.files import parse_json
from unspool.serve.connections import Connections
from unspool.serve.gate import SECURITY
from unspool.serve.problems import Problem

MOST = 64  # connections at once; browsers open six
HOST = "127.0.0.1"
KEPT = 16  # answers
LONGEST = 2_000_000  # bytes of the body of a question
CHANGING = {"training"}  # answers that are not kept
WAITING = 16  # questions that may wait for one another; browsers ask six
INSTANT_ANSWERS = {"run", "training", "positions"}  # that need no computing, and do not wait for it
WEB = Assets(Path(unspool.page.__file__).parent / "web")
Parameters = Mapping[str, str]


class Failure(Exception):
    """A question that has no answer: a status, and a line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status, self.line = status, line


class PageApp:
    """An ASGI application with the page.

    answer  (scope, name, parameters) -> the answer as JSON
    texts   whether questions of a name may have a body
    hosts   names of the server in Host and Origin; None: they were checked before
    """

    def __init__(
        self,
        answer: Callable[[Any, str, Parameters], Awaitable[bytes]],
        *,
        texts: Callable[[str], bool],
        hosts: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        self.answer, self.texts, self.hosts = answer, texts, hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        extra: list[tuple[bytes, bytes]] = []
        try:
            status, media, body = 200, *await self.reply(scope, receive)
        except Failure as failure:
            status, media = failure.status, TYPES["json"]
            body = json.dumps({"error": " ".join(failure.line.split())}).encode()
            extra = [(b"allow", b"GET, HEAD")] if status == 405 else []
        size = str(len(body)).encode()
        headers = [(b"content-type", media.encode()), (b"content-length", size), *extra, *SECURITY]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def reply(self, scope: Any, receive: Any) -> tuple[str, bytes]:
        """The type and content of a reply."""
        headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
        path = scope["path"][len(scope.get("root_path", "")) :]
        folder, _, name = path[1:].partition("/")
        if scope["method"] == "POST":
            if folder != "api" or not self.texts(name):
                raise Failure(405, "this page is only read")
        elif scope["method"] not in ("GET", "HEAD"):
            raise Failure(405, "this page is only read")
        self.check(headers, path)
        if path == "/":
            return TYPES["html"], WEB.read("index.html")
        if folder == "web" and name in WEB.names:
            return TYPES[name.rpartition(".")[2]], WEB.read(name)
        if folder != "api":
            raise Failure(404, "there is no such page")
        parameters = parameters_of(scope["query_string"])
        if scope["method"] == "POST":
            size = headers.get("content-length", "")
            if size.isdecimal() and int(size[:20]) > LONGEST:
                raise Failure(413, f"a question has at most {LONGEST:,} bytes")
            parameters |= asked_in(await whole(receive), headers.get("content-type", ""))
        return TYPES["json"], await self.answered(scope, name, parameters)

    def check(self, headers: Parameters, path: str) -> None:
        """Refuse other sites: one whose name was made to mean 127.0.0.1 has its own in Host."""
        names = list(self.hosts()) if self.hosts is not None else None
        if names is not None and headers.get("host") not in names:
            raise Failure(403, f"this page answers to {names[0]} alone")
        origin = headers.get("origin")
        known = names if names is not None else [headers.get("host", "")]
        if origin is not None and origin.partition("://")[2] not in known:
            raise Failure(403, "this page answers to itself alone")
        if names is not None and origin is not None and not origin.startswith("http://"):
            raise Failure(403, "this page answers to itself alone")
        site = headers.get("sec-fetch-site", "same-origin")
        if path != "/" and site not in ("same-origin", "none"):
            raise Failure(403, "this page answers to itself alone")

    async def answered(self, scope: Any, name: str, parameters: Parameters) -> bytes:
        try:
            return await self.answer(scope, name, parameters)
        except UserError as error:
            raise Failure(400, str(error)) from None
        except Problem as problem:
            raise Failure(
                400 if problem.status == 422 else problem.status, problem.detail
            ) from None
        except Failure:
            raise
        except Exception as error:
            traceback.print_exc()  # a fault of unspool's, not of who asked
            line = f"unspool failed: {type(error).__name__}: {error}"
            raise Failure(500, line) from None


async def whole(receive: Any) -> bytes:
    """The body of a question."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LONGEST:
            raise Failure(413, f"a question has at most {LONGEST:,} bytes")
    return body


def parameters_of(query: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="strict"))
    except (UnicodeDecodeError, ValueError):
        raise Failure(400, "the address is not valid text") from None


def asked_in(body: bytes, media: str) -> dict[str, str]:
    """The parameters in the body of a question."""
    try:
        query = parse_json(body)
    except ValueError:
        query = None
    if media != TYPES["json"] or not isinstance(query, dict):
        raise Failure(400, "a question is a JSON object")
    if not all(isinstance(value, str) for value in query.values()):
        raise Failure(400, "the parameters of a question are strings")
    return query


class PageServer:
    """The page of one subject on this machine; port 0 takes a free one."""

    def __init__(self, subject: Any, port: int = 0, *, most: int = MOST) -> None:
        from unspool.serve.server import listening

        self.subject = subject
        # One computation at a time, all in one thread: OpenMP keeps a team for each that asks.
        self.worker = ThreadPoolExecutor(1)
        self.waiting = 0
        self.kept = lru_cache(KEPT)(self.computed)
        self.connections = Connections(most)
        self.socket = listening(HOST, port)
        self.server_address: tuple[str, int] = self.socket.getsockname()
        self.ended = threading.Event()
        self.ended.set()
        self.server: Any = None
        self.stopping = False

    @property
    def server_port(self) -> int:
        return self.server_address[1]

    def address(self, **params: str | None) -> str:
        """The URL of the page, or of a view and a text in it."""
        shown = {name: value for name, value in params.items() if value is not None}
        fragment = "#" + urlencode(shown, quote_via=quote) if shown else ""
        return f"http://{HOST}:{self.server_port}/{fragment}"

    def hosts(self) -> list[str]:
        return [f"{host}:{self.server_port}" for host in (HOST, "localhost")]

    # Answers

    def answer(self, name: str, parameters: Parameters) -> bytes:
        """An answer as JSON."""
        return self.worker.submit(self.look_up, name, self.query(name, parameters)).result()

    def query(self, name: str, parameters: Parameters) -> tuple[tuple[str, str], ...]:
        from unspool.page.answers import query_of

        return tuple(query_of(name, parameters).items())

    def look_up(self, name: str, query: tuple[tuple[str, str], ...]) -> bytes:
        return (self.computed if name in CHANGING else self.kept)(name, query)

    def computed(self, name: str, query: tuple[tuple[str, str], ...]) -> bytes:
        from unspool.page import answers

        return answers.encoded(answers.answer(self.subject, name, dict(query)))

    async def answer_request(self, scope: Any, name: str, parameters: Parameters) -> bytes:
        """An answer in the one thread that computes, unless its client has gone before."""
        from unspool.page.answers import ANSWERS

        if name not in ANSWERS:
            raise Failure(404, "there is no such page")
        query = self.query(name, parameters)
        if name in INSTANT_ANSWERS:
            return self.look_up(name, query)
        if self.waiting >= WAITING:
            raise Failure(503, f"{WAITING} other questions are being answered. Ask again later")
        connection = scope["state"]["connection"]
        gone = threading.Event()
        connection.on_lost = gone.set

        def work() -> bytes:
            return b"" if gone.is_set() else self.look_up(name, query)

        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.worker, work)
        finally:
            self.waiting -= 1

    # Serving

    def serve_forever(self, _: float = 0.5) -> None:
        """Serve until `shutdown`, or Ctrl-C."""
        self.ended.clear()
        try:
            with asyncio.Runner() as runner:
                runner.run(self.serve())
        finally:
            self.ended.set()

    async def serve(self) -> None:
        from fastapi import FastAPI
        from starlette.routing import Mount

        from unspool.page.answers import DEFAULTS
        from unspool.serve.server import free_descriptors, server_of

        page = PageApp(
            self.answer_request,
            texts=lambda name: "text" in DEFAULTS.get(name, {}),
            hosts=self.hosts,
        )
        app = FastAPI(openapi_url=None)
        app.router.routes.append(Mount("/", page))
        self.server = server_of(app, self.connections, {"timeout_graceful_shutdown": 1})
        self.server.should_exit = self.stopping
        free_descriptors(self.connections)
        watch = asyncio.create_task(self.connections.watch())
        try:
            await self.server.serve(sockets=[self.socket])
        finally:
            watch.cancel()

    def shutdown(self) -> None:
        """End `serve_forever`, from another thread."""
        self.stopping = True
        if self.server is not None:
            self.server.should_exit = True
            self.ended.wait(10)

    def server_close(self) -> None:
        self.socket.close()
        self.worker.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> PageServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.server_close()
