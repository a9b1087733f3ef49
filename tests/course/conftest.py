"""The course as a student takes it: the commands of the page, typed in a folder of its own."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

import unspool
from course_page import PAGE, commands, makers
from unspool.cli import run
from unspool.demos import write_files

PAGE_SEED = 0  # stands for the page's own command, without any seed
LEARNING = ("train", "compare", "embed")


class Course:
    """A folder in which commands of the page are typed. What they need is made first, once, by the
    commands of the page that make it; with a `seed`, the same commands and this seed."""

    def __init__(self, folder: Path, seed: int = PAGE_SEED) -> None:
        self.folder, self.seed = folder, seed
        self.makers = makers()
        self.lines = {line for line, _ in commands(PAGE)}
        self.printed: dict[str, str] = {}
        write_files(folder / "data")

    def type(self, line: str) -> str:
        """What a command of the page prints."""
        assert line in self.lines, f"not on the page: {line}"
        if line not in self.printed:
            for name in re.findall(r"runs/[\w-]+", line):
                if self.makers[name] != line:
                    self.type(self.makers[name])
            self.printed[line] = self._run(line)
        return self.printed[line]

    def _run(self, line: str) -> str:
        words = shlex.split(line)[1:]
        if self.seed != PAGE_SEED and words[0] in LEARNING:
            words += ["--set", f"seed={self.seed}"]
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(io.StringIO()) as printed:
            assert run(words) == 0, line
        return printed.getvalue()

    def made(self, name: str) -> unspool.Run:
        """A run of the page."""
        self.type(self.makers[name])
        return unspool.load(self.folder / name)


@pytest.fixture(scope="session")
def courses(tmp_path_factory) -> dict[int, Course]:
    return {}


@pytest.fixture
def course(courses, tmp_path_factory) -> Course:
    """The page as it is."""
    return _course(courses, tmp_path_factory, PAGE_SEED)


@pytest.fixture(params=[PAGE_SEED, 2, 3], ids=["page", "seed 2", "seed 3"])
def seeded(request, courses, tmp_path_factory) -> Course:
    """The page as it is, and with other seeds: what is claimed must not hang on one."""
    return _course(courses, tmp_path_factory, request.param)


def _course(courses: dict[int, Course], folders, seed: int) -> Course:
    if seed not in courses:
        courses[seed] = Course(folders.mktemp(f"course-{seed}"), seed)
    return courses[seed]
