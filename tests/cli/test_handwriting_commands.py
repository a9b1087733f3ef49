"""`unspool generate` of drawings and of texts, and what it refuses in one line."""

from __future__ import annotations

import json

import pytest

import unspool as api
from unspool.demos.handwriting import write_words

SMALL = {
    "task": "handwrite", "hidden": 8, "layers": 1, "mixture": 2, "epochs": 1,
    "threads": 1, "baseline": False, "quiet": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handwriting")
    write_words(folder / "words.jsonl", count=30, letters="lit")
    api.train(folder / "words.jsonl", out=folder / "words", text_window=2, **SMALL)
    api.train(folder / "words.jsonl", out=folder / "free", conditional=False, **SMALL)
    return folder


def test_a_text_is_written_to_files(runs, here, unspool) -> None:
    out, png = here / "till.svg", here / "till.png"
    ended = unspool(
        "generate", runs / "words", "--text", "till", "--bias", 1, "--length", 20, "--out", out,
        "--png", png,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert out.read_text().startswith("<svg")
    assert "<title>till</title>" in out.read_text()
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "1 drawings in" in ended.err


def test_strokes_as_json(runs, here, unspool) -> None:
    ended = unspool("generate", runs / "free", "--json", "--length", 5, "--seed", 4)
    found = json.loads(ended.out)
    assert found["seed"] == 4
    assert sum(map(len, found["strokes"])) <= 6
    again = unspool("generate", runs / "free", "--prompt", runs / "words.jsonl", "--json")
    assert json.loads(again.out)["given"] > 3
    plain = unspool("generate", runs / "free", "--length", 5)
    assert "points in" in plain.out


def test_a_drawing_is_looked_at(runs, here, unspool) -> None:
    seen = here / "seen"
    ended = unspool("look", runs / "words", runs / "words.jsonl", "--pictures", seen)
    assert ended.code == 0, ended.err
    assert {"strokes.png", "window.png", "trace.json"} <= {path.name for path in seen.iterdir()}
    ended = unspool("evaluate", runs / "words", runs / "words.jsonl")
    assert "nats a point" in ended.out


@pytest.mark.parametrize(
    ("run", "arguments", "says"),
    [
        ("words", ["--text", "lot"], ["never seen written; got 'o'", "Write with ilt"]),
        ("words", [], ["there is no text to write", "--text"]),
        ("words", ["--text", " "], ["there is no text to write"]),
        ("words", ["--text", "lit", "--top-k", "3"], ["--top-k is for", "handwrite"]),
        ("words", ["--text", "lit", "--bias", "-1"], ["bias must lie between 0 and 20; got -1"]),
        ("words", ["--text", "lit", "--bias", "nan"], ["bias"]),
        ("words", ["--text", "lit", "--temperature", "-1"], ["temperature must lie between"]),
        ("words", ["--text", "lit", "--out", "a.pdf"], ["ending of the output file; got '.pdf'"]),
        ("words", ["--text", "lit", "--png", "a.xyz"], ["a.xyz"]),
        ("free", ["--text", "lit"], ["trained without texts", "Leave out the text"]),
        ("free", ["--prompt", "missing.jsonl"], ["missing.jsonl: no such file"]),
        ("free", ["--length", "99999999999"], ["a drawing of 99,999,999,999 points"]),
    ],
)
def test_refused(runs, refused, run, arguments, says) -> None:
    refused("generate", runs / run, *arguments, says=says)


def test_flags_of_handwriting_are_not_for_texts(writer, refused) -> None:
    for flag, value in (("--bias", "1"), ("--text", "a"), ("--png", "a.png")):
        refused("generate", writer, flag, value, says=[f"{flag} is for drawings"])
