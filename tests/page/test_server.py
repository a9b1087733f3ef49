"""The server of the page: whom it answers, with what, and what it refuses."""

from __future__ import annotations

import http.client
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from unspool.api.run import load
from unspool.errors import ConfigError
from unspool.page import answers as module
from unspool.page.answers import encoded
from unspool.page.saved import WEB
from unspool.page.subject import open_subject
from unspool.serve.page import PageServer


class Reply:
    def __init__(self, reply: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = reply.status, reply.headers, reply.read()

    @property
    def json(self):
        return json.loads(self.body)


@pytest.fixture
def ask(server_of):
    server = server_of("bilstm")

    def ask(path: str, method: str = "GET", **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=sent)
        reply = Reply(connection.getresponse())
        connection.close()
        return reply

    return ask


def test_only_this_machine(server_of) -> None:
    assert server_of("bilstm").server_address[0] == "127.0.0.1"


def test_the_page_and_its_policy(ask) -> None:
    page = ask("/")
    assert page.status == 200
    assert page.body == (WEB / "index.html").read_bytes()
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    for path in ("/", "/web/app.js", "/api/run", "/nowhere", "/api/trace?text="):
        headers = ask(path).headers
        assert headers["Content-Security-Policy"] == policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Server"] == "unspool"


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "text/html"), ("/web/app.js", "text/javascript"), ("/web/style.css", "text/css"),
     ("/web/views/training.js", "text/javascript"), ("/api/run", "application/json")],
)  # fmt: skip
def test_types(ask, path, kind) -> None:
    assert ask(path).headers["Content-Type"].split(";")[0] == kind


@pytest.mark.parametrize(
    "path",
    ["/web/../server.py", "/web/%2e%2e/server.py", "/web//etc/passwd", "/web/..%2fserver.py",
     "/web/", "/web", "/api/", "/api/nothing", "/favicon.ico", "//etc/passwd", "/server.py"],
)  # fmt: skip
def test_nothing_else_is_there(ask, path) -> None:
    reply = ask(path)
    assert reply.status == 404
    assert reply.json == {"error": "there is no such page"}


def test_host(ask, server_of) -> None:
    """A name that somebody has made to mean 127.0.0.1 is not ours."""
    port = server_of("bilstm").server_port
    assert ask("/api/run", Host=f"localhost:{port}").status == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
        reply = ask("/api/run", Host=host)
        assert reply.status == 403
        assert reply.json == {"error": f"this page answers to 127.0.0.1:{port} alone"}


def test_origin(ask, server_of) -> None:
    port = server_of("bilstm").server_port
    assert ask("/api/run", Origin=f"http://127.0.0.1:{port}").status == 200
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}"):
        assert ask("/api/run", Origin=origin).status == 403


def test_other_sites_start_no_work(ask) -> None:
    assert ask("/api/run", Sec_Fetch_Site="same-origin").status == 200
    assert ask("/api/run", Sec_Fetch_Site="cross-site").status == 403
    assert ask("/web/app.js", Sec_Fetch_Site="same-site").status == 403
    assert ask("/", Sec_Fetch_Site="cross-site").status == 200  # a link to the page


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_the_page_is_only_read(ask, method) -> None:
    reply = ask("/api/run", method)
    assert reply.status == 405
    assert reply.headers["Allow"] == "GET, HEAD"
    assert reply.json == {"error": "this page is only read"}


