"""The ideas of the course in their order, with the commands that show them live, and its data.

The ideas are in `course.txt`: chapters, ideas and commands, each further to the right.
docs/course.md explains each; a test compares the two. The data are those of the demos, as files.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from unspool.demos import dates, forecast, gestures, reviews, sentences
from unspool.errors import DataError


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


FILES: dict[str, Callable[[Path], object]] = {
    "reviews.csv": lambda path: reviews.write_csv(path, reviews.reviews(3000, seed=1)),
    "dates.tsv": lambda path: dates.write_tsv(path, dates.dates(8000, 1, held_out=False)),
    "corpus.txt": lambda path: path.write_text("\n".join(sentences.corpus(3000, 1)) + "\n"),
    "teddy.conll": lambda path: path.write_text(sentences.conll(sentences.teddy(1000, 1))),
    "it.conll": lambda path: path.write_text(sentences.conll(sentences.it(2000, 1))),
    "movements.csv": gestures.write_movements,
    "sessions.csv": gestures.write_sessions,
    "load.csv": forecast.write_load,
}


def write_files(folder: Path) -> list[Path]:
    """All files, in a folder that is made; the same every time."""
    paths = [folder / name for name in FILES]
    for path in paths:
        if path.exists():
            raise DataError("there is such a file already", where=path, remedy="name a new folder")
    if folder.exists() and not folder.is_dir():
        raise DataError("not a folder", where=folder, remedy="name another one for --data")
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        FILES[path.name](path)
    return paths
