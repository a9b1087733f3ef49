"""Clients that are slow, many, broken or gone: the page stays there for the others, in silence."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from unspool.io.assets import Assets
from unspool.page import answers
from unspool.serve import connections, page
from unspool.serve.connections import READING
from unspool.serve.page import MOST, PageServer
from unspool.serve.server import free_descriptors

HALF = b"GET / HTTP/1.1\r\nHost: "


@pytest.fixture
def server(serve) -> Iterator[PageServer]:
    return serve(None)  # no run: none of these requests reaches one


@pytest.fixture
def connect(server) -> Iterator[Callable[[], socket.socket]]:
    with ExitStack() as opened:
        yield lambda: opened.enter_context(
            socket.create_connection(server.server_address, timeout=10)
        )


def whole(server: PageServer, target: str = "/") -> bytes:
    host = f"127.0.0.1:{server.server_port}"
    return f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()


def status(connection: socket.socket) -> int:
    """Of a reply."""
    return int(connection.recv(1 << 16).split()[1])


def is_closed(connection: socket.socket) -> bool:
    with suppress(ConnectionError):
        return connection.recv(1 << 16) == b""
    return True


def until(true: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def test_half_requests_keep_nobody_waiting(server, connect) -> None:
    held = [connect() for _ in range(200)]
    for own in held:
        with suppress(ConnectionError):
            own.sendall(HALF)
    started = time.monotonic()
    good = connect()
    good.sendall(whole(server))
    assert status(good) == 200
    assert time.monotonic() - started < READING / 2
    assert len(server.connections) <= MOST
    assert is_closed(held[0])  # the one that had waited longest


def test_a_request_has_to_come_in_time_also_byte_by_byte(server, connect, monkeypatch) -> None:
    monkeypatch.setattr(connections, "READING", 0.5)
    slow, silent = connect(), connect()
    started = time.monotonic()
    with suppress(ConnectionError):
        while time.monotonic() - started < 8:
            slow.sendall(b"G")
            time.sleep(0.05)
    assert is_closed(silent)
    assert time.monotonic() - started < 5
    assert until(lambda: len(server.connections) == 0)


def test_a_client_that_does_not_read_its_reply(server, connect, monkeypatch) -> None:
    monkeypatch.setattr(connections, "WRITING", 0.5)
    monkeypatch.setattr(Assets, "read", lambda *_: bytes(30_000_000))
    lazy = connect()
    lazy.sendall(whole(server))
    assert until(lambda: len(server.connections) == 1)
    assert until(lambda: len(server.connections) == 0)


def test_work_is_given_all_the_time_that_it_takes(server, connect, monkeypatch) -> None:
    """The client waits for us; that is not its fault."""
    monkeypatch.setattr(connections, "READING", 0.3)
    monkeypatch.setattr(answers, "answer", lambda *_: time.sleep(1.5) or {"done": True})
    asking = connect()
    asking.sendall(whole(server, "/api/trace?text=a"))
    assert status(asking) == 200


def test_questions_of_clients_that_have_gone_are_not_answered(server, connect, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(answers, "answer", lambda *given: asked.append(given) or time.sleep(0.4))
    for i in range(12):
        leaving = connect()
        leaving.sendall(whole(server, f"/api/trace?text={i}"))
        time.sleep(0.02)
        leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        leaving.close()
    started = time.monotonic()
    staying = connect()
    staying.sendall(whole(server, "/api/trace?text=a"))
    assert status(staying) == 200
    assert time.monotonic() - started < 4  # all of them would take 4.8
    assert len(asked) < 6


def test_so_many_questions_wait_and_no_more(server, connect, monkeypatch) -> None:
    wait = threading.Event()
    monkeypatch.setattr(answers, "answer", lambda *_: wait.wait(20) and {})
    asking = [connect() for _ in range(page.WAITING)]
    for i, own in enumerate(asking):
        own.sendall(whole(server, f"/api/trace?text={i}"))
    assert until(lambda: server.waiting == page.WAITING)
    more = connect()
    more.sendall(whole(server, "/api/trace?text=more"))
    assert status(more) == 503
    wait.set()
    assert [status(own) for own in asking] == [200] * page.WAITING


def test_when_all_are_being_answered_a_new_one_is_refused(server, connect, monkeypatch) -> None:
    wait = threading.Event()
    monkeypatch.setattr(answers, "answer", lambda *_: wait.wait(20) and {})
    monkeypatch.setattr(server.connections, "most", 8)
    asking = [connect() for _ in range(8)]
    for i, own in enumerate(asking):
        own.sendall(whole(server, f"/api/trace?text=all{i}"))
    busy = server.connections.late
    assert until(lambda: [*busy.values()].count(None) == 8)
    assert is_closed(connect())
    wait.set()
    assert [status(own) for own in asking] == [200] * 8


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs the list of descriptors")
def test_without_descriptors_the_server_rests(connect, server) -> None:
    waiting = PageServer(None)
    clients = [socket.socket() for _ in range(8)]
    threading.Thread(target=waiting.serve_forever, daemon=True).start()
    assert until(lambda: waiting.server is not None and waiting.server.started)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    probe = os.dup(0)  # the lowest number that is free
    os.close(probe)
    resource.setrlimit(resource.RLIMIT_NOFILE, (probe, hard))
    try:
        busy = time.process_time()
        for own in clients:
            own.connect(waiting.server_address)
        time.sleep(1.0)
        busy = time.process_time() - busy
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert busy < 0.3
    clients[-1].sendall(whole(waiting))  # there is room again
    clients[-1].settimeout(10)
    assert status(clients[-1]) == 200
    waiting.shutdown()
    waiting.server_close()
    for own in clients:
        own.close()


def test_descriptors_are_made_free(server, monkeypatch) -> None:
    """Where there are none left, the half request that has waited longest gives its own."""
    ended: list[Any] = []
    monkeypatch.setattr(server.connections, "end_longest", lambda: ended.append(1))

    async def no_more() -> None:
        free_descriptors(server.connections)
        error = OSError(errno.EMFILE, "Too many open files")
        asyncio.get_running_loop().call_exception_handler({"exception": error})

    thread = threading.Thread(
        target=lambda: asyncio.run(no_more())
    )  # another test's loop may run in this one
    thread.start()
    thread.join()
    assert ended == [1]


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"GET http://[::1 HTTP/1.1\r\nHost: %s\r\n\r\n", 400),
        (b"GET //[ HTTP/1.1\r\nHost: %s\r\n\r\n", 404),
        (b"GET /api/trace?text=a&first=" + b"9" * 5000 + b" HTTP/1.1\r\nHost: %s\r\n\r\n", 400),
        (b"GET /api/positions?length=" + b"9" * 5000 + b" HTTP/1.1\r\nHost: %s\r\n\r\n", 400),
        (b"GET / HTTP/" + b"9" * 5000 + b".1\r\nHost: %s\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: %s\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 70_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n\xff\xfe: \x00\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS\r\n\r\n", 400),
        (b"\x00\r\n\r\n", 400),
    ],
)
def test_requests_that_cannot_be_read(server_of, sent, answer, capfd) -> None:
    own = server_of("bilstm")
    with socket.create_connection(own.server_address, timeout=10) as connection:
        host = b"127.0.0.1:%d" % own.server_port
        connection.sendall(sent.replace(b"%s", host))
        assert status(connection) == answer
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("value", ["9" * 5000, "٣", "²", "1_0", "+1", " 1", "0x1"])
def test_what_is_no_number(server_of, value) -> None:
    from unspool.errors import ConfigError

    with pytest.raises(ConfigError, match=r"^first is a whole number from 0 to 1000000; got '"):
        server_of("bilstm").answer("trace", {"text": "a", "first": value})


def test_zeros_before_a_number(server_of) -> None:
    assert server_of("bilstm").answer("positions", {"length": "0" * 5000 + "2"})


@pytest.mark.parametrize("sent", [b"", HALF, None])
def test_a_client_that_resets(server, sent, capfd) -> None:
    """The last one does so while its reply is on the way."""
    for _ in range(20):
        connection = socket.create_connection(server.server_address, timeout=10)
        # Closing then sends a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(whole(server) if sent is None else sent)
        time.sleep(0.01 if sent is not None else 0)
        connection.close()
    assert until(lambda: len(server.connections) == 0)
    assert capfd.readouterr().err == ""


def test_replies_are_sent_at_once(server, connect) -> None:
    """Nothing waits for the receipt of what was sent before."""
    asking = connect()
    asking.sendall(HALF)
    option = socket.IPPROTO_TCP, socket.TCP_NODELAY
    assert until(lambda: len(server.connections) > 0)
    sockets = [own.transport.get_extra_info("socket") for own in [*server.connections.late]]
    assert any(own.getsockopt(*option) for own in sockets)
