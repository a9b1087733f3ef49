"""The commands and programs of docs/serve.md and of the README, as they are printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from tones import RATE, tones, wav
from unspool.cli.serve import serve as command
from unspool.serve.settings import ServeLimits

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CURLS = sorted(
    {
        line.strip()
        for page in (PAGE, README)
        for line in page.splitlines()
        if line.startswith("    curl ")
    }
)
HERE = [line for line in CURLS if "localhost:8000" in line]


@pytest.fixture(scope="module")
def server(serve, translator, classifier, writer, listener):
    names = {
        "demo-dates": translator, "reviews-bilstm": classifier, "book": writer, "digits": listener,
    }  # fmt: skip
    return serve(*(f"{name}={run}" for name, run in names.items()))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    for name in ("a.wav", "b.wav"):
        (tmp_path / name).write_bytes(wav(tones("abc", 1), RATE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_some() -> None:
    assert len(HERE) >= 10
    assert any("demo-dates" in line and line in README for line in HERE)
    assert "unspool serve runs/demo-dates" in README


@pytest.mark.parametrize("line", HERE)
def test_a_line_of_curl(server, folder, line) -> None:
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    typed = line.replace("localhost:8000", f"localhost:{server.port}")
    result = subprocess.run(
        ["bash", "-c", f"{typed} --silent --show-error --fail-with-body"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    first = result.stdout.splitlines()[0].removeprefix("data: ")
    assert "detail" not in json.loads(first)


def test_a_reload_by_curl(serve, classifier) -> None:
    (line,) = [line for line in CURLS if line.endswith(":9001/reload")]
    assert line == "curl -X POST localhost:9001/reload"  # test_lifecycle.py asks for it
    assert "curl -X POST localhost:9001/reload/reviews-bilstm" in CURLS


def program(language: str, number: int) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)[number]


@pytest.mark.parametrize("number", [0, 1])
def test_a_client_in_python(server, number) -> None:
    source = program("python", number).replace("localhost:8000", f"localhost:{server.port}")
    result = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() in ("pos", "neg") if number == 0 else len(result.stdout) == 40


def test_a_client_in_javascript(server) -> None:
    if shutil.which("node") is None:
        pytest.skip("needs node")
    source = program("javascript", 0).replace("localhost:8000", f"localhost:{server.port}")
    result = subprocess.run(
        ["node", "--input-type=module", "-e", source], capture_output=True, text=True
    )
    if "fetch is not defined" in result.stderr:
        pytest.skip("needs a node that has fetch")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() in ("pos", "neg")


def test_the_limits_are_those_of_the_code() -> None:
    """Names, and their defaults."""
    shown = {
        name: value.strip().replace(",", "")
        for names, values in re.findall(
            r"^\| ((?:`\w+`(?:, )?)+) \|[^|]*\| ([\d,; ]+) \|", PAGE, re.M
        )
        for name, value in zip(re.findall(r"\w+", names), values.split(";"))
    }
    assert {each.name: float(each.default) for each in fields(ServeLimits)} == {
        name: float(value) for name, value in shown.items()
    }


def test_the_unit_of_systemd(tmp_path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    unit = tmp_path / "unspool.service"
    unit.write_text(program("ini", 0).replace("/opt/unspool/bin/unspool", sys.executable))
    result = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True,
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )  # fmt: skip
    assert "unspool.service" not in result.stderr, result.stderr


def test_options_of_the_files_exist() -> None:
    """Those of the Dockerfile, the unit and the text."""
    parameters = {name.replace("_", "-") for name in command.__annotations__}
    for option in re.findall(r"`?--([a-z-]+)", program("dockerfile", 0) + program("ini", 0)):
        assert option in parameters | {"create-home"}, option
