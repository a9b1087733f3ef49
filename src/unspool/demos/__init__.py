"""Small jobs on embedded data, by name; the ideas of the course, and its data as files."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from unspool.demos import (
    chorale,
    dates,
    digits,
    forecast,
    gestures,
    handwriting,
    hello,
    memory,
    moving,
    opinions,
    reviews,
    sentences,
    shapes,
)
from unspool.errors import DataError


class Demo(NamedTuple):
    about: str
    run: Callable[[Callable[[str], None]], None]


DEMOS: dict[str, Demo] = {
    "dates": Demo("dates in five languages become ISO 8601, by a model with attention", dates.run),
    "reviews": Demo(
        "a BiLSTM learns who is praised and who is not, word order and all", reviews.run
    ),
    "opinions": Demo(
        "what reviewers praise and what they dislike, found by two models", opinions.run
    ),
    "gestures": Demo(
        "movements of a hand: which one a recording is, and where each begins", gestures.run
    ),
    "digits": Demo("strings of spoken digits become text, with the time of each", digits.run),
    "shapes": Demo(
        "pictures of coloured shapes are described, word by word, by a model with attention",
        shapes.run,
    ),
    "handwriting": Demo(
        "a network learns to write words with a pen, letter by letter", handwriting.run
    ),
    "chorale": Demo(
        "harmony in four voices is learnt, and continued as MIDI and a piano roll", chorale.run
    ),
    "moving": Demo("a shape moves: each frame has a label, and so has the clip", moving.run),
    "forecast": Demo("the next day of a power grid, hour by hour, with intervals", forecast.run),
    "hello": Demo("an Elman network with 40 parameters learns to write HELLO", hello.run),
    "memory": Demo("four cells and how far back they learn, up to 200 steps", memory.run),
}
DEFAULT = "dates"


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