@pytest.fixture
def post(server_of):
    server = server_of("bilstm")

    def post(path: str, body: bytes, **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        sent = {"Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", path, body, headers=sent)
        reply = Reply(connection.getresponse())
        connection.close()
        return reply

    return post


def test_a_long_question_is_a_body(ask, post) -> None:
    asked = json.dumps({"text": "a lovely film"}).encode()
    assert post("/api/answer", asked).body == ask("/api/answer?text=a+lovely+film").body
    assert post("/api/answer", asked, Origin="http://other.example").status == 403
    assert post("/api/answer", asked, Sec_Fetch_Site="cross-site").status == 403
    assert post("/api/run", b"{}").status == post("/", b"{}").status == 405
    for body in (b"", b"[]", b"no", b"\xff", b"[" * 100_000):
        assert post("/api/answer", body).json == {"error": "a question is a JSON object"}
    plain = post("/api/answer", asked, Content_Type="text/plain")
    assert (plain.status, plain.json) == (400, {"error": "a question is a JSON object"})
    reply = post("/api/answer", b'{"text": 3}')
    assert reply.json == {"error": "the parameters of a question are strings"}
    reply = post("/api/answer", b"", Content_Length="2000001")
    assert (reply.status, reply.json) == (413, {"error": "a question has at most 2,000,000 bytes"})


def test_head(ask) -> None:
    reply = ask("/api/run", "HEAD")
    assert (reply.status, reply.body) == (200, b"")
    assert int(reply.headers["Content-Length"]) == len(ask("/api/run").body)


def test_answers_are_what_python_says(ask, run_of) -> None:
    run = load(run_of("bilstm"))
    found = ask("/api/run").json
    assert found["name"] == "classifier"
    assert (found["task"], found["model"], found["labels"]) == (
        "classify",
        "bilstm",
        ["neg", "pos"],
    )
    assert found["parameters"] == sum(p.numel() for p in run.model.parameters())
    assert found["saved"] is False
    assert ask("/api/trace?text=a+fine%20film").json == run.trace("a fine film").to_json()
    found = ask("/api/saliency?text=a+fine+film&answer=neg").json
    assert found == run.explain("a fine film", answer="neg").to_json()


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("trace?text=", "there is nothing to look at: the text is empty. Give some words"),
        ("trace?text=%20%0a", "there is nothing to look at: the text is empty. Give some words"),
        ("trace", "there is nothing to look at: the text is empty. Give some words"),
        ("trace?text=a&first=x", "first is a whole number from 0 to 1000000; got 'x'"),
        ("trace?text=a&first=-1", "first is a whole number"),
        ("trace?text=a&top=3", "unknown parameter of 'trace'; got 'top'. Choose from text, first"),
        ("run?x=1", "'run' takes no parameters; got 'x'"),
        ("saliency?text=a&answer=maybe", "the model knows no such answer; got 'maybe'"),
        ("saliency?text=a&method=magic", "unknown method; got 'magic'"),
        ("saliency?text=a&step=7", "there is one step to ask about; got 'number 8'"),
        ("positions?length=1", "length is a whole number from 2 to 512; got '1'"),
        ("trace?text=%ff", "the address is not valid text"),
    ],
)
def test_bad_questions(ask, path, line) -> None:
    reply = ask(f"/api/{path}")
    assert reply.status == 400
    assert reply.json.keys() == {"error"}
    assert reply.json["error"].startswith(line)
    assert "\n" not in reply.json["error"]


def test_an_address_that_is_too_long(ask) -> None:
    reply = ask("/api/trace?text=" + "a" * 70_000)
    assert (reply.status, reply.json["detail"]) == (414, "the address is too long")


def test_a_fault_of_ours_is_one_line(ask, monkeypatch, capfd) -> None:
    def broken(*_):
        raise KeyError("a fault")

    monkeypatch.setattr(module, "answer", broken)
    reply = ask("/api/trace?text=never+asked+before")
    assert reply.status == 500
    assert reply.json == {"error": "unspool failed: KeyError: 'a fault'"}
    assert "Traceback" in capfd.readouterr().err


def test_answers_are_kept_but_not_of_a_training(run_of, monkeypatch) -> None:
    counted: list[str] = []
    true = module.answer
    monkeypatch.setattr(module, "answer", lambda *given: counted.append(given[1]) or true(*given))
    with PageServer(open_subject(run_of("bilstm"))) as server:
        for given in ({"text": "a film"}, {"first": "0", "text": "a film"}):
            server.answer("trace", given)
        server.answer("training", {})
        server.answer("training", {})
    assert counted == ["trace", "training", "training"]


def test_one_computation_at_a_time(run_of, monkeypatch) -> None:
    inside, most = [], []

    def slow(subject, name, given):
        inside.append(name)
        most.append(len(inside))
        import time

        time.sleep(0.02)
        inside.pop()
        return given

    monkeypatch.setattr(module, "answer", slow)
    with PageServer(open_subject(run_of("bilstm"))) as server, ThreadPoolExecutor(4) as clients:
        list(clients.map(lambda i: server.answer("trace", {"text": str(i)}), range(8)))
    assert max(most) == 1


def test_what_is_not_finite_is_null() -> None:
    value = {"a": [1.0, float("nan"), (float("inf"), "x")]}
    assert json.loads(encoded(value)) == {"a": [1.0, None, [None, "x"]]}


def test_a_port_in_use(run_of) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"^port {port} is in use. Choose another one"):
            PageServer(open_subject(run_of("bilstm")), port)
    with pytest.raises(ConfigError, match="a port is a number from 0 to 65535; got 70000"):
        PageServer(open_subject(run_of("bilstm")), 70_000)


def test_an_old_run_without_its_data_has_an_example_all_the_same(run_of, tmp_path) -> None:
    import shutil

    copy = Path(shutil.copytree(run_of("bilstm"), tmp_path / "run"))
    (copy / "hashes.json").unlink()  # changed on purpose
    (copy / "examples.json").unlink()
    record = json.loads((copy / "config.json").read_text())
    assert open_subject(copy).example
    record["data"]["train"]["path"] = str(tmp_path / "gone.csv")
    (copy / "config.json").write_text(json.dumps(record))
    words = open_subject(copy).example.split()
    assert len(words) == 5
    assert set(words) <= set(open_subject(copy).task.tokenizer.vocab.tokens)
