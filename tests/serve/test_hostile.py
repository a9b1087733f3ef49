"""Hostile requests and run folders: refused within bounds of time and memory, nothing is executed
or written, and the server goes on in silence."""
# ruff: noqa: E501

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path

import pytest

from unspool.errors import UserError
from unspool.serve.engine import EngineSettings
from unspool.serve.loading import load_served
from unspool.serve.settings import ServeLimits

PATH = "/v1/models/classifier/predict"
MOST_GROWTH = 60e6  # bytes of the process that speaks HTTP
SECONDS = 15.0


def post(body: bytes, *lines: str, path: str = PATH, length: object = None) -> bytes:
    head = [
        f"POST {path} HTTP/1.1", "Host: localhost",
        *([] if any(line.startswith("Content-Type") for line in lines) else ["Content-Type: application/json"]),
        *([] if length is False else [f"Content-Length: {len(body) if length is None else length}"]),
        *lines, "", "",
    ]  # fmt: skip
    return "\r\n".join(head).encode("latin-1") + body


def chunked(*chunks: bytes) -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return post(body, "Transfer-Encoding: chunked", length=False)


GOOD = json.dumps({"items": ["a film"]}).encode()
BOMB = gzip.compress(bytes(20_000_000))
BOUNDARY = "Content-Type: multipart/form-data; boundary=x"


def form(*parts: str, end: str = "--x--\r\n") -> bytes:
    body = "".join(f"--x\r\nContent-Disposition: form-data; {part}\r\n" for part in parts) + end
    return post(body.encode("latin-1"), BOUNDARY)


