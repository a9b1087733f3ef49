"""Running the command in this process, with what it printed, and commands that must be refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from small_table import TABLE

from unspool.cli import run


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def unspool(capfd):
    """`unspool("train", path)` -> exit code, stdout, stderr."""

    def call(*arguments: object) -> Ended:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        return Ended(code, *capfd.readouterr())

    return call


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty working folder; inputs lie beside it."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.fixture
def file(here) -> Callable[..., Path]:
    def write(content: str | bytes = TABLE, name: str = "data.csv") -> Path:
        path = here / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def refused(unspool, here) -> Callable[..., str]:
    """Run a command that must fail well; returns the error's line."""

    def call(*arguments: object, says: list[str], code: int = 2, kept: Path | None = None) -> str:
        before = snapshot(kept) if kept else None
        ended = unspool(*arguments)
        lines = ended.err.splitlines()
        errors = [line for line in lines if line.startswith("unspool: ")]
        assert ended.code == code, ended.err
        assert errors == lines[-1:], ended.err
        assert "Traceback" not in ended.err
        assert ended.out == ""
        for part in says:
            assert part in errors[0]
        assert not list((here / "here").iterdir()), "something was written"
        if kept:
            assert snapshot(kept) == before
        return errors[0]

    return call


def snapshot(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
