"""Servers of small runs, each in a process of its own, and clients that ask them."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

READY = re.compile(r"serving on (?:https?://127\.0\.0\.1:(\d+)/|unix:(.+))")


class Reply:
    """A whole reply."""

    def __init__(self, reply: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = reply.status, reply.headers, reply.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """`unspool serve ARGUMENTS` in a process."""

    def __init__(self, *arguments: object, env: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "unspool", "serve", "--port", "0", *map(str, arguments)]
        self.process = subprocess.Popen(
            command,
            stderr=(log := tempfile.TemporaryFile()),  # noqa: SIM115
            env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
        )
        self.log, self.port, self.arguments = log, 0, list(map(str, arguments))
        end = time.monotonic() + 90
        while not (found := READY.search(self.errors())):
            assert self.process.poll() is None, self.errors()
            assert time.monotonic() < end, self.errors()
            time.sleep(0.05)
        self.port = int(found[1] or 0)

    def errors(self) -> str:
        """All that it has written to standard error."""
        if self.log.closed:
            return ""
        return os.pread(self.log.fileno(), 1 << 24, 0).decode()

    def settle(self) -> None:
        """Wait until the log has what was asked."""
        time.sleep(0.6)

    def ask(
        self,
        path: str,
        body: Any = None,
        method: str | None = None,
        *,
        port: int = 0,
        **headers: str,
    ) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body, sent)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def children(self) -> list[int]:
        """Its processes."""
        files = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(child) for file in files for child in file.read_text().split()]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(60)
        finally:
            self.process.kill()
            self.log.close()
        return code


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., Served]]:
    """Start servers, which end with the tests."""
    started: list[Served] = []

    def start(*arguments: object, **more: Any) -> Served:
        started.append(Served(*arguments, **more))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def served(serve, classifier, writer, translator, tagger) -> Served:
    """One server of several tasks."""
    return serve(classifier, writer, translator, tagger, "--look", "--limit", "session_age=60")


@pytest.fixture(scope="session")
def listener(once, tmp_path_factory) -> Path:
    """A run folder of `transcribe`, which can be read step by step."""
    from tones import write_texts
    from unspool.api.train import train

    small = {"threads": 1, "hidden": 12, "layers": 1, "epochs": 2, "batch": 8, "bands": 12}
    data = write_texts(tmp_path_factory.mktemp("spoken") / "spoken", 24)
    settings = {**small, "task": "transcribe", "model": "gru", "scaling": "channel"}
    return once("runs/listener", lambda out: train(data, out=out, **settings))


@pytest.fixture
def copied(classifier, tmp_path) -> Path:
    """A run folder that a test may change."""
    import shutil

    return Path(shutil.copytree(classifier, tmp_path / "classifier"))
