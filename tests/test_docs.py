"""What README and docs tell people to type exists and works."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import torch
import typer

from unspool import cli, native
from unspool.cli.app import app
from unspool.config import Config
from unspool.config.resolve import full_name
from unspool.embed.settings import EmbedConfig
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


@pytest.mark.parametrize(("page", "line"), commands(), ids=lambda x: str(x)[:60])
def test_a_command_in_the_docs_exists(page: str, line: str) -> None:
    known = typer.main.get_command(app).commands
    words = shlex.split(line.replace("[", "").replace("]", "").replace("...", ""))[1:]
    if words[0].startswith("-"):
        return
    assert words[0] in known, line
    command = known[words[0]]
    if hasattr(command, "commands") and len(words) > 1:  # `unspool vectors map ...`
        assert words[1] in command.commands, line
        command = command.commands[words[1]]
    flags = {flag for p in command.params for flag in (*p.opts, *p.secondary_opts)}
    kind = {"embed": EmbedConfig, "topics": TopicsConfig}.get(words[0], Config)
    kind = Config if "elmo" in words else kind
    for place, word in enumerate(words):
        if word.startswith("-") and word != "-":
            assert word in flags, line
        if word in ("--set", "-s") and "=" in words[place + 1]:
            key = words[place + 1].split("=")[0]
            assert key in ("key", "name") or full_name(key, options=OPTIONS, kind=kind), line


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_scripts_and_settings_named_in_the_docs_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for script in re.findall(r"python ((?:bench|tests)/[\w/]+\.py)", text):
        assert (ROOT / script).exists(), script


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


def walks() -> list[list[tuple[str, str]]]:
    """The tables of modules and functions of the architecture page: (path, function) in order."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tables = text.split("| module | function |")[1:]
    return [re.findall(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", t, re.M) for t in tables]


def called(*arguments: str) -> list[tuple[str, str]]:
    """The functions of unspool in the order of their first call."""
    source, found = str(ROOT / "src" / "unspool") + "/", dict[tuple[str, str], None]()

    def note(frame, event, _) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(source):
            found.setdefault((path.removeprefix(source), frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        assert cli.run(list(arguments)) == 0
    finally:
        sys.setprofile(None)
    return list(found)


@pytest.mark.skipif(native.INSTRUCTIONS is None, reason="the walk passes the native kernels")
def test_the_walks_of_the_architecture_page(tmp_path, monkeypatch, reviews) -> None:
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "cache"))
    train, predict = walks()
    small = ("--set", "max_steps=1", "--set", "hidden=8", "--set", "precision=fp32")
    run = str(tmp_path / "run")
    for walk, command in [
        (train, ("train", str(reviews), "--out", run, *small)),
        (predict, ("predict", run, "a fine film")),
    ]:
        assert len(walk) > 10
        assert len({path for path, _ in walk}) == len(walk)
        order = called(*command)
        assert [each for each in order if each in walk] == walk
