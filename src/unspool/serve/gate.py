"""The gate before all routes: request ids, who may ask, figures, and a log without texts.

`Gate` is an ASGI application around another one. Problems that are raised inside become replies.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from time import perf_counter, time
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from unspool.serve.problems import MEDIA, Problem, problem_content

ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
SECURITY = [
    (b"server", b"unspool"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; script-src 'self'; style-src 'self';"
     b" connect-src 'self'; img-src 'self' data: blob:; media-src data: blob:; base-uri 'none';"
     b" form-action 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]  # fmt: skip
PUBLIC = ("/", "/docs", "/healthz", "/readyz", "/v2/health/live", "/v2/health/ready")
PUBLIC_FOLDERS = ("/web/", "/look/web/")
LINES = 1000  # of a log that wait to be written


class Figures:
    """Counts and times of requests, for `/metrics`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        about: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter(
            "unspool_requests", "Requests by operation and status", ["operation", "status"], **about
        )
        self.seconds = Histogram(
            "unspool_request_seconds",
            "Seconds from the headers of a request to the end of its reply",
            ["operation"],
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
            **about,
        )
        self.waiting = Gauge(
            "unspool_waiting", "Requests that a model has not answered", ["model"], **about
        )
        self.ready = Gauge("unspool_ready", "Processes that are ready", ["model"], **about)
        self.restarts = Gauge(
            "unspool_restarts", "Processes that were started again", ["model"], **about
        )
        self.batches = Gauge("unspool_batches", "Batches since the start", ["model"], **about)
        self.items = Gauge("unspool_items", "Inputs computed since the start", ["model"], **about)
        self.tokens = Gauge("unspool_tokens_written", "Tokens written", ["model"], **about)
        self.streams = Gauge("unspool_streams", "Streams that are open", ["model"], **about)
        self.connections = Gauge("unspool_connections", "Open connections", **about)
        self._children: dict[tuple[str, int], tuple[Any, Any]] = {}

    def add(self, operation: str, status: int, seconds: float) -> None:
        children = self._children.get((operation, status))
        if children is None:
            children = (
                self.requests.labels(operation, str(status)),
                self.seconds.labels(operation),
            )
            self._children[operation, status] = children
        children[0].inc()
        children[1].observe(seconds)


class RequestLog:
    """Lines of JSON on standard error, some at a time."""

    def __init__(self, write: Callable[[str], Any] | None = None, *, quiet: bool = False) -> None:
        self.lines: list[str] = []
        self.write, self.quiet = write or sys.stderr.write, quiet

    def add(self, **values: Any) -> None:
        if self.quiet:
            return
        self.lines.append(json.dumps({"time": round(time(), 3), **values}))
        if len(self.lines) >= LINES:
            self.flush()

    def flush(self) -> None:
        if self.lines:
            text, self.lines = "\n".join(self.lines) + "\n", []
            try:
                self.write(text)
            except OSError:
                self.quiet = True  # nobody reads it any more


class Gate:
    """Lets requests through to an application, or refuses them.

    token   bearer token; None: anybody who can connect
    hosts   names in Host of requests without a token; empty: any. A site whose name was made to
            mean 127.0.0.1 has its own name there
    admit   raises a Problem where a request is refused whatever it has
    """

    def __init__(
        self,
        app: Any,
        *,
        token: str | None,
        hosts: Iterable[str],
        figures: Figures,
        log: RequestLog,
        admit: Callable[[Any], None] = lambda scope: None,
    ) -> None:
        self.app, self.figures, self.log, self.admit = app, figures, log, admit
        self.token = None if token is None else token.encode()
        self.hosts = frozenset(hosts)
        self.prefix, self.numbers = secrets.token_hex(4), count(1)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        state = scope.setdefault("state", {})
        sent_id = headers.get(b"x-request-id", b"")
        known = ID.fullmatch(sent_id) is not None
        id = sent_id.decode() if known else f"{self.prefix}-{next(self.numbers)}"
        state["id"], state["operation"] = id, "other"
        began, status, size = perf_counter(), 0, 0

        async def sending(message: Any) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                names = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(each for each in SECURITY if each[0] not in names),
                    (b"x-request-id", id.encode()),
                ]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        try:
            try:
                self.check(scope, headers)
                self.admit(scope)
                await self.app(scope, receive, sending)
            except Problem as problem:
                await refuse(scope, sending, problem)
                status = status or problem.status
        finally:
            seconds = perf_counter() - began
            self.figures.add(state["operation"], status, seconds)
            self.log.add(
                id=id,
                method=scope.get("method", "WEBSOCKET"),
                path=scope["path"][:200],
                status=status,
                ms=round(seconds * 1000, 2),
                bytes=size,
            )

    def check(self, scope: Any, headers: Mapping[bytes, bytes]) -> None:
        """Refuse who may not ask."""
        if self.token is not None:
            if is_public(scope["path"]):
                return
            scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(token, self.token):
                raise Problem(401, "give the token of this server: Authorization: Bearer TOKEN")
            return
        if not self.hosts:
            return
        host = headers.get(b"host", b"").decode("latin-1")
        if host_name(host) not in self.hosts:
            raise Problem(403, f"this server answers to {' and '.join(sorted(self.hosts))} alone")
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin.decode("latin-1")).netloc != host:
            raise Problem(403, "this server answers to its own pages alone")
        site = headers.get(b"sec-fetch-site", b"same-origin")
        if site not in (b"same-origin", b"none") and scope["path"] != "/":
            raise Problem(403, "this server answers to its own pages alone")


def host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_public(path: str) -> bool:
    """Whether a path has nothing of the models."""
    return path in PUBLIC or path.startswith(PUBLIC_FOLDERS)


async def refuse(scope: Any, send: Any, problem: Problem) -> None:
    """Reply with a problem."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": problem.detail[:100]})
        return
    content = problem_content(problem.status, problem.detail)
    headers = [
        (b"content-type", MEDIA.encode()),
        (b"content-length", str(len(content)).encode()),
    ]
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.status in (429, 503):
        headers.append((b"retry-after", str(problem.retry or 1).encode()))
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
