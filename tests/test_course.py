"""The page of the course: every command runs, and every number in it is what comes out."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from functools import partial
from pathlib import Path

import pytest

from course_page import CHAPTERS, PAGE, commands, makers
from unspool.cli import run
from unspool.demos import DEMOS, FILES, course, dates, memory, reviews, sentences, write_files
from unspool.errors import DataError

TRAINING = ["--set", "epochs=1", "--set", "max_steps=2", "--set", "threads=1"]
SHORT = {"train": TRAINING, "compare": TRAINING, "look": ["--method", "gradient"]}


def test_the_list_of_the_command_is_that_of_the_page() -> None:
    page = [
        (chapter, idea.splitlines()[0], [line for line, _ in commands(idea)])
        for chapter, text in CHAPTERS.items()
        for idea in text.split("\n### ")[1:]
    ]
    assert [tuple(idea) for idea in course()] == page
    assert all(idea.commands for idea in course())


def test_every_model_of_the_page_is_tested() -> None:
    """Of `runs/clipped` the page says nothing but that it is trained."""
    tests = "".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("course/test_*.py")
    )
    made = {name: line for name, line in makers().items() if name != "runs/clipped"}
    assert len(made) > 10
    for name, line in made.items():
        assert line in tests or re.search(rf"{name}\b(?!-)", tests), name


def test_data_of_the_course(tmp_path) -> None:
    paths = write_files(tmp_path / "data")
    assert [path.name for path in paths] == list(FILES)
    first = [path.read_bytes() for path in paths]
    assert first == [path.read_bytes() for path in write_files(tmp_path / "again")]
    with pytest.raises(DataError, match=r"reviews.csv: there is such a file already"):
        write_files(tmp_path / "data")
    with pytest.raises(DataError, match=r"not a folder.*another one for --data"):
        write_files(tmp_path / "data" / "dates.tsv")


def test_half_of_the_first_names_are_none() -> None:
    found = [dict(sentence) for sentence in sentences.teddy(400, 1)]
    for name in sentences.NAMES:
        tags = [words[name] for words in found if name in words]
        assert 0.3 < tags.count("B-PER") / len(tags) < 0.7


def test_it_is_tagged_with_a_noun_of_its_sentence() -> None:
    for sentence in sentences.it(200, 1):
        words = dict(sentence)
        assert words["it"] in words
        assert [tag for word, tag in sentence if word != "it"] == ["-"] * (len(sentence) - 1)


@pytest.fixture
def small(tmp_path, monkeypatch, classifier) -> Path:
    """A working folder with little data, a trained run, and demos that end at once. Pictures are
    made, but not drawn: other tests do that."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("unspool.io.pictures.save_picture", lambda _, path: path.write_text(""))
    (tmp_path / "data").mkdir()
    every = reviews.reviews(300, seed=1)
    reviews.write_csv(tmp_path / "data" / "reviews.csv", every)
    dates.write_tsv(tmp_path / "data" / "dates.tsv", dates.dates(80, 1, held_out=False))
    for name, text in {
        "corpus.txt": "\n".join(sentences.corpus(300, 1)) + "\n",
        "teddy.conll": sentences.conll(sentences.teddy(60, 1)),
        "it.conll": sentences.conll(sentences.it(100, 1)),
    }.items():
        (tmp_path / "data" / name).write_text(text)
    shutil.copytree(classifier, tmp_path / "runs" / "demo-reviews")
    for name, short in {
        "dates": partial(dates.run, pairs=200, epochs=1),
        "memory": partial(memory.run, distance=6, updates=2),
        "reviews": lambda say: say("trained"),
    }.items():
        monkeypatch.setitem(DEMOS, name, DEMOS[name]._replace(run=short))
    return tmp_path


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_commands_of_a_chapter(chapter, small, capfd) -> None:
    for line, shown in commands(CHAPTERS[chapter]):
        words = shlex.split(line)[1:]
        short = TRAINING if "elmo" in words else SHORT.get(words[0], [])
        capfd.readouterr()
        assert run([*words, *short]) == 0, f"{line}\n{capfd.readouterr().err}"
        printed = {" ".join(each.split()) for each in capfd.readouterr().out.splitlines()}
        assert {" ".join(each.split()) for each in shown} <= printed, line
    assert list(small.glob("seen/*.png")) or "--pictures" not in CHAPTERS[chapter]


def test_the_python_of_the_page() -> None:
    """What a line prints stands behind it, or in a comment of its own."""
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        expected = re.findall(r"print\(.*\)  # (.*)$|^# (.*)$", block, re.M)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        assert printed.getvalue().splitlines() == [one or other for one, other in expected], block
