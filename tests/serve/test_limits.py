"""Requests that are too large, too many, too slow or abandoned: each gets one answer at once, in
one line, and the server goes on."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATH = "/v1/models/classifier/predict"
BODY = {"items": ["a lovely film"]}


@pytest.fixture(scope="module")
def small(serve, classifier, writer):
    """A server with room for very little."""
    limits = [
        "body=20000", "items=4", "tokens=1000", "generated=50", "width=4", "queue=2", "wait=2",
        "deadline=4", "connections=40", "sessions=2", "session_age=1", "batch_items=4", "drain=2",
    ]  # fmt: skip
    return serve(classifier, writer, *(part for limit in limits for part in ("--limit", limit)))


def model_process(server, number: int = 0) -> int:
    """The process of a model, in the order of the command line."""
    models = [
        pid for pid in server.children()
        if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]  # fmt: skip
    return sorted(models)[number]


@contextmanager
def stopped(server) -> Iterator[None]:
    """The process of the first model computes nothing."""
    pid = process_of(server, "classifier")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def process_of(server, name: str) -> int:
    """The process of a model: the one that is busy while it is asked."""
    before = {pid: ticks(pid) for pid in (model_process(server, i) for i in range(2))}
    server.ask(f"/v1/models/{name}/predict", {"items": ["a film " * 20] * 4})
    end = time.monotonic() + 5
    while time.monotonic() < end:
        server.ask(f"/v1/models/{name}/predict", {"items": ["a film " * 20] * 4})
        busy = {pid: ticks(pid) - before[pid] for pid in before}
        if max(busy.values()) > min(busy.values()) + 2:
            return max(busy, key=lambda pid: busy[pid])
    raise AssertionError(busy)


def ticks(pid: int) -> int:
    values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(values[11]) + int(values[12])


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def waiting(server) -> int:
    figures = server.ask("/metrics").body.decode()
    line = next(
        x for x in figures.splitlines() if x.startswith('unspool_waiting{model="classifier"')
    )
    return int(float(line.split()[-1]))


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        (PATH, {"items": ["x" * 30_000]}, 413, "a request has at most 20,000 bytes"),
        (PATH, {"items": ["a"] * 5}, 422, "at most 4 items"),
        (PATH, {"items": []}, 422, "items: List should have at least 1 item"),
        (PATH, {"items": ["x" * 4100]}, 413, "a request has at most 1,000 tokens; this has 1,026"),
        (PATH, {"items": [5]}, 422, "item 1: not a text; got 5"),
        (PATH, {"items": ["a"], "more": 1}, 422, "more: Extra inputs are not permitted"),
        (PATH, {"items": ["a"], "options": {"beam": 2}}, 422, "options"),
        (PATH, [1], 422, "the request: Input should be a"),
        ("/v1/models/writer/predict", {"items": ["a"], "options": {"length": 51}}, 422,
         "options.length: Input should be less than or equal to 50"),
        ("/v1/models/writer/predict", {"items": ["a"], "options": {"temperature": -1}}, 422,
         "temperature"),
        ("/v1/completions", {"prompt": "a", "max_tokens": 51}, 422, "max_tokens is at most 50"),
        ("/v1/completions", {"prompt": "a", "n": 5}, 422, "a request has 1 to 4 texts; this has 5"),
        ("/v1/completions", {"prompt": "a" * 1001}, 413, "prompts have at most 1,000 characters"),
        ("/v1/completions", {"prompt": "a", "best_of": 3}, 422, "best_of: Extra inputs"),
        ("/v1/embeddings", {"model": "classifier", "input": ["a"] * 5}, 422, "give 1 to 4 inputs"),
        ("/v1/embeddings", {"model": "nobody", "input": "a"}, 404, "there is no model 'nobody'"),
        ("/v1/models/writer/sessions", {"push": "a" * 1001}, 413, "at most 1,000 steps"),
    ],
)  # fmt: skip
def test_requests_beyond_a_limit(small, path, body, status, detail) -> None:
    reply = small.ask(path, body)
    assert (reply.status, reply.headers["Content-Type"]) == (status, "application/problem+json")
    assert detail in reply.json["detail"]
    assert "\n" not in reply.json["detail"]


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (b"{", 400, "the request: Invalid JSON"),
        (b"[" * 19_000, 400, "Invalid JSON"),
        (b'{"items": ["\xff"]}', 400, "Invalid JSON"),
        (b'{"items": ["\\ud800"]}', 400, "Invalid JSON"),
        (b"", 422, "Input should be"),
        (b'{"items": [NaN]}', 422, "item 1"),
    ],
)
def test_bodies_that_cannot_be_read(small, body, status, detail) -> None:
    reply = small.ask(PATH, body)
    assert reply.status == status
    assert detail in reply.json["detail"]


def test_other_types_of_bodies(small) -> None:
    assert small.ask(PATH, b"{}", Content_Type="text/plain").status == 415
    assert small.ask(PATH, b"{}", Content_Type="audio/wav").status == 415
    assert small.ask(PATH, b"{}", Content_Encoding="gzip").status == 415
    assert small.ask(PATH, method="PUT").status == 405


def test_a_full_queue_refuses_at_once(small) -> None:
    """And those that have waited too long are told so, when the model goes on."""
    replies: list[object] = []
    ask = lambda: replies.append(small.ask(PATH, BODY).status)  # noqa: E731
    with stopped(small):
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        until(lambda: waiting(small) == 2)
        began = time.monotonic()
        refused = small.ask(PATH, BODY)
        assert time.monotonic() - began < 0.5
        assert refused.status == 429
        assert refused.headers["Retry-After"] == "1"
        assert refused.json["detail"] == "2 requests wait for the model already"
        assert small.ask("/v1/models/writer/predict", {"items": ["a"]}).status == 200
    for thread in threads:
        thread.join()
    assert replies == [200, 200]


def test_a_model_that_takes_too_long(small) -> None:
    with stopped(small):
        began = time.monotonic()
        reply = small.ask(PATH, BODY)
        assert (reply.status, reply.json["detail"]) == (
            504, "the model did not answer within 4 seconds",
        )  # fmt: skip
        assert 3.5 < time.monotonic() - began < 6
    assert small.ask(PATH, BODY).status == 200


def test_requests_that_have_waited_too_long(serve, classifier) -> None:
    server = serve(classifier, "--limit", "wait=1", "--limit", "deadline=30")
    pid = model_process(server)
    os.kill(pid, signal.SIGSTOP)
    replies: list[object] = []
    thread = threading.Thread(target=lambda: replies.append(server.ask(PATH, BODY)))
    thread.start()
    until(lambda: waiting(server) == 1)
    with socket.create_connection(("127.0.0.1", server.port)) as leaving:
        leaving.sendall(request(server, BODY))
        until(lambda: waiting(server) == 2)
        reset(leaving)
    until(lambda: waiting(server) == 1)  # who leaves gives up the place
    os.kill(pid, signal.SIGCONT)
    thread.join()
    assert replies[0].status in (200, 503)  # by when the model has read it
    os.kill(pid, signal.SIGKILL)
    until(lambda: server.ask("/readyz").status == 503)
    refused = server.ask(PATH, BODY)
    assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
    assert server.ask("/healthz").status == 200
    until(lambda: server.ask("/readyz").status == 200, 60)
    assert server.ask(PATH, BODY).status == 200
    assert 'unspool_restarts{model="classifier"} 1.0' in server.ask("/metrics").body.decode()
    assert server.stop() == 0


def request(server, body: object) -> bytes:
    content = json.dumps(body).encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json"
    )
    return f"{head}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_a_stream_that_nobody_reads_ends(small) -> None:
    """A client that leaves while a text is written frees its place in the batch."""
    for _ in range(6):
        with socket.create_connection(("127.0.0.1", small.port)) as leaving:
            body = json.dumps({"prompt": "a", "max_tokens": 50, "n": 4, "stream": True}).encode()
            head = f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{small.port}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            leaving.sendall(head.encode() + body)
            reset(leaving)
    assert small.ask("/v1/completions", {"prompt": "a", "max_tokens": 5}).status == 200


def test_sessions_are_few_and_expire(small) -> None:
    path = "/v1/models/writer/sessions"
    names = [small.ask(path, {"push": "the"}).json["session"] for _ in range(2)]
    refused = small.ask(path, {"push": "the"})
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    time.sleep(1.2)
    assert small.ask(f"{path}/{names[0]}", {"push": " film"}).status == 404
    assert small.ask(path, {"push": "the", "finish": True}).status == 200


def test_more_connections_than_there_may_be(small) -> None:
    """Idle ones make room."""
    idle = [socket.create_connection(("127.0.0.1", small.port)) for _ in range(60)]
    assert small.ask(PATH, BODY).status == 200
    for connection in idle:
        connection.close()


def test_many_requests_at_once_get_one_answer_each(small) -> None:
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(small.ask(PATH, BODY).status))
        for _ in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(statuses) == 24
    assert set(statuses) <= {200, 429}
    assert 200 in statuses
