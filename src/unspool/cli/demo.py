"""`unspool demo`: embedded examples, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Argument, Option

from unspool.cli import show
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


def demo(
    name: Annotated[
        str | None,
        Argument(metavar="NAME", help="Which one; if left out, the best to begin with."),
    ] = None,
    list_: Annotated[
        bool, Option("--list", help="List the demos, and the ideas of the course.")
    ] = False,
    data: Annotated[
        Path | None,
        Option("--data", metavar="DIR", help="Only write the generated data into a folder."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """Run an embedded example; no data needed.

    \b
      unspool demo                a model with attention reads dates; a minute
      unspool demo reviews        trains a classifier and suggests what to try next
      unspool demo opinions       what reviews praise and dislike, product by product
      unspool demo gestures       movements of a hand, named and found in a recording
      unspool demo handwriting    a network learns to write words with a pen
      unspool demo hello          the smallest language model there is
      unspool demo memory         four cells, and how far back they learn
      unspool demo --list         all of them, and a command for each idea of the course
      unspool demo --data data    files to train on: reviews, dates, sentences, names, series
    """
    from unspool.demos import DEFAULT, DEMOS
    from unspool.errors import ConfigError, choose

    if sum([name is not None, list_, data is not None]) > 1:
        raise ConfigError("a NAME, --list and --data are three things", remedy="give one of them")
    if as_json and not list_:
        raise ConfigError("--json is for --list", remedy="add --list, or leave it out")
    if list_:
        show.result(DemoList(), as_json=as_json)
    elif data is not None:
        from unspool.cli.demo import write_files

        for path in write_files(data):
            print(path)
    else:
        DEMOS[choose("demo", name or DEFAULT, DEMOS)].run(print)


class DemoList:
    """The demos, and the ideas of the course with their commands."""

    def to_json(self) -> dict[str, Any]:
        from unspool.cli.demo import course
        from unspool.demos import DEMOS

        return {
            "demos": {name: demo.about for name, demo in DEMOS.items()},
            "course": [idea._asdict() for idea in course()],
        }

    def lines(self) -> list[str]:
        from unspool.cli.demo import course_lines
        from unspool.demos import DEMOS

        demos = [f"{name:<10} {demo.about}" for name, demo in DEMOS.items()]
        about = (
            "The course, idea by idea (docs/course.md); `unspool demo --data data` writes the data:"
        )
        return [*demos, "", about, "", *course_lines()]
