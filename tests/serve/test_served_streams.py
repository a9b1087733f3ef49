"""Streams over the wire: in whatever chunks, the last answer is that to the whole; of texts, series
and sound, by sessions, lines and WebSockets."""

from __future__ import annotations

import base64
import json
import random
import socket

import numpy as np
import pytest

from tones import RATE, tones
from unspool.api.run import load
from unspool.api.train import train

QUICK = {"threads": 1, "hidden": 12, "layers": 1, "epochs": 2, "batch": 8, "baseline": False}


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    rng = np.random.default_rng(2)
    lines = ["id,x,y,move"]
    for i in range(24):
        for t in range(12 + i % 5):
            x, y = np.sin(t / (2 + i % 2)), rng.normal()
            lines.append(f"r{i},{x:.3f},{y:.3f},{'ab'[i % 2]}")
    folder = tmp_path_factory.mktemp("series")
    (folder / "steps.csv").write_text("\n".join(lines) + "\n")
    out = folder / "series"
    train(folder / "steps.csv", out=out, model="gru", label="move", scaling="channel", **QUICK)
    return out


@pytest.fixture(scope="module")
def server(serve, writer, series, listener):
    return serve(writer, series, listener, "--limit", "sessions=64")


def random_pieces(whole, seed: int):
    """A sequence in random pieces, in order."""
    rng = random.Random(seed)
    start = 0
    while start < len(whole):
        end = start + rng.randint(1, max(1, len(whole) // 3))
        yield whole[start:end]
        start = end


def same(one, other) -> bool:
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in other)
    if isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(other, float):
        return abs(one - other) <= 1e-5 * max(1.0, abs(other))
    return one == other


def last_answer(server, name: str, chunks: list, *, by_lines: bool):
    """The answer to the last chunk, by a session or by lines."""
    path = f"/v1/models/{name}"
    if by_lines:
        body = b"".join(json.dumps({"push": chunk}).encode() + b"\n" for chunk in chunks)
        *_, before, last = server.ask(f"{path}/stream", body).body.splitlines()
        answers = json.loads(before)["answers"] + json.loads(last)["answers"]
        return answers[-1]
    session, answers = "", []
    for number, chunk in enumerate(chunks, 1):
        route = f"{path}/sessions/{session}" if session else f"{path}/sessions"
        request = {"push": chunk, "finish": number == len(chunks)}
        reply = server.ask(route, request)
        assert reply.status == 200, reply.body
        answers += reply.json["answers"]
        session = reply.json["session"]
    assert session is None
    return answers[-1]


def readings(run, name: str):
    rng = np.random.default_rng(5)
    if name == "writer":
        return "the lovely film was dull and the plot a fine one"
    if name == "series":
        return rng.normal(size=(40, 2)).round(3).tolist()
    samples = np.concatenate([tones("abc", 3), tones("cab", 4)])
    return (samples * 32767).clip(-32768, 32767).astype("<i2")


def as_chunk(name: str, piece):
    if name == "listener":
        return {"pcm": base64.b64encode(piece.tobytes()).decode(), "rate": RATE}
    return piece


@pytest.mark.parametrize("name", ["writer", "series", "listener"])
def test_chunks_are_the_whole(server, request, name) -> None:
    run = load(request.getfixturevalue(name))
    whole = readings(run, name)
    expected = last_answer(server, name, [as_chunk(name, whole)], by_lines=False)
    stream = run.stream()
    for piece in random_pieces(whole, 0):
        pushed = stream.push((piece / np.float32(32768), RATE) if name == "listener" else piece)
    finished = stream.finish()
    in_python = json.loads(json.dumps((finished or pushed).to_json()))
    for seed in range(6):
        chunks = [as_chunk(name, piece) for piece in random_pieces(whole, seed)]
        answer = last_answer(server, name, chunks, by_lines=seed % 2 == 1)
        answer.pop("note", None)
        if seed == 0:
            assert same(answer, in_python)
        for key in ("label", "text", "transcript", "scores", "probabilities", "next"):
            if key in answer and name != "writer":
                assert same(answer[key], expected[key]), key


def test_streams_of_several_clients_are_apart(server, writer) -> None:
    """Chunks of many sessions come in turns."""
    texts = ["the film was dull", "a lovely plot and a fine film", "dull dull dull", "the"]
    path = "/v1/models/writer/sessions"
    names = [server.ask(path, {"push": text[:2]}).json["session"] for text in texts]
    assert len(set(names)) == len(texts)
    for text, name in zip(texts, names):
        answer = server.ask(f"{path}/{name}", {"push": text[2:], "finish": True}).json["answers"][0]
        stream = load(writer).stream()
        stream.push(text[:2])
        assert same(answer, json.loads(json.dumps(stream.push(text[2:]).to_json())))


@pytest.mark.parametrize(
    ("name", "push", "detail"),
    [
        ("series", [[1.0, 2.0, 3.0]], "channels"),
        ("series", "text", "push"),
        ("listener", {"pcm": "AAA", "rate": 8000}, "pcm is no 16-bit samples in base64"),
        ("listener", {"pcm": "AAA=", "rate": -1}, "rate is a whole number of Hz"),
        ("writer", 5, "push: not a text"),
    ],
)
def test_bad_chunks(server, name, push, detail) -> None:
    reply = server.ask(f"/v1/models/{name}/sessions", {"push": push})
    assert reply.status == 422
    assert detail in reply.json["detail"]
    assert server.ask("/readyz").status == 200


def test_a_bad_chunk_leaves_the_session_as_it_was(server) -> None:
    path = "/v1/models/series/sessions"
    steps = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    name = server.ask(path, {"push": steps[:2]}).json["session"]
    assert server.ask(f"{path}/{name}", {"push": [[1.0]]}).status == 422
    last = server.ask(f"{path}/{name}", {"push": steps[2:], "finish": True}).json
    whole = server.ask(path, {"push": steps, "finish": True}).json
    assert last["steps"] == 3
    assert same(last["answers"][0]["probabilities"], whole["answers"][0]["probabilities"])


def test_sound_over_a_websocket(server) -> None:
    from websockets.sync.client import connect

    samples = readings(None, "listener")
    with connect(f"ws://127.0.0.1:{server.port}/v1/models/listener/stream") as socket:
        for piece in random_pieces(samples, 3):
            socket.send(json.dumps({"push": as_chunk("listener", piece)}))
            answer = json.loads(socket.recv(timeout=20))
        assert answer["steps"] > 10
    chunks = [as_chunk("listener", piece) for piece in random_pieces(samples, 3)]
    assert server.ask("/v1/models/listener/sessions", {"push": chunks[0]}).status == 200


def test_lines_are_answered_while_the_request_goes_on(server) -> None:
    """A line is answered before the next one is sent."""
    head = (
        f"POST /v1/models/writer/stream HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head.encode())
        reader = connection.makefile("rb")
        for number, piece in enumerate(("the", " film", " was")):
            line = json.dumps({"push": piece}).encode() + b"\n"
            connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
            if number == 0:
                while reader.readline().strip():
                    pass  # the headers
            size = int(reader.readline(), 16)
            answer = json.loads(reader.read(size))
            reader.readline()
            assert answer["steps"] >= 3 * (number + 1)
        connection.sendall(b"0\r\n\r\n")
        reader.close()
