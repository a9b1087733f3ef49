"""Ends, reloads and crashes under load: no accepted request is lost, no answer is mixed."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

BODY = {"items": ["a lovely film"]}
PATH = "/v1/models/classifier/predict"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def asking(server, path: str, *, clients: int = 4) -> Iterator[Counter]:
    """Clients that ask all the time; counts of status and answer."""
    counts: Counter = Counter()
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            try:
                reply = server.ask(path, BODY)
            except (OSError, http.client.HTTPException) as error:
                counts[type(error).__name__] += 1
                continue
            answer = reply.json["answers"][0] if reply.status == 200 else {}
            counts[reply.status, answer.get("label") or str(answer.get("tags"))] += 1

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield counts
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def replace(folder, content) -> None:
    for file in folder.iterdir():
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    shutil.copytree(content, folder, dirs_exist_ok=True)


def until(true, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_reloads_under_load(serve, copied, classifier, tagger) -> None:
    """By SIGHUP and on the port of the administrator; a broken folder changes nothing."""
    admin = free_port()
    server = serve(copied, "--admin-port", admin)
    weights = copied / "model.safetensors"
    with asking(server, PATH) as counts:
        until(lambda: counts[200, "pos"] > 3)
        weights.write_bytes(weights.read_bytes()[:5000])
        reply = server.ask("/reload", b"", port=admin)
        assert reply.status == 409
        assert reply.json["classifier"].startswith("kept the old one: ")
        assert "model.safetensors" in reply.json["classifier"]
        server.process.send_signal(signal.SIGHUP)
        until(lambda: server.errors().count("kept the old one") == 2)
        replace(copied, tagger)
        assert server.ask("/reload/classifier", b"", port=admin).json == {"classifier": "reloaded"}
        assert server.ask("/v1/models/classifier").json["task"] == "tag"
        assert server.ask("/reload/nobody", b"", port=admin).status == 404
        assert server.ask("/reload", port=admin).status == 405
        before = sum(counts.values())
        until(lambda: sum(counts.values()) > before + 5)
    assert {status for status, _ in counts} == {200}
    assert len(counts) == 2  # the answer of the one, and then that of the other
    server.settle()
    assert server.stop() == 0


def test_a_port_of_an_administrator_is_no_port_of_models(serve, classifier) -> None:
    admin = free_port()
    server = serve(classifier, "--admin-port", admin)
    assert server.ask(PATH, BODY, port=admin).status == 404
    assert server.ask("/reload", b"").status == 404
    assert server.ask("/reload", b"", port=admin, Host="evil.example").status == 403
    assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_was_accepted_is_answered_at_the_end(serve, writer, number) -> None:
    server = serve(writer, "--quiet")
    body = {"prompt": "the", "max_tokens": 3000, "stream": True, "seed": 1}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(
        "POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"}
    )
    reply = connection.getresponse()
    first = reply.readline()
    assert first.startswith(b"data: {")
    server.process.send_signal(number)
    rest = reply.read()
    reply.close()
    connection.close()
    assert rest.endswith(b"data: [DONE]\n\n")
    events = [line for line in (first + rest).split(b"\n\n") if line]
    text = "".join(json.loads(event[6:])["choices"][0]["text"] for event in events[:-1])
    assert len(text) == 3000
    assert server.process.wait(20) == 0
    assert server.errors().count("\n") == 2, server.errors()


def test_an_end_does_not_wait_for_ever(serve, classifier) -> None:
    """A process that hangs, and a connection that says nothing."""
    server = serve(classifier, "--limit", "drain=1")
    children = server.children()
    address = "127.0.0.1", server.port
    with socket.create_connection(address), socket.create_connection(address) as hanging:
        for pid in children:
            os.kill(pid, signal.SIGSTOP)
        content = json.dumps(BODY)
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        hanging.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n{content}".encode())
        time.sleep(0.3)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
    assert time.monotonic() - began < 12
    for pid in children:
        if is_running(pid):
            os.kill(pid, signal.SIGCONT)
    until(lambda: not any(is_running(pid) for pid in children))


def test_the_processes_end_with_the_server(serve, classifier) -> None:
    server = serve(classifier, "--processes", "2")
    children = server.children()
    assert len(children) >= 2
    server.process.kill()
    server.process.wait()
    until(lambda: not any(is_running(pid) for pid in children))


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_several_processes_of_a_model(serve, classifier) -> None:
    server = serve(classifier, "--processes", "2", "--threads", "1")
    assert server.ask("/v1/models/classifier").json["processes"] == 2
    with asking(server, PATH) as counts:
        until(lambda: sum(counts.values()) > 30)
    assert set(counts) == {(200, "pos")}
    assert 'unspool_ready{model="classifier"} 2.0' in server.ask("/metrics").body.decode()
    assert server.stop() == 0
