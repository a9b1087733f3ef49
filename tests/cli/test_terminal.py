"""What a terminal would obey is escaped: labels and texts are data of others."""

from __future__ import annotations

import errno
import os

import pytest

import unspool
from unspool.cli import run
from unspool.io import files
from unspool.io.files import write_atomic


def hostile(path) -> str:
    rows = "".join(
        f"{'red' if i % 2 else 'blue'}\x1b[31m\x9b2J,words of row {i}\n" for i in range(40)
    )
    path.write_text(f"label,text\n{rows}")
    return str(path)


def test_reports_hold_no_control_characters(tmp_path, capsys) -> None:
    assert run(["check", hostile(tmp_path / "data.csv")]) == 0
    assert run(["check", str(tmp_path / "no\x1b[2Jthing.csv")]) == 2
    captured = capsys.readouterr()
    assert r"red\x1b[31m\x9b2J" in captured.out
    assert not {"\x1b", "\x9b"} & {*captured.out, *captured.err}


def test_predictions_for_a_program_are_raw_and_for_a_terminal_escaped(
    tmp_path, capsys, monkeypatch
) -> None:
    path = tmp_path / "run"
    unspool.train(hostile(tmp_path / "data.csv"), model="linear", out=path)
    capsys.readouterr()
    arguments = ["predict", str(path), "words of row 1"]
    assert run(arguments) == 0
    assert "\x1b[31m" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert run(arguments) == 0
    shown = capsys.readouterr().out
    assert r"\x1b[31m" in shown
    assert "\x1b" not in shown
    assert r"\x0" not in shown


def test_errors_of_the_system_name_the_file(tmp_path, monkeypatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match=r"report\.html"):
        write_atomic(tmp_path / "report.html", "text")
    assert not list(tmp_path.iterdir())
