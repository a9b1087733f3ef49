"""Answers to a whole file are the same bytes on any number of processes, and after any
interruption: no row is lost, none is there twice."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reviews import review
from unspool.api.run import load
from unspool.cli import bulk
from unspool.cli import run as command

ROWS = 500
# A module that a command imports first: small chunks, each in the journal at once, and slow ones.
SLOW = """
import time
from unspool.cli import bulk

bulk.CHUNK, bulk.EVERY = 40, 0.0
predict = bulk.BulkPrediction.predict


def slow(self, run, chunk):
    time.sleep({seconds})
    return predict(self, run, chunk)


bulk.BulkPrediction.predict = slow
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    rng = random.Random(1)
    path = tmp_path_factory.mktemp("table") / "new.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "note"])
        for number in range(ROWS):
            text = review(rng, rng.choice(["pos", "neg"])) if number % 50 else ""
            writer.writerow([number, text, 'a "quoted", cell'])
    return path


@pytest.fixture
def small(monkeypatch) -> None:
    """Small chunks, each in the journal at once."""
    monkeypatch.setattr(bulk, "CHUNK", 40)
    monkeypatch.setattr(bulk, "EVERY", 0.0)


def predict(run: Path, table: Path, out: Path, *more: str) -> int:
    return command(["predict", str(run), "--file", str(table), "--out", str(out), *more])


@pytest.fixture(scope="module")
def expected(classifier, table, tmp_path_factory) -> Path:
    """The folder with the answers of one command that was not interrupted, in chunks of 40."""
    folder = tmp_path_factory.mktemp("expected")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "CHUNK", 40)
        for ending in ("csv", "jsonl", "txt", "parquet"):
            assert predict(classifier, table, folder / f"a.{ending}") == 0
    return folder


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_the_answers_are_those_of_python(classifier, table, expected) -> None:
    with open(expected / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(table, newline="") as file:
        given = list(csv.DictReader(file))
    answers = load(classifier).predict([row["text"] for row in given])
    assert len(rows) == ROWS
    for row, origin, answer in zip(rows, given, answers):
        assert {name: row[name] for name in origin} == origin
        assert row["label"] == answer.label
        assert float(row["probability"]) == pytest.approx(answer.probability, abs=2e-6)
    lines = (expected / "a.jsonl").read_text().splitlines()
    assert [json.loads(line)["label"] for line in lines] == [a.label for a in answers]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_several_processes_write_the_same(ending, classifier, table, expected, tmp_path) -> None:
    plugin = tmp_path / "small.py"
    plugin.write_text(SLOW.format(seconds=0))
    out = tmp_path / f"a.{ending}"
    words = [sys.executable, "-m", "unspool", "predict", str(classifier), "--file", str(table),
             "--out", str(out), "--processes", "2", "--plugin", str(plugin)]  # fmt: skip
    ended = subprocess.run(words, capture_output=True, text=True, env=one_thread())
    assert ended.returncode == 0, ended.stderr
    assert f"{ROWS} predictions in {out}" in ended.stderr
    assert "10 texts were empty" in ended.stderr
    assert out.read_bytes() == (expected / out.name).read_bytes()
    assert left(tmp_path) == []


def one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "txt", "parquet"])
@pytest.mark.usefixtures("small")
def test_interrupted_and_resumed(
    ending, classifier, table, expected, tmp_path, monkeypatch, capsys
) -> None:
    out = tmp_path / f"a.{ending}"
    whole, chunks = bulk.BulkPrediction.predict, [0]

    def stopping(self, run, chunk):
        chunks[0] += 1
        if chunks[0] % 4 == 0:
            raise KeyboardInterrupt
        return whole(self, run, chunk)

    monkeypatch.setattr(bulk.BulkPrediction, "predict", stopping)
    assert predict(classifier, table, out) == 130
    assert "120 rows are done; the same command with --resume goes on" in capsys.readouterr().err
    codes = []
    for junk in (b"", b"cut off", b"x" * 100_000, b"\n", b"", b""):
        with open(tmp_path / f".a.{ending}.part", "ab") as file:
            file.write(junk)  # what a killed process wrote after its last line in the journal
        with open(tmp_path / f".a.{ending}.journal", "ab") as file:
            file.write(junk[:3].replace(b"\n", b""))
        codes.append(predict(classifier, table, out, "--resume"))
        if codes[-1] == 0:
            break
    assert codes == [130, 130, 130, 0]
    assert out.read_bytes() == (expected / out.name).read_bytes()
    assert left(tmp_path) == []


def test_killed_and_resumed(classifier, table, expected, tmp_path) -> None:
    """Killed at any moment; the processes that predict end with the first one."""
    plugin = tmp_path / "slow.py"
    plugin.write_text(SLOW.format(seconds=0.1))
    out, rng = tmp_path / "a.csv", random.Random(5)
    words = [sys.executable, "-m", "unspool", "predict", str(classifier), "--file", str(table),
             "--out", str(out), "--resume", "--plugin", str(plugin)]  # fmt: skip
    for more in (["--processes", "2"], []):
        process = subprocess.Popen([*words, *more], stderr=subprocess.DEVNULL, env=one_thread())
        journal, deadline = tmp_path / ".a.csv.journal", time.monotonic() + 60
        before = journal.stat().st_size if journal.exists() else 0
        while not journal.exists() or journal.stat().st_size <= max(before, 100):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(rng.random() * 0.2)
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert len(workers) >= (2 if more else 0)
        while any(alive(worker) for worker in workers):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert subprocess.run(words, stderr=subprocess.DEVNULL, env=one_thread()).returncode == 0
    assert out.read_bytes() == (expected / "a.csv").read_bytes()
    assert left(tmp_path) == []


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


def alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.usefixtures("small")
def test_other_work_is_not_resumed(classifier, table, tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "a.csv"
    whole = bulk.BulkPrediction.predict

    def stopping(self, run, chunk):
        if chunk.first > 100:
            raise KeyboardInterrupt
        return whole(self, run, chunk)

    monkeypatch.setattr(bulk.BulkPrediction, "predict", stopping)
    assert predict(classifier, table, out) == 130
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("film", "movie", 1))
    capsys.readouterr()
    assert predict(classifier, other, out, "--resume") == 2
    message = f"{out}: was begun with another file, model or options. Leave out --resume to begin"
    assert message in capsys.readouterr().err
    assert left(tmp_path) == [".a.csv.journal", ".a.csv.part"]
    journal = tmp_path / ".a.csv.journal"
    journal.write_text(journal.read_text().splitlines()[0] + "\n[1, 2\n")
    assert predict(classifier, table, out, "--resume") == 2
    assert "damaged: no journal of predictions" in capsys.readouterr().err
    monkeypatch.setattr(bulk.BulkPrediction, "predict", whole)
    assert predict(classifier, table, out) == 0  # begins anew
    assert left(tmp_path) == []


def test_nothing_to_resume(classifier, table, tmp_path, capsys) -> None:
    out = tmp_path / "a.csv"
    assert predict(classifier, table, out, "--resume") == 0
    assert "nothing was begun, so there is nothing to resume" in capsys.readouterr().err
    assert out.exists()


@pytest.mark.usefixtures("small")
def test_stopped_at_the_very_end(
    classifier, table, expected, tmp_path, monkeypatch, capsys
) -> None:
    """Killed after the file got its name, before the journal was removed."""
    out = tmp_path / "a.csv"
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
    assert predict(classifier, table, out) == 0
    monkeypatch.undo()
    monkeypatch.setattr(bulk, "CHUNK", 40)
    assert predict(classifier, table, out, "--resume") == 0
    assert f"{out} is complete" in capsys.readouterr().err
    assert out.read_bytes() == (expected / "a.csv").read_bytes()


@pytest.mark.usefixtures("small")
def test_a_full_disk_keeps_what_is_done(
    classifier, table, expected, tmp_path, monkeypatch, capsys
) -> None:
    out = tmp_path / "a.csv"
    calls = [0]

    def full(descriptor):
        calls[0] += 1
        if calls[0] == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(bulk.os, "fsync", full)
    assert predict(classifier, table, out) == 2
    assert (
        f"{out}: cannot be written (No space left on device). Make room, and"
        in capsys.readouterr().err
    )
    assert predict(classifier, table, out, "--resume") == 0
    assert out.read_bytes() == (expected / "a.csv").read_bytes()


@pytest.mark.usefixtures("small")
def test_a_row_that_cannot_be_read_leaves_nothing(classifier, table, tmp_path, capsys) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text(table.read_text() + "500,a,b,c,d,e\n")
    assert predict(classifier, broken, tmp_path / "a.csv") == 2
    assert "broken.csv:502: expected 3 columns, found 6" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.csv"]


def test_one_command_writes_a_file(classifier, table, tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "a.csv"
    whole = bulk.BulkPrediction.predict

    def twice(self, run, chunk):
        assert predict(classifier, table, out) == 2
        return whole(self, run, chunk)

    monkeypatch.setattr(bulk.BulkPrediction, "predict", twice)
    assert predict(classifier, table, out) == 0
    assert f"{out}: another process writes this file" in capsys.readouterr().err


def test_a_worker_that_dies_is_reported(classifier, table, tmp_path) -> None:
    plugin = tmp_path / "dying.py"
    plugin.write_text(
        SLOW.format(seconds=0) + "import os\n\ndef die(self, run, chunk):\n    os._exit(9)\n\n"
        "bulk.BulkPrediction.predict = die\n"
    )
    out = tmp_path / "a.csv"
    words = [sys.executable, "-m", "unspool", "predict", str(classifier), "--file", str(table),
             "--out", str(out), "--processes", "2", "--plugin", str(plugin)]  # fmt: skip
    ended = subprocess.run(words, capture_output=True, text=True, env=one_thread())
    assert ended.returncode == 2
    last = ended.stderr.splitlines()[-1]
    assert "a process that predicts has ended unexpectedly, perhaps for lack of memory" in last
    assert "Go on with --resume and fewer --processes" in last


@pytest.mark.parametrize("more", [["--resume"], ["--processes", "2"]])
def test_options_of_a_file_are_refused_without_one(more, classifier, table, capsys) -> None:
    for words in (["a film"], ["--file", str(table)]):
        assert command(["predict", str(classifier), *words, *more]) == 2
        message = "only answers to a whole file, written into another one, can be resumed or spread"
        assert message in capsys.readouterr().err
