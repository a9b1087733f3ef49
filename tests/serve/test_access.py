"""Who may ask: tokens, TLS, Unix sockets, addresses, other sites; and what cannot start."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from unspool.cli import run as command
from unspool.serve.settings import ServeLimits

TOKEN = "0123456789abcdef-0123456789"
BODY = {"items": ["a lovely film"]}
PATH = "/v1/models/classifier/predict"


@pytest.fixture(scope="module")
def guarded(serve, classifier):
    return serve(classifier, "--admin-port", free_port(), env={"UNSPOOL_TOKEN": TOKEN})


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"]
)
def test_a_wrong_token(guarded, value) -> None:
    reply = guarded.ask(PATH, BODY, **({"Authorization": value} if value else {}))
    assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert reply.json["detail"] == "give the token of this server: Authorization: Bearer TOKEN"


def test_the_right_token(guarded) -> None:
    for scheme in ("Bearer", "bearer"):
        assert guarded.ask(PATH, BODY, Authorization=f"{scheme} {TOKEN}").status == 200
    for path in ("/metrics", "/v1/models", "/openapi.json"):
        assert guarded.ask(path).status == 401
        assert guarded.ask(path, Authorization=f"Bearer {TOKEN}").status == 200
    for path in ("/", "/docs", "/healthz", "/readyz", "/web/try.js"):
        assert guarded.ask(path).status == 200
    assert TOKEN not in guarded.errors()


def test_an_administrator_needs_it_too(guarded) -> None:
    port = int(guarded.arguments[guarded.arguments.index("--admin-port") + 1])
    assert guarded.ask("/reload", b"", port=port).status == 401
    assert guarded.ask("/reload", b"", port=port, Authorization=f"Bearer {TOKEN}").status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:80"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "127.0.0.1@evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "[["}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ],
)
def test_other_sites(served, headers, status) -> None:
    """One whose name was made to mean 127.0.0.1 has its own in Host."""
    named = {name.replace("-", "_"): value for name, value in headers.items()}
    assert served.ask(PATH, BODY, **named).status == status


def test_every_reply_has_a_policy(served) -> None:
    for path in ("/", "/docs", "/v1/models", "/nothing", "/look/classifier/"):
        headers = served.ask(path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Request-Id"]
        assert headers["Cache-Control"] == "no-store"


def test_request_ids_and_a_log_without_texts(served) -> None:
    secret = {"items": ["a very private film"]}
    assert served.ask(PATH, secret, X_Request_Id="mine-1").headers["X-Request-Id"] == "mine-1"
    assert served.ask(PATH, secret, X_Request_Id="a\tb").headers["X-Request-Id"] != "a\tb"
    served.ask(f"{PATH}?text=private", secret)
    served.settle()
    lines = [json.loads(line) for line in served.errors().splitlines() if line.startswith("{")]
    (line,) = [line for line in lines if line["id"] == "mine-1"]
    assert (line["method"], line["path"], line["status"]) == ("POST", PATH, 200)
    assert "private" not in served.errors()


def test_a_unix_socket(serve, classifier, tmp_path) -> None:
    path = tmp_path / "socket"
    path.touch()
    path.unlink()
    server = serve(classifier, "--uds", path)
    assert path.stat().st_mode & 0o077 == 0
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(path))
    connection.request("POST", PATH, json.dumps(BODY), {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()
    assert server.stop() == 0
    assert not path.exists()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout",
         files[1]], check=True, capture_output=True,
    )  # fmt: skip
    return files


def test_tls(serve, classifier, certificate) -> None:
    server = serve(classifier, "--certificate", certificate[0], "--key", certificate[1])
    context = ssl.create_default_context(cafile=str(certificate[0]))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)
    connection.request("POST", PATH, json.dumps(BODY), {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert not plain.recv(1000).startswith(b"HTTP/1.1 200")
    assert server.stop() == 0


def start(capsys, *arguments: object) -> tuple[int, str]:
    """Exit code and the line of `unspool serve`, which does not start."""
    code = command(["serve", *map(str, arguments)])
    line = capsys.readouterr().err
    assert line.count("\n") == 1, line
    return code, line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--host", "0.0.0.0"], "anybody who reaches this address could use the models"),
        (["--host", "192.0.2.1", "--insecure"], "192.0.2.1 port 8000: Cannot assign"),
        (["--host", "no such host", "--insecure"], "no such host port 8000"),
        (["--limit", "speed=3"], "speed"),
        (["--limit", "items=many"], "the limit items is a number; got 'many'"),
        (["--limit", "items=0"], "the limit items must be 1 or more; got 0"),
        (["--limit", "wait=nan"], "the limit wait must be 1 or more"),
        (["--limit", "delay=5000"], "delay must be at most 1000 milliseconds"),
        (["--key", "k.pem"], "a key without its certificate"),
        (["--certificate", "none.pem"], "none.pem: cannot be used for TLS"),
        (["--token-file", "none"], "none: cannot read the token"),
    ],
)  # fmt: skip
def test_what_cannot_start(capsys, classifier, tmp_path, monkeypatch, arguments, line) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNSPOOL_TOKEN", raising=False)
    code, shown = start(capsys, classifier, *arguments)
    assert code in (1, 2)
    assert line in shown
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_is_not_there(classifier) -> None:
    """In a process of its own: a browser of other tests may run the loop of this one."""
    words = [sys.executable, "-m", "unspool", "serve", str(classifier), "--device", "cuda:9"]
    ended = subprocess.run([*words, "--port", "0"], capture_output=True, text=True)
    assert ended.returncode in (1, 2)
    assert ended.stderr.count("\n") == 1
    assert "cuda" in ended.stderr


def test_names_of_models(capsys, classifier, tmp_path) -> None:
    assert start(capsys, classifier, classifier)[1].startswith(
        "unspool: two models have the same name"
    )
    assert "letters, digits" in start(capsys, f"a b={classifier}")[1]
    assert "letters, digits" in start(capsys, f"..={classifier}")[1]
    assert "no such run folder" in start(capsys, tmp_path / "nothing")[1]


def test_tokens_that_are_too_short_or_open(capsys, classifier, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNSPOOL_TOKEN", "short")
    assert "at least 16" in start(capsys, classifier)[1]
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o644)
    assert "others can read the token" in start(capsys, classifier, "--token-file", file)[1]
    monkeypatch.setenv("UNSPOOL_TOKEN", TOKEN)
    assert "the page of look asks without a token" in start(capsys, classifier, "--look")[1]


def test_a_port_or_a_name_that_is_taken(capsys, classifier, tmp_path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"port {port} is in use" in start(capsys, classifier, "--port", port)[1]
    file = tmp_path / "file"
    file.touch()
    assert "there is a file of this name" in start(capsys, classifier, "--uds", file)[1]
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        other.listen()
        assert "another server listens here" in start(capsys, classifier, "--uds", path)[1]
    assert os.path.exists(path)


def test_every_limit_is_described() -> None:
    for name in ServeLimits.__dataclass_fields__:
        assert f"    {name} " in str(ServeLimits.__doc__)
