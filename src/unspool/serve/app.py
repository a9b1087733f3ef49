"""The application: routes that hand requests to models, made from the descriptions of these.

In: `Models` that are started. Out: an ASGI application.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

import unspool.page
from unspool import __version__
from unspool.io.assets import TYPES, Assets
from unspool.serve import frames
from unspool.serve.bodies import body_of, items_body, json_body, lines_of
from unspool.serve.frames import Reply
from unspool.serve.gate import Figures, Gate, RequestLog, refuse
from unspool.serve.openapi import openapi_of
from unspool.serve.problems import MEDIA, Problem
from unspool.serve.process import ModelHandle, Models, PendingRequest
from unspool.serve.settings import ServeSettings

JSON = "application/json"
PAGE = Assets(Path(__file__).parent / "web")
LOOK = Assets(Path(unspool.page.__file__).parent / "web")
SHARED = ("dom.js", "style.css")  # files of the page of look that this one uses, too
MODELS = "/v1/models/"
MESSAGE = 4_000_000  # bytes of a message of a WebSocket


class Content(Response):
    """A reply whose content is made already."""

    def __init__(self, content: bytes, media: str = JSON, status: int = 200) -> None:
        super().__init__(content, status, media_type=media)

    def render(self, content: Any) -> bytes:
        return bytes(content)


class PartsReply(Response):
    """A reply that grows: parts of a job as they come, several in one piece where they queue."""

    def __init__(
        self, parts: asyncio.Queue[bytes | Reply], job: PendingRequest, media: str
    ) -> None:
        super().__init__(None, 200, media_type=media)
        del self.headers["content-length"]
        self.parts, self.job = parts, job

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        first = await self.parts.get()
        if isinstance(first, Reply) and first.status != 200:
            await refuse(scope, send, problem_of(first))
            return
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        part: bytes | Reply = first
        while True:
            pieces = [part]
            while not isinstance(part, Reply) and not self.parts.empty():
                part = self.parts.get_nowait()
                pieces.append(part)
            body = b"".join(p if isinstance(p, bytes) else ending(p) for p in pieces)
            last = isinstance(pieces[-1], Reply)
            await send({"type": "http.response.body", "body": body, "more_body": not last})
            if last:
                return
            part = await self.parts.get()


def ending(reply: Reply) -> bytes:
    """The last part of a reply that grows; of one that failed an event with the problem."""
    if reply.status == 200:
        return reply.content
    return b"data: " + reply.content + b"\n\n"


def problem_of(reply: Reply) -> Problem:
    """The problem that a model has replied with."""
    try:
        detail = json.loads(reply.content)["detail"]
    except (ValueError, KeyError, TypeError):
        detail = "the request was not answered"
    return Problem(reply.status, detail)


class Service:
    """The handlers of all routes."""

    def __init__(self, models: Models, settings: ServeSettings) -> None:
        self.models, self.settings, self.limits = models, settings, settings.limits
        self.figures, self.sockets = Figures(), 0

    def model(self, request: Request) -> ModelHandle:
        return self.models.get_ready(request.path_params["name"])

    def able(self, model: ModelHandle, ability: str) -> ModelHandle:
        """The model, if it has an ability."""
        reason = model.card.get("abilities", {}).get(ability)
        if reason is not None:
            raise Problem(404, f"the model {model.name} cannot do this: {reason}")
        return model

    async def answer(
        self, request: Request, model: ModelHandle, operation: int, body: bytes, argument: str = ""
    ) -> Response:
        """The reply of a model; a client that leaves gives up its place."""
        job = model.submit(operation, body, argument=argument)
        connection = request.scope["state"].get("connection")
        if connection is not None:
            connection.on_lost = job.leave
        try:
            reply = await job.done
        except asyncio.CancelledError:
            job.leave()
            raise
        if reply.status != 200:
            raise problem_of(reply)
        return Content(reply.content)

    # Predictions

    def admit(self, scope: Any) -> None:
        """Refuse a prediction of a model that is full before its request is routed and read."""
        path = scope["path"]
        if path.endswith("/predict") and (model := self.models.get(path[len(MODELS) : -8])):
            scope["state"]["operation"] = "predict"
            model.refuse_if_full()

    async def predict(self, request: Request) -> Response:
        request.scope["state"]["operation"] = "predict"
        model = self.able(self.model(request), "predict")
        body = await items_body(request, self.limits.body, model.card.get("item", {}))
        return await self.answer(request, model, frames.PREDICT, body)

    async def explain(self, request: Request) -> Response:
        request.scope["state"]["operation"] = "explain"
        model = self.able(self.model(request), "explain")
        body = await json_body(request, self.limits.body)
        return await self.answer(request, model, frames.EXPLAIN, body)

    async def named_model(self, request: Request, ability: str) -> tuple[ModelHandle, bytes]:
        """The model that OpenAI's requests name in their body; the only one that is able, if they
        name none."""
        body = await json_body(request, self.limits.body)
        try:
            value = json.loads(body)
            name = value.get("model") if isinstance(value, dict) else None
        except (ValueError, RecursionError):
            raise Problem(400, "the request is not JSON") from None
        if isinstance(name, str):
            return self.able(self.models.get_ready(name), ability), body
        able = [m for m in self.models.values() if m.card.get("abilities", {}).get(ability) is None]
        if len(able) != 1:
            raise Problem(422, "name a model of /v1/models in `model`")
        return able[0], body

    async def embeddings(self, request: Request) -> Response:
        request.scope["state"]["operation"] = "embeddings"
        model, body = await self.named_model(request, "embeddings")
        return await self.answer(request, model, frames.EMBED, body)

    async def completions(self, request: Request) -> Response:
        request.scope["state"]["operation"] = "completions"
        model, body = await self.named_model(request, "completions")
        if json.loads(body).get("stream") is not True:
            return await self.answer(request, model, frames.COMPLETE, body)
        parts: asyncio.Queue[bytes | Reply] = asyncio.Queue()
        job = model.submit(frames.COMPLETE, body, on_part=parts.put_nowait)
        job.done.add_done_callback(lambda done: parts.put_nowait(done.result()))
        connection = request.scope["state"].get("connection")
        if connection is not None:
            connection.on_lost = job.leave
        return PartsReply(parts, job, "text/event-stream")

    # Streams

    async def session(self, request: Request) -> Response:
        request.scope["state"]["operation"] = "session"
        model = self.able(self.model(request), "stream")
        session = request.path_params.get("session", "")
        if request.method == "DELETE":
            return await self.answer(request, model, frames.CLOSE, b"", session)
        body = await json_body(request, self.limits.body)
        return await self.answer(request, model, frames.STREAM, body, session)

    async def stream(self, request: Request) -> Response:
        """LinesReply of JSON, a chunk each, to lines of JSON."""
        request.scope["state"]["operation"] = "stream"
        model = self.able(self.model(request), "stream")
        connection = request.scope["state"].get("connection")
        if connection is not None:
            connection.hold()
        return LinesReply(self, model, request)

    async def push(self, model: ModelHandle, session: str, chunk: bytes) -> tuple[str, Reply]:
        """Continue a stream; its name, or "" where it has ended, and the reply."""
        job = model.submit(frames.STREAM, chunk, argument=session)
        reply = await job.done
        if reply.status != 200:
            return session, reply
        return json.loads(reply.content)["session"] or "", reply

    async def close(self, model: ModelHandle, session: str) -> None:
        if session:
            with suppress(Problem):
                await model.submit(frames.CLOSE, b"", argument=session).done

    async def websocket(self, websocket: WebSocket) -> None:
        """A chunk a message, an answer each."""
        websocket.scope["state"]["operation"] = "websocket"
        if self.sockets >= self.limits.sessions:
            raise Problem(429, f"{self.sockets:,} streams are open already")
        model = self.able(self.models.get_ready(websocket.path_params["name"]), "stream")
        await websocket.accept()
        self.sockets, session = self.sockets + 1, ""
        try:
            while True:
                message = await asyncio.wait_for(
                    websocket.receive(), timeout=self.limits.session_age
                )
                if message["type"] == "websocket.disconnect":
                    return
                chunk = message.get("bytes") or (message.get("text") or "").encode()
                try:
                    session, reply = await self.push(model, session, chunk)
                    content = reply.content
                except Problem as problem:
                    content = problem.content()
                await websocket.send_text(content.decode())
        except (WebSocketDisconnect, RuntimeError, TimeoutError):
            return
        finally:
            self.sockets -= 1
            await self.close(model, session)

    # Open Inference Protocol

    async def infer(self, request: Request) -> Response:
        request.scope["state"]["operation"] = "infer"
        model = self.able(self.model(request), "predict")
        if "inference-header-content-length" in request.headers:
            raise Problem(415, "tensors are JSON here: binary_data=False")
        named = "content-type" in request.headers  # Triton's client names none
        body = await (json_body if named else body_of)(request, self.limits.body)
        return await self.answer(request, model, frames.INFER, body)

    async def v2(self, request: Request) -> Response:
        return shown({"name": "unspool", "version": __version__, "extensions": []})

    async def v2_model(self, request: Request) -> Response:
        model = self.model(request)
        texts = model.card.get("item", {}).get("type") == "string"
        kind, shape = ("BYTES", [-1]) if texts else ("FP32", [-1, -1, -1])
        return shown(
            {
                "name": model.name,
                "versions": ["1"],
                "platform": "unspool",
                "inputs": [{"name": model.card["input"], "datatype": kind, "shape": shape}],
                "outputs": [{"name": "answer", "datatype": "BYTES", "shape": [-1]}],
            }
        )

    async def v2_ready(self, request: Request) -> Response:
        model = self.model(request)
        if not model.ready:
            raise Problem(503, str(model.problem))
        return shown({"name": model.name, "ready": True})

    # About the server

    async def list_models(self, request: Request) -> Response:
        return shown({"object": "list", "data": [self.card(m) for m in self.models.values()]})

    async def one_model(self, request: Request) -> Response:
        return shown(self.card(self.model(request)))

    def card(self, model: ModelHandle) -> dict[str, Any]:
        """The card of a model, as OpenAI's clients read it, too."""
        return {
            "id": model.name,
            "object": "model",
            "created": 0,
            "owned_by": "unspool",
            "ready": model.ready,
            "processes": len(model.processes),
            "look": f"/look/{model.name}/" if self.settings.look else None,
            **model.card,
        }

    async def healthz(self, request: Request) -> Response:
        return shown({"alive": True})

    async def readyz(self, request: Request) -> Response:
        late = {m.name: str(m.problem) for m in self.models.values() if not m.ready}
        if late:
            raise Problem(503, "; ".join(f"{name}: {why}" for name, why in late.items()))
        return shown({"ready": True})

    async def metrics(self, request: Request) -> Response:
        figures = self.figures
        for name, model in self.models.items():
            parts = [process.figures for process in model.processes]
            figures.waiting.labels(name).set(model.waiting)
            figures.ready.labels(name).set(sum(not p.ended for p in model.processes))
            figures.restarts.labels(name).set(model.restarts)
            for gauge, values in zip(
                (figures.batches, figures.items, figures.tokens, figures.streams), zip(*parts)
            ):
                gauge.labels(name).set(sum(values))
        return Content(generate_latest(figures.registry), "text/plain; version=0.0.4")

    async def openapi(self, request: Request) -> Response:
        return shown(openapi_of(self.models, self.limits, token=self.settings.token is not None))

    async def page(self, request: Request) -> Response:
        return Content(PAGE.read("index.html"), TYPES["html"])

    async def docs(self, request: Request) -> Response:
        return Content(PAGE.read("docs.html"), TYPES["html"])

    async def asset(self, request: Request) -> Response:
        name = request.path_params["file"]
        assets = LOOK if name in SHARED else PAGE
        if name not in assets.names:
            raise Problem(404, "there is no such page")
        return Content(assets.read(name), TYPES[name.rpartition(".")[2]])


