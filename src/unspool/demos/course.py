"""The ideas of the course in their order, with the commands that show them live.

They are in `course.txt`: chapters, ideas and commands, each further to the right. docs/course.md
explains each; a test compares the two.
"""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple


class Idea(NamedTuple):
    chapter: str
    idea: str
    commands: list[str]


def course_lines() -> list[str]:
    text = resources.files("unspool.demos").joinpath("course.txt").read_text(encoding="utf-8")
    return text.splitlines()


def course() -> list[Idea]:
    ideas: list[Idea] = []
    chapter = ""
    for line in filter(None, course_lines()):
        if line.startswith("      "):
            ideas[-1].commands.append(line.strip())
        elif line.startswith("  "):
            ideas.append(Idea(chapter, line.strip(), []))
        else:
            chapter = line
    return ideas
