"""Models of the hub, from a server on loopback that speaks its protocol."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import unspool as package
from unspool.cli import run as command
from unspool.errors import RunError
from unspool.training.hub import fetch

transformers = pytest.importorskip("transformers")
COMMIT = "6f75de8b60a9f8a2fdf7b69cbd86d9e64bcb3837"
OLD = "0123456789abcdef0123456789abcdef01234567"
WORDS = "the a film is good bad lovely dull"
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]


class Hub(http.server.ThreadingHTTPServer):
    """`files` of the one model that it has; `cut`: bytes after which a download breaks off."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.files, self.cut, self.asked = files, 0, list[str]()


class Requests(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *_: object) -> None:
        return

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        path = self.path.partition("?")[0]
        if re.fullmatch(r"/api/models/some/bert(/revision/(main|[0-9a-f]{40}))?", path):
            siblings = [{"rfilename": n, "size": len(d)} for n, d in self.server.files.items()]
            self.reply(200, json.dumps({"id": "some/bert", "sha": COMMIT, "siblings": siblings}))
        elif re.fullmatch(r"/api/models/some/bert/tree/[^?]*", path):
            listed = [
                {"type": "file", "path": n, "size": len(d), "oid": hashlib.sha1(d).hexdigest()}
                for n, d in self.server.files.items()
            ]
            self.reply(200, json.dumps(listed))
        elif path.startswith("/api/models/some/bert"):
            self.reply(404, "{}", {"X-Error-Code": "RevisionNotFound"})
        elif match := re.fullmatch(r"/some/bert/resolve/[0-9a-f]{40}/(.+)", path):
            self.file(self.server.files[match[1]])
        else:
            self.reply(404, "{}", {"X-Error-Code": "RepoNotFound"})

    def file(self, content: bytes) -> None:
        etag = {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
        start = 0
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(match[1])
        cut = self.server.cut if len(content) > 5000 and self.command == "GET" else 0
        self.reply(206 if start else 200, content[start:], etag, cut=cut)

    def reply(
        self, status: int, body: str | bytes, headers: dict[str, str] | None = None, cut: int = 0
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[:cut] if cut else data)
        if cut:
            self.close_connection = True


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hub") / "bert"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(TOKENS))
    config = transformers.BertConfig(
        vocab_size=len(TOKENS), hidden_size=16, max_position_embeddings=24, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=32,
    )  # fmt: skip
    transformers.BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def hub(folder, tmp_path, monkeypatch) -> Iterator[Hub]:
    from huggingface_hub import constants

    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    server = Hub(files | {"modeling.py": b"raise SystemExit", "pytorch_model.bin": b"pickle"})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield server
    server.shutdown()
    server.server_close()


def test_a_run_starts_from_a_model_of_the_hub(hub, folder, reviews, tmp_path) -> None:
    small = {"max_steps": 1, "threads": 1, "quiet": True, "lr": 1e-12}
    run = package.train(reviews, start="hf:some/bert", out=tmp_path / "run", **small)
    local = package.train(reviews, start=folder, out=tmp_path / "local", **small)
    record = json.loads((run.path / "config.json").read_text())["start"]
    assert record["path"] == f"hf:some/bert@{COMMIT}"
    ours, theirs = run.model.state_dict(), local.model.state_dict()
    assert all(ours[name].allclose(theirs[name], atol=1e-6) for name in ours if "encoder" in name)
    asked = " ".join(hub.asked)
    assert "modeling.py" not in asked
    assert ".bin" not in asked
    hub.shutdown()
    again = package.load(run.path)  # needs neither the hub nor its cache
    assert again.predict(["a good film"])[0].label == run.predict(["a good film"])[0].label
    assert fetch(f"hf:some/bert@{COMMIT}").folder == fetch(f"hf:some/bert@{COMMIT}").folder


def test_a_commit_that_is_there_needs_no_network(hub) -> None:
    first = fetch("hf:some/bert@main")
    asked = len(hub.asked)
    assert fetch(first.name) == first
    assert len(hub.asked) == asked


def test_a_download_that_breaks_off_is_not_used(hub, tmp_path) -> None:
    hub.cut = 3000
    with pytest.raises(RunError, match=r"hf:some/bert: cannot be fetched .*Check the network"):
        fetch("hf:some/bert")
    assert not list((tmp_path / "cache").rglob("snapshots/*/model.safetensors"))
    hub.cut = 0
    model = fetch("hf:some/bert")
    assert (model.folder / "model.safetensors").read_bytes() == hub.files["model.safetensors"]


def without(*names: str):
    def change(hub: Hub) -> None:
        for name in names:
            del hub.files[name]

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("hf:some/bert@nothing", without(), "the model has no such revision.*got 'nothing'"),
        (f"hf:some/bert@{OLD[:-1]}g", without(), "the model has no such revision"),
        ("hf:some/other", without(), "the hub has no such model, or it is private"),
        ("hf:some/bert", without("config.json"), "has no config.json"),
        ("hf:some/bert", without("model.safetensors"),
         "has no safetensors; files that may hold code are not read; got 'pytorch_model.bin'"),
        ("hf:some/bert", lambda hub: hub.shutdown() or hub.server_close(), "cannot be fetched"),
        ("hf:../../etc", without(), "not the name of a model of the hub"),
        ("hf:", without(), "not the name of a model of the hub"),
        ("hf:some/bert@", without(), "not the name of a model of the hub"),
        ("hf:http:127.0.0.1", without(), "not the name of a model of the hub"),
    ],
)  # fmt: skip
def test_errors_in_one_line(name, change, message, hub, reviews, tmp_path, capsys) -> None:
    change(hub)
    out = tmp_path / "run"
    assert command(["train", str(reviews), "--from", name, "--out", str(out)]) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert re.match(f"unspool: {re.escape(name)}: {message}", line), line
    assert not out.exists()
    assert not list((tmp_path / "cache").rglob("snapshots/*/*"))
