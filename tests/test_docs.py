"""What README and docs tell people to type exists and works."""

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import typer

import walks
from unspool import native
from unspool.cli.app import app
from unspool.config import Config
from unspool.config.resolve import full_name
from unspool.embed.settings import EmbedConfig
from unspool.errors import ConfigError
from unspool.nn.cells import CELLS, cell_options
from unspool.topic_model.settings import TopicsConfig

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OPTIONS = {name for cell in CELLS.values() for name in cell_options(cell)}


def commands() -> list[tuple[str, str]]:
    """Every `unspool ...` of the pages: indented lines and inline code."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        lines = re.findall(r"^    (unspool .*)$", text, re.M)
        lines += re.findall(r"`(unspool [^`]+)`", text)
        found += [(page.name, line.split(" #")[0].strip()) for line in lines]
    return found


@cache
def cli_commands() -> dict[str, Any]:
    return typer.main.get_command(app).commands


def faults_of(line: str) -> list[str]:
    """The words of a command that unspool does not know."""
    known = cli_commands()
    words = shlex.split(line.replace("[", "").replace("]", "").replace("...", ""))[1:]
    if words[0].startswith("-"):
        return []
    if words[0] not in known:
        return [words[0]]
    command = known[words[0]]
    if hasattr(command, "commands") and len(words) > 1:  # `unspool vectors map ...`
        if words[1] not in command.commands:
            return [words[1]]
        command = command.commands[words[1]]
    flags = {flag for p in command.params for flag in (*p.opts, *p.secondary_opts)}
    kind = {"embed": EmbedConfig, "topics": TopicsConfig}.get(words[0], Config)
    kind = Config if "elmo" in words else kind
    faults = []
    for place, word in enumerate(words):
        if word.startswith("-") and word != "-" and word not in flags:
            faults.append(word)
        if word in ("--set", "-s") and "=" in words[place + 1]:
            key = words[place + 1].split("=")[0]
            if key not in ("key", "name") and not known_setting(key, kind):
                faults.append(key)
    return faults


def known_setting(key: str, kind: type) -> bool:
    try:
        return bool(full_name(key, options=OPTIONS, kind=kind))
    except ConfigError:
        return False


def test_commands_in_the_docs_exist() -> None:
    lines = commands()
    assert len(lines) > 100
    faults = {(page, line): wrong for page, line in lines if (wrong := faults_of(line))}
    assert faults == {}


def test_links_lead_somewhere() -> None:
    broken = [
        (page.name, target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
        if not target.startswith("http") and not (page.parent / target).exists()
    ]
    assert broken == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_anchors_of_links_exist() -> None:
    links = [
        (page, target, anchor)
        for page in PAGES
        for target, anchor in re.findall(
            r"\]\(([\w./-]*)#([^)]+)\)", page.read_text(encoding="utf-8")
        )
    ]
    assert links
    broken = [
        (page.name, f"{target}#{anchor}")
        for page, target, anchor in links
        if anchor not in anchors(page.parent / target if target else page)
    ]
    assert broken == []


def test_scripts_named_in_the_docs_exist() -> None:
    scripts = [
        (page.name, script)
        for page in PAGES
        for script in re.findall(
            r"python ((?:bench|tests)/[\w/]+\.py)", page.read_text(encoding="utf-8")
        )
    ]
    assert scripts
    assert [(page, script) for page, script in scripts if not (ROOT / script).exists()] == []


def test_no_command_is_promised_that_there_is_not() -> None:
    """The description says what unspool does with verbs, which are commands."""
    said = re.search(r'^description = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)
    opening = PAGES[0].read_text(encoding="utf-8").partition("\n## ")[0]
    if "serve" not in {command.callback.__name__ for command in app.registered_commands}:
        assert "serve" not in said[1] + opening


def test_pictures_are_small() -> None:
    pictures = list((ROOT / "docs" / "pictures").glob("*.png"))
    assert pictures
    for path in pictures:
        assert path.stat().st_size <= 80_000, path
        assert any(f"pictures/{path.name})" in page.read_text(encoding="utf-8") for page in PAGES)


def blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.S)


def test_python_of_the_readme(tmp_path, monkeypatch, reviews) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("reviews.csv", "test.csv"):
        (tmp_path / name).write_text(reviews.read_text())
    first, second = blocks("README.md")
    rows = [line.rsplit(",", 1) for line in reviews.read_text().splitlines()[1:]]
    texts, labels = [row[0] for row in rows], [row[1] for row in rows]
    frame = {"review": texts, "stars": labels}  # what a data frame is, without its library
    exec(first, {"frame": frame, "texts": texts, "labels": labels})
    values = {"x": torch.randn(3, 7, 32), "lengths": torch.tensor([7, 2, 5])}
    exec(second, values)
    assert values["outputs"].shape == (3, 7, 128)
    assert values["trace"]["layers.0.forwards.forget_gate"].shape == (3, 7, 64)


def test_python_of_the_embed_page() -> None:
    (first,) = blocks("docs/embed.md")[:1]
    exec(first, {})


def test_python_of_the_topics_page(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (only,) = blocks("docs/topics.md")
    exec(only, {})


def test_python_of_the_representations_page(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("docs/representations.md"):
        exec(block, names)


def test_python_of_the_architecture_page(tmp_path, monkeypatch, reviews) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews.csv").write_text(reviews.read_text())
    (code,) = blocks("docs/architecture.md")
    try:
        exec(code, {})
    finally:
        CELLS.pop("leaky", None)
    assert (tmp_path / "runs" / "reviews-bileaky" / "model.safetensors").exists()


def test_the_package_speaks_of_itself_alone() -> None:
    """No path of one machine and no note to a developer in what is shipped."""
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(work|home|root)/|\bTODO\b|\bFIXME\b", text), path


@pytest.mark.skipif(native.INSTRUCTIONS is None, reason="the walks pass the native kernels")
def test_the_walks_of_the_architecture_page(tmp_path) -> None:
    """Every module that runs is on the page, in order; the shortest way in stays short."""
    page = walks.PAGE.read_text(encoding="utf-8")
    traced = walks.walks(tmp_path)
    for name, walk in traced.items():
        table = walks.table(walk)
        assert walks.written(page, name) == table, "run `python tests/walks.py`"
    assert len(traced["text"].visits) <= 90
