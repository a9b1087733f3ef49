"""Commands that write, killed at a rename or out of room: the same command then succeeds, and
nothing is left over or damaged."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from unspool.cli import run

SMALL = ["-s", "epochs=1", "-s", "max_steps=2", "-s", "threads=1", "-s", "hidden=4"]
VECTORS = ["-s", "size=8", "-s", "epochs=1", "-s", "threads=1", "-s", "min_count=1"]
ROOM = 8  # bytes of a file that fit on the full disk


class Command(NamedTuple):
    """A command that writes `out`, and its renames at which it is killed."""

    words: str
    out: str
    killed_at: tuple[int, ...] = (1,)


COMMANDS = {
    "train": Command("train {data} --model gru {small} -o {out}", "run", (1, 6, 12)),
    "linear": Command("train {data} --model linear -o {out}", "run", (1, 6)),
    "embed": Command("embed {data} {vectors} -o {out}", "vectors", (1, 3)),
    "topics": Command("topics {data} --topics 2 -o {out}", "topics", (1, 3)),
    "check": Command("check {data} --fix {out}", "fixed.csv", (1, 2)),
    "predict": Command("predict {run} --file {data} --out {out}", "answers.csv"),
    "json": Command("predict {run} --file {data} --out {out}", "answers.jsonl"),
    "onnx": Command("export {run} --out {out}", "onnx", (1, 2)),
    "web": Command("export {run} --to web --out {out}", "web", (1, 2)),
    "pack": Command("pack {run} --out {out}", "run.unspool"),
    "compare": Command(
        "compare {data} --models linear,gru --seeds 1 {small} -o {out}", "compared", (1, 9)
    ),
    "generate": Command("generate {writer} --length 20 --out {out}", "texts.txt"),
}
CASES = [
    pytest.param(name, at, id=f"{name}-{'full' if not at else f'killed-{at}'}")
    for name, command in COMMANDS.items()
    for at in (*command.killed_at, 0)
]


@pytest.mark.parametrize(("name", "killed_at"), CASES)
def test_the_same_command_succeeds(name, killed_at, tmp_path, reviews, classifier, writer) -> None:
    if name == "onnx":
        pytest.importorskip("onnx")
    command, out = COMMANDS[name], tmp_path / COMMANDS[name].out
    paths = {"data": tmp_path / "data.csv", "run": tmp_path / "old", "writer": tmp_path / "writer"}
    paths["data"].write_text("".join(reviews.read_text().splitlines(keepends=True)[:61]))
    for key, source in (("run", classifier), ("writer", writer)):
        if f"{{{key}}}" in command.words:
            shutil.copytree(source, paths[key])
    lists = {"{small}": SMALL, "{vectors}": VECTORS}
    words = [
        word.format(out=out, **paths)
        for group in command.words.split()
        for word in lists.get(group, [group])
    ]
    before = digests(tmp_path)

    ended = in_child(words, tmp_path, killed_at)
    assert ended.signal == (signal.SIGKILL if killed_at else 0), ended.printed
    if not killed_at:
        assert ended.code in (1, 2), ended.printed
        assert "Traceback" not in ended.printed
    written = digests(tmp_path)
    assert {path: written[path] for path in before} == before

    begun = (out / "config.json").exists() and words[0] == "train"
    ended = in_child(["train", "--resume", "-o", str(out)] if begun else words, tmp_path)
    assert ended.code == 0, ended.printed
    after = digests(tmp_path)
    assert {path: after[path] for path in before} == before
    if out.is_file() and out in written:
        assert after[out] == written[out]  # whole, or not there
    assert [path for path in tmp_path.rglob("*") if path.name.endswith(".part")] == []


def digests(folder: Path) -> dict[Path, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Ended(NamedTuple):
    code: int
    signal: int
    printed: str


def in_child(words: list[str], folder: Path, killed_at: int | None = None) -> Ended:
    """Run a command in a forked process that dies at its n-th rename in `folder`; 0: that can write
    only a few bytes of each file."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 99
        try:
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            os.close(reading)
            sys.stdout, sys.stderr = os.fdopen(1, "w", 1), os.fdopen(2, "w", 1)
            if killed_at:
                die_at(killed_at, folder)
            elif killed_at is not None:
                fill_disk()
            code = run(words)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as pipe:
        printed = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Ended(-1, os.WTERMSIG(status), printed)
    return Ended(os.WEXITSTATUS(status), 0, printed)


def die_at(call: int, folder: Path) -> None:
    """Make this process kill itself just before its n-th rename into `folder`."""
    calls = 0

    def deadly(real: Callable[..., None]) -> Callable[..., None]:
        def wrapper(source: Any, target: Any, **named: Any) -> None:
            nonlocal calls
            calls += Path(target).resolve().is_relative_to(folder.resolve())
            if calls == call:
                os.kill(os.getpid(), signal.SIGKILL)
            real(source, target, **named)

        return wrapper

    os.replace, os.rename = deadly(os.replace), deadly(os.rename)


def fill_disk() -> None:
    """Limit the size of files: every write beyond is refused (EFBIG), as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, resource.RLIM_INFINITY))
