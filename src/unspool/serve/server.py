"""The server: settings in; a socket, its application and the processes of models, until a signal.

SIGTERM and Ctrl-C drain: nothing new is accepted, what was accepted is answered. SIGHUP reloads.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.routing import Route

from unspool.errors import ConfigError, Option
from unspool.serve.app import Content, make_app, shown
from unspool.serve.connections import Connections, bounded_protocol
from unspool.serve.gate import RequestLog
from unspool.serve.process import Models, check_folder
from unspool.serve.settings import ServeSettings

# Of accept(2): there is no room for another connection, which waits and makes the socket ready.
FULL = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
FLUSH = 0.25  # seconds between the writes of a log


class DrainingServer(uvicorn.Server):
    """uvicorn's server; signals are the caller's."""

    def capture_signals(self) -> Any:
        from contextlib import nullcontext

        return nullcontext()

    @property
    def port(self) -> int:
        return int(self.config.port)


def server_of(app: Any, connections: Connections, settings: dict[str, Any]) -> DrainingServer:
    """A server of an application with bounded connections."""
    config = uvicorn.Config(
        app,
        http=bounded_protocol(connections),
        ws="websockets-sansio",
        ws_max_size=4_000_000,
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        **settings,
    )
    return DrainingServer(config)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens on a port; 0 takes a free one."""
    if not 0 <= port <= 65535:
        raise ConfigError(
            "a port is a number from 0 to 65535", got=port, remedy=("leave out ", Option("port"))
        )
    listener = None
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        if listener is not None:
            listener.close()
        taken = error.errno == errno.EADDRINUSE
        raise ConfigError(
            f"port {port} is in use" if taken else f"{host} port {port}: {error.strerror}",
            remedy=("choose another one with ", Option("port"), ", or leave it out"),
        ) from None
    return listener


def listening_unix(path: str) -> socket.socket:
    """A Unix socket that only this user can connect to; one that nobody listens on is replaced."""
    try:
        if os.path.exists(path) and not stat.S_ISSOCK(os.stat(path).st_mode):
            raise ConfigError("there is a file of this name", where=path, remedy="name another")
        with socket.socket(socket.AF_UNIX) as other, suppress(OSError):
            other.connect(path)
            raise ConfigError("another server listens here", where=path, remedy="name another")
        with suppress(FileNotFoundError):
            os.unlink(path)
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        listener.listen(2048)
    except OSError as error:
        raise ConfigError(f"cannot listen ({error.strerror})", where=path) from None
    return listener


def free_descriptors(connections: Connections) -> None:
    """Where no descriptors are left, end the connection that has waited longest."""

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in FULL:
            connections.end_longest()
        elif not isinstance(error, ConnectionError | TimeoutError):
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(handle)


class Serving:
    """A server that runs."""

    def __init__(
        self, settings: ServeSettings, log: RequestLog, note: Callable[[str], Any]
    ) -> None:
        self.settings, self.log, self.note = settings, log, note
        self.models = Models.of(settings)
        self.connections = Connections(settings.limits.connections)
        self.servers: list[DrainingServer] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        for _, folder in settings.models:
            check_folder(folder)
        self.socket = (
            listening(settings.host, settings.port)
            if settings.uds is None
            else listening_unix(settings.uds)
        )
        self.admin_socket: socket.socket | None = None
        try:
            if settings.admin_port is not None:
                self.admin_socket = listening("127.0.0.1", settings.admin_port)
        except ConfigError:
            self.close()
            raise

    @property
    def address(self) -> str:
        if self.settings.uds is not None:
            return f"unix:{self.settings.uds}"
        scheme = "https" if self.settings.certificate else "http"
        host, port = self.socket.getsockname()[:2]
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"

    async def run(self) -> None:
        """Serve until a signal."""
        try:
            await self.models.start()
        except BaseException:
            await self.models.stop()
            raise
        app = make_app(self.models, self.settings, self.log)
        limits = self.settings.limits
        options: dict[str, Any] = {"timeout_graceful_shutdown": int(limits.drain)}
        if self.settings.certificate is not None:
            options |= {
                "ssl_certfile": self.settings.certificate,
                "ssl_keyfile": self.settings.key,
            }
        main = server_of(app, self.connections, options)
        runs = [(main, self.socket)]
        if self.admin_socket is not None:
            admin = server_of(admin_app(self), Connections(16), {"timeout_graceful_shutdown": 5})
            runs.append((admin, self.admin_socket))
        self.servers = [server for server, _ in runs]
        free_descriptors(self.connections)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, lambda: self.start_task(self.reload()))
        for work in (self.connections.watch(), self.models.watch(), self.flush()):
            self.start_task(work)
        self.announce()
        try:
            await asyncio.gather(*(server.serve(sockets=[listener]) for server, listener in runs))
        finally:
            for task in self.tasks:
                task.cancel()
            await self.models.stop()
            self.log.flush()

    def close(self) -> None:
        self.socket.close()
        if self.admin_socket is not None:
            self.admin_socket.close()
        if self.settings.uds is not None:
            with suppress(OSError):
                os.unlink(self.settings.uds)

    def announce(self) -> None:
        """Note what is served, and where."""
        each = self.settings.threads_each()
        for model in self.models.values():
            card, several = model.card, self.settings.processes > 1
            self.note(
                f"{model.name}: {card['task']}, {card['model']}, {card['parameters']:,} parameters;"
                f" {self.settings.processes} process{'es' * several} of {each}"
                f" thread{'s' * (each > 1)}; self-check: {card['self_check']}"
            )
        self.note(f"serving on {self.address}")

    def start_task(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def stop(self) -> None:
        """Drain; a second signal does not wait."""
        for server in self.servers:
            server.force_exit = server.should_exit
            server.should_exit = True

    async def reload(self, name: str | None = None) -> dict[str, str]:
        results = await self.models.reload(name)
        for model, result in results.items():
            self.note(f"{model}: {result}")
        return results

    async def flush(self) -> None:
        while True:
            await asyncio.sleep(FLUSH)
            self.log.flush()


def admin_app(serving: Serving) -> Any:
    """Routes for this machine alone, on another port: POST /reload, or /reload/NAME."""
    app = FastAPI(openapi_url=None)

    async def reload(request: Request) -> Any:
        name = request.path_params.get("name")
        if name is not None and name not in serving.models:
            return Content(b'{"detail": "there is no such model"}', status=404)
        results = await serving.reload(name)
        response = shown(results)
        response.status_code = 200 if set(results.values()) == {"reloaded"} else 409
        return response

    from unspool.serve.gate import Figures, Gate

    for path in ("/reload", "/reload/{name}"):
        app.router.routes.append(Route(path, reload, methods=["POST"]))
    hosts = ("127.0.0.1", "localhost")
    return Gate(app, token=serving.settings.token, hosts=hosts, figures=Figures(), log=serving.log)


def serve(settings: ServeSettings, *, quiet: bool, note: Callable[[str], Any]) -> None:
    """Serve models until SIGTERM or Ctrl-C."""
    check_tls(settings)
    serving = Serving(settings, RequestLog(quiet=quiet), note)
    try:
        import uvloop  # faster, where it is installed

        loop_factory: Any = uvloop.new_event_loop
    except ImportError:
        loop_factory = asyncio.new_event_loop
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(serving.run())
    finally:
        serving.close()


def check_tls(settings: ServeSettings) -> None:
    """Refuse a certificate or key that cannot be used."""
    if settings.certificate is None:
        return
    import ssl

    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"cannot be used for TLS ({error})",
            where=Path(settings.certificate).name,
            remedy="give a certificate and its key in PEM",
        ) from None
