"""Files as they are, in forms, and in base64: one answer, that of Python."""

from __future__ import annotations

import base64

import pytest

from tones import RATE, tones, wav
from unspool.api.run import load

PATH = "/v1/models/listener/predict"
SOUND = wav(tones("abc", 1), RATE)


@pytest.fixture(scope="module")
def server(serve, listener):
    return serve(listener, "--limit", "body=300000")


@pytest.fixture(scope="module")
def expected(listener, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("sound") / "a.wav"
    path.write_bytes(SOUND)
    return str(load(listener).predict([str(path)])[0].to_json()["text"])


def transcripts(reply) -> list[str]:
    assert reply.status == 200, reply.body
    return [answer["text"] for answer in reply.json["answers"]]


def form(*parts: tuple[str, bytes]) -> tuple[bytes, str]:
    head = b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    file = b'--b\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n'
    body = b"".join(
        (head if name == "options" else file) % (name.encode(), content) for name, content in parts
    )
    return body + b"--b--\r\n", "multipart/form-data; boundary=b"


def test_a_file_as_it_is(server, expected) -> None:
    for media in ("audio/wav", "application/octet-stream", "audio/x-wav; codecs=1"):
        assert transcripts(server.ask(PATH, SOUND, Content_Type=media)) == [expected]


def test_files_of_a_form(server, expected) -> None:
    body, media = form(("a.wav", SOUND), ("b.wav", SOUND), ("options", b'{"beam": 2}'))
    assert len(transcripts(server.ask(PATH, body, Content_Type=media))) == 2
    body, media = form(("a.wav", SOUND))
    assert transcripts(server.ask(PATH, body, Content_Type=media)) == [expected]


def test_base64(server, expected) -> None:
    item = {"wav": base64.b64encode(SOUND).decode(), "name": "a.wav"}
    assert transcripts(server.ask(PATH, {"items": [item]})) == [expected]
    schema = server.ask("/v1/models/listener").json["item"]
    assert schema["properties"]["wav"]["contentMediaType"] == "audio/wav"


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        (b"no sound", "audio/wav", 422),
        (b"\x89PNG\r\n\x1a\n", "image/png", 422),
        (SOUND[:50], "audio/wav", 422),
        (b"", "audio/wav", 422),
        (bytes(400_000), "audio/wav", 413),
        (SOUND, "text/plain", 415),
        (*form(("options", b'{"beam": 2}')), 422),
        (*form(("a.wav", SOUND), ("options", b"{")), 400),
        (*form(("a.wav", SOUND), ("options", b'{"speed": 2}')), 422),
    ],
)
def test_files_that_are_none(server, body, media, status) -> None:
    reply = server.ask(PATH, body, Content_Type=media)
    assert (reply.status, reply.headers["Content-Type"]) == (status, "application/problem+json")
    assert server.ask("/readyz").status == 200


def test_other_names_of_bytes(server) -> None:
    for item in (
        {"file": "AAAA"},
        {"wav": "no base64!"},
        {"wav": 5},
        {"wav": "/etc/passwd"},
        "a.wav",
    ):
        assert server.ask(PATH, {"items": [item]}).status == 422