# (what is sent, statuses of the reply; 0: none, the connection is closed)
REQUESTS: dict[str, tuple[bytes, set[int]]] = {
    "two lengths": (post(GOOD, "Content-Length: 5"), {400}),
    "length and chunks": (post(GOOD, "Transfer-Encoding: chunked"), {400}),
    "chunks and length": (post(b"0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 40", length=False), {400}),
    "chunks twice": (post(b"0\r\n\r\n", "Transfer-Encoding: chunked, chunked", length=False), {400, 415, 422}),
    "chunks by another name": (post(b"0\r\n\r\n", "Transfer-Encoding: xchunked", length=False), {400}),
    "chunks in capitals": (post(b"0\r\n\r\n", "TRANSFER-ENCODING : chunked", length=False), {400}),
    "a negative length": (post(GOOD, length=-1), {400}),
    "a length in hexadecimals": (post(GOOD, length="0x10"), {400}),
    "a length with a sign": (post(GOOD, length="+19"), {400}),
    "a length of many digits": (post(GOOD, length="9" * 400), {400}),
    "a length beyond the limit": (post(GOOD, length=10**12), {413}),
    "a length of 64 bits": (post(GOOD, length=2**64 + 19), {400}),
    "a chunk without a size": (post(b"x\r\n", "Transfer-Encoding: chunked", length=False), {400}),
    "many bytes in chunks": (chunked(*[b" " * 100_000] * 100), {413}),
    "empty chunks": (chunked(GOOD, b""), {200}),
    "a folded header": (b"POST / HTTP/1.1\r\nHost: localhost\r\n X: y\r\n\r\n", {400, 403, 405}),
    "a header without a name": (b"GET / HTTP/1.1\r\n: x\r\nHost: localhost\r\n\r\n", {400}),
    "a zero in a header": (b"GET / HTTP/1.1\r\nHost: local\x00host\r\n\r\n", {400, 403}),
    "a line feed alone": (b"GET /healthz HTTP/1.1\nHost: localhost\n\n", {200, 400}),
    "two hosts": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", {200, 400, 403}),
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n", {400, 403}),
    "a long address": (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", {414, 431}),
    "a long header": (b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", {431}),
    "many headers": (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n", {431}),
    "another protocol": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", {0, 400}),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(30), {0, 400, 404, 403, 405}),
    "HTTP/0.9": (b"GET /\r\n\r\n", {0, 400, 403}),
    "zeros": (bytes(5000), {0, 400}),
    "a method that is none": (b"\x80\x81 / HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    "CONNECT": (b"CONNECT evil:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 403, 404, 405}),
    "an address of elsewhere": (b"GET http://evil/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {200, 400, 403, 404}),
    "folders above": (b"GET /web/../../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
    "folders above, encoded": (b"GET /web/%2e%2e%2f%2e%2e%2fapp.py HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
    "a zero in an address": (b"GET /web/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
    "an address of no UTF-8": (b"GET /v1/models/%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
    "a module as a model": (post(GOOD, path="/v1/models/os.system/predict"), {404}),
    "a model above": (post(GOOD, path="/v1/models/..%2f..%2fetc/predict"), {404, 405}),
    "a bomb": (post(BOMB, "Content-Encoding: gzip"), {415}),
    "a bomb that claims to be JSON": (post(BOMB), {400}),
    "deflate": (post(GOOD, "Content-Encoding: deflate"), {415}),
    "bad UTF-8": (post(b'{"items": ["\xc3\x28"]}'), {400}),
    "half of a pair": (post(b'{"items": ["\\ud83d"]}'), {400}),
    "UTF-16": (post('{"items": ["a"]}'.encode("utf-16")), {400}),
    "a mark before": (post(b"\xef\xbb\xbf" + GOOD), {200, 400}),
    "deep lists": (post(b"[" * 500_000), {400}),
    "deep objects": (post(b'{"items":' * 100_000), {400}),
    "deep and closed": (post(b'{"items": [' + b"[" * 5000 + b"]" * 5000 + b"]}"), {400, 422}),
    "many names": (post(json.dumps({f"n{i}": i for i in range(50_000)}).encode()), {422}),
    "one name many times": (post(b'{"items": ["a"]' + b',"items": ["a"]' * 10_000 + b"}"), {200, 422}),
    "a huge number": (post(b'{"items": [' + b"9" * 100_000 + b"]}"), {400, 422}),
    "a huge exponent": (post(b'{"items": [1e999999]}'), {400, 422}),
    "many items": (post(json.dumps({"items": ["a"] * 100_000}).encode()), {422}),
    "a long word": (post(json.dumps({"items": ["a" * 700_000]}).encode()), {200}),
    "many lines": (post(json.dumps({"items": ["\n" * 700_000]}).encode()), {200}),
    "signs of all scripts": (post(json.dumps({"items": ["".join(map(chr, range(0x300, 0xD000)))]}).encode()), {200, 422}),
    "controls": (post(json.dumps({"items": ["\x00\x1b[2J\u202e\ufeff"]}).encode()), {200, 422}),
    "sound that is none": (post(b"RIFF\xff\xff\xff\xffWAVE", "Content-Type: audio/wav"), {415}),
    "an image that is none": (post(b"\x89PNG\r\n", "Content-Type: image/png"), {415}),
    "a form without a boundary": (post(b"x", "Content-Type: multipart/form-data"), {400}),
    "a form of nothing": (form(), {400, 415, 422}),
    "a form that does not end": (form('name="file"; filename="a"\r\n\r\nx\r\n', end=""), {400, 415}),
    "a form with a path": (form('name="file"; filename="../../a.wav"\r\n\r\nx\r\n'), {415}),
    "a form of many fields": (form(*['name="a"\r\n\r\nx\r\n'] * 3000), {400, 415}),
    "a form of many files": (form(*['name="a"; filename="b"\r\n\r\nx\r\n'] * 3000), {400, 415}),
    "a form of a long name": (form(f'name="{"a" * 60_000}"\r\n\r\nx\r\n'), {400, 415, 422}),
    "options that are code": (post(b'{"items": ["a"], "options": "__import__(\'os\')"}'), {422}),
    "a view that is code": (post(b'{"input": "a", "view": "__class__"}', path="/v1/models/classifier/explain"), {422}),
    "a session of another": (post(b'{"push": "a"}', path="/v1/models/writer/sessions/1.0-AAAAAAAA"), {404}),
    "a session that is a path": (post(b'{"push": "a"}', path="/v1/models/writer/sessions/..%2f..%2fx"), {404, 405}),
    "a tensor of a huge shape": (post(json.dumps({"inputs": [{"name": "x", "shape": [2**62, 2**62], "datatype": "BYTES", "data": []}]}).encode(), path="/v2/models/classifier/infer"), {422}),
    "a tensor of deep lists": (post(b'{"inputs": [{"name": "x", "shape": [1], "datatype": "BYTES", "data": ' + b"[" * 3000 + b"]" * 3000 + b"}]}", path="/v2/models/classifier/infer"), {400, 422}),
    "stops beyond number": (post(json.dumps({"prompt": "a", "stop": ["x"] * 9999}).encode(), path="/v1/completions"), {422}),
    "a temperature that is none": (post(b'{"prompt": "a", "temperature": 1e400}', path="/v1/completions"), {400, 422}),
    "a model that is a list": (post(b'{"model": ["writer"], "prompt": "a"}', path="/v1/completions"), {422}),
    "lines that are no JSON": (post(b"x\ny\n", path="/v1/models/writer/stream"), {400}),
    "a line without an end": (post(b'"' + b"a" * 5_000_000, path="/v1/models/writer/stream"), {413}),
    "a WebSocket without a key": (b"GET /v1/models/writer/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", {0, 400, 404, 405, 426}),
    "a WebSocket of another site": (b"GET /v1/models/writer/stream HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", {0, 403}),
    "an upgrade to HTTP/2": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAA\r\n\r\n", {200, 400}),
    "an expectation": (post(GOOD, "Expect: 100-continue"), {100, 200}),
    "requests one after the other": (post(GOOD) * 30, {200}),
}  # fmt: skip


@pytest.fixture(scope="module")
def target(serve, classifier, writer):
    return serve(classifier, writer)


def memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def at_rest(target) -> int:
    assert target.ask(PATH, GOOD).status == 200
    return memory(target.process.pid)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_hostile_request(target, at_rest, name) -> None:
    sent, statuses = REQUESTS[name]
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", target.port), timeout=SECONDS) as connection:
        with suppress(ConnectionError):  # it may have answered before all was sent
            connection.sendall(sent)
        try:
            reply = connection.recv(1 << 16)
        except ConnectionError:
            reply = b""
    status = int(reply.split()[1]) if reply else 0
    assert status in statuses, reply[:300]
    if reply and status >= 400 and b"websocket" not in sent:
        assert reply.count(b"Traceback") == 0
        assert b"application/problem+json" in reply, reply[:300]
    assert time.monotonic() - began < SECONDS
    assert target.ask(PATH, GOOD).status == 200
    assert memory(target.process.pid) < at_rest + MOST_GROWTH
    assert "Traceback" not in target.errors()


def test_slow_and_half_requests(target) -> None:
    """They hold nobody up, and are ended."""
    held = [socket.create_connection(("127.0.0.1", target.port), timeout=30) for _ in range(50)]
    huge = post(b"ffffffffffffff\r\n", "Transfer-Encoding: chunked", length=False)
    for connection, part in zip(held, [b"POST ", post(GOOD)[:-5], post(GOOD)[:30], huge] * 20):
        connection.sendall(part)
    began = time.monotonic()
    assert target.ask(PATH, GOOD).status == 200
    assert time.monotonic() - began < 5
    for connection in held:
        with suppress(ConnectionError):
            while connection.recv(10_000):
                pass
        connection.close()
    assert time.monotonic() - began < 25
    assert target.ask(PATH, GOOD).status == 200


def test_clients_that_reset(target) -> None:
    for part in (b"", b"POST / HT", post(GOOD)[:-3], post(GOOD), post(GOOD) * 5):
        for _ in range(10):
            connection = socket.create_connection(("127.0.0.1", target.port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(part)
            connection.close()
    assert target.ask(PATH, GOOD).status == 200
    assert "Traceback" not in target.errors()


# Run folders

DEEP = b'{"a":' * 100_000
CHANGES = {
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "a list": lambda path: path.write_bytes(b"[]"),
    "a number": lambda path: path.write_bytes(b"1e400"),
    "deep": lambda path: path.write_bytes(DEEP),
    "zeros": lambda path: path.write_bytes(bytes(3000)),
    "missing": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a loop": lambda path: (path.unlink(), path.symlink_to(path.name)),
    "a pickle": lambda path: path.write_bytes(b"\x80\x04cos\nsystem\n(S'touch executed'\ntR."),
}
FILES = (
    "config.json", "model.safetensors", "tokenizer.json", "labels.json", "answers.json",
    "examples.json", "evaluation.json", "calibration.json", "hashes.json",
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("file", FILES)
def test_a_hostile_folder(classifier, tmp_path, monkeypatch, file, change) -> None:
    """Refused in one line, or served where the file says nothing that is needed."""
    if not (classifier / file).exists():
        pytest.skip(f"a classifier has no {file}")
    folder = Path(shutil.copytree(classifier, tmp_path / "run"))
    if file != "hashes.json":
        (folder / "hashes.json").unlink()  # it would refuse all of them
    CHANGES[change](folder / file)
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    settings = EngineSettings(
        "m", str(folder), 1, "cpu", "fp32", None, 0.005, (), False, "1.0", ServeLimits()
    )
    line = ""
    try:
        card = load_served(settings).card
    except UserError as error:
        line = str(error)
    if line:
        assert "\n" not in line
        assert str(folder) in line
    else:
        assert file not in ("config.json", "model.safetensors", "tokenizer.json", "labels.json")
        assert card["self_check"] in ("passed", "none stored")
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_a_model_that_answers_otherwise(classifier, tmp_path) -> None:
    """Weights are whole, but not those that were trained."""
    folder = Path(shutil.copytree(classifier, tmp_path / "run"))
    (folder / "hashes.json").unlink()
    stored = json.loads((folder / "answers.json").read_text())
    answer = stored[0]["answer"]
    answer["label"] = {"pos": "neg", "neg": "pos"}[answer["label"]]
    (folder / "answers.json").write_text(json.dumps(stored))
    with pytest.raises(UserError, match=r"does not answer example 1 as it did after training"):
        load_served(
            EngineSettings(
                "m", str(folder), 1, "cpu", "fp32", None, 0.005, (), False, "1.0", ServeLimits()
            )
        )
