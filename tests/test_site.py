"""The documentation as a site: its tutorials run, its links hold, its reference is complete."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import unspool
from unspool import nn
from unspool.cli import run
from unspool.cli.app import app
from unspool.config import settings
from unspool.demos import DEMOS
from unspool.nn import CELLS

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs" / "start").glob("*.md"))
SHORT = ["--set", "epochs=1", "--set", "max_steps=3", "--set", "threads=1"]


def page_commands(page: Path) -> list[str]:
    return re.findall(r"^    (unspool .*)$", page.read_text(encoding="utf-8"), re.M)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(DEMOS, "dates", DEMOS["dates"]._replace(run=lambda say: say("trained")))
    return tmp_path


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_commands_of_a_tutorial(page, folder, capfd) -> None:
    """As they are printed, with short trainings; a page or a server is not opened."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    if blocks:
        (folder / "leaky.py").write_text(blocks[0])
    lines = page_commands(page)
    assert len(lines) > 2
    try:
        for line in lines:
            words = shlex.split(line)[1:]
            opens = words[0] == "serve" or (words[0] == "look" and len(words) == 2)
            if opens or line == "unspool demo memory":
                continue
            assert run([*words, *(SHORT if words[0] == "train" else [])]) == 0, (
                f"{line}\n{capfd.readouterr().err}"
            )
        for block in blocks[1:]:
            exec(block, {})
    finally:
        CELLS.pop("leaky", None)
        sys.modules.pop("leaky", None)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    path = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return path


def test_every_command_setting_and_name_is_in_the_reference(site) -> None:
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for name, command in typer.main.get_command(app).commands.items():
        names = [f"{name}-{sub}" for sub in getattr(command, "commands", {})] or [name]
        assert all(f'id="{each}"' in commands for each in names), name
    listed = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    for name, _ in settings():
        assert f"<code>{name.partition('.')[2] or name}</code>" in listed, name
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert all(f'.{name}"' in python for name in unspool.__all__ if name != "__version__")
    layers = (site / "reference" / "layers.html").read_text(encoding="utf-8")
    assert all(f'.{name}"' in layers for name in nn.__all__)


def test_no_page_loads_anything_from_elsewhere(site) -> None:
    for page in site.rglob("*.html"):
        if page.name != "404.html":
            text = page.read_text(encoding="utf-8")
            assert not re.findall(r"<(?:script|img|link rel=\"stylesheet\")[^>]*https?://", text), (
                page
            )