class LinesReply(Response):
    """The answers to the lines of a request, a line each, while they come."""

    def __init__(self, service: Service, model: ModelHandle, request: Request) -> None:
        super().__init__(None, 200, media_type="application/x-ndjson")
        del self.headers["content-length"]
        self.service, self.model, self.request = service, model, request

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        session, begun, last = "", False, b""
        try:
            async for line in lines_of(self.request):
                session, reply = await self.service.push(self.model, session, line)
                if reply.status != 200 and not begun:
                    raise problem_of(reply)
                if not begun:
                    await self.begin(send)
                    begun = True
                await self.part(send, reply.content)
                if reply.status != 200:
                    return
            if not begun:
                raise Problem(422, "a stream has at least one line")
            if session:
                session, reply = await self.service.push(self.model, session, b'{"finish": true}')
                last = reply.content + b"\n"
        except Problem as problem:
            if not begun:
                raise
            last = problem.content() + b"\n"
        except ClientDisconnect:
            return
        finally:
            await self.service.close(self.model, session)
            if begun:
                await send({"type": "http.response.body", "body": last})

    async def begin(self, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

    async def part(self, send: Any, content: bytes) -> None:
        await send({"type": "http.response.body", "body": content + b"\n", "more_body": True})


def shown(value: Any) -> Response:
    return Content(json.dumps(value).encode())


def make_app(models: Models, settings: ServeSettings, log: RequestLog) -> Gate:
    """The whole application behind its gate."""
    service = Service(models, settings)
    app = FastAPI(title="unspool", version=__version__, openapi_url=None)
    model = f"{MODELS}{{name}}"
    routes: list[tuple[str, str, Any]] = [  # the busiest first
        ("POST", f"{model}/predict", service.predict),
        ("POST", "/v1/completions", service.completions),
        ("POST", "/v1/embeddings", service.embeddings),
        ("POST", "/v2/models/{name}/infer", service.infer),
        ("GET", "/", service.page),
        ("GET", "/docs", service.docs),
        ("GET", "/web/{file:path}", service.asset),
        ("GET", "/openapi.json", service.openapi),
        ("GET", "/healthz", service.healthz),
        ("GET", "/readyz", service.readyz),
        ("GET", "/metrics", service.metrics),
        ("GET", "/v1/models", service.list_models),
        ("GET", model, service.one_model),
        ("POST", f"{model}/explain", service.explain),
        ("POST", f"{model}/stream", service.stream),
        ("POST", f"{model}/sessions", service.session),
        ("POST", f"{model}/sessions/{{session}}", service.session),
        ("DELETE", f"{model}/sessions/{{session}}", service.session),
        ("GET", "/v2", service.v2),
        ("GET", "/v2/health/live", service.healthz),
        ("GET", "/v2/health/ready", service.readyz),
        ("GET", "/v2/models/{name}", service.v2_model),
        ("GET", "/v2/models/{name}/ready", service.v2_ready),
    ]
    for method, path, handler in routes:
        app.router.routes.append(Route(path, handler, methods=[method]))
    app.router.routes.append(WebSocketRoute(f"{model}/stream", service.websocket))
    if settings.look:
        from unspool.serve.look_routes import look_mount

        app.router.routes.append(look_mount(models))
    app.add_exception_handler(HTTPException, as_problem)
    app.add_exception_handler(Problem, as_reply)
    app.add_exception_handler(Exception, as_fault)
    hosts = () if settings.token is not None or settings.uds or not settings.loopback else (
        "127.0.0.1", "localhost", "::1",
    )  # fmt: skip
    return Gate(
        app,
        token=settings.token,
        hosts=hosts,
        figures=service.figures,
        log=log,
        admit=service.admit,
    )


async def as_reply(request: Any, error: Any) -> Any:
    """Reply with a problem."""
    if isinstance(request, WebSocket):
        await refuse(request.scope, request.send, error)
        return None
    response = Content(error.content(), MEDIA, error.status)
    if error.status in (429, 503):
        response.headers["retry-after"] = str(error.retry or 1)
    return response


async def as_fault(request: Request, error: Exception) -> Response:
    """Reply to a fault of unspool's."""
    problem = Problem(500, f"unspool failed: {type(error).__name__}")
    return Content(problem.content(), MEDIA, 500)


async def as_problem(request: Request, error: Any) -> Response:
    """Replies of the framework, such as to paths that are none."""
    details = {404: "there is no such page", 405: "this is not done with this method"}
    problem = Problem(error.status_code, details.get(error.status_code, str(error.detail)))
    response = Content(problem.content(), MEDIA, problem.status)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


__all__ = ["Content", "Service", "make_app"]
