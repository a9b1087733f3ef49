"""`unspool demo`: embedded examples, and the list of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from unspool.cli import show


def demo(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="Which one; if left out, the best to begin with.")
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
        from unspool.demos import write_files

        for path in write_files(data):
            print(path)
    else:
        DEMOS[choose("demo", name or DEFAULT, DEMOS)].run(print)


class DemoList:
    """The demos, and the ideas of the course with their commands."""

    def to_json(self) -> dict[str, Any]:
        from unspool.demos import DEMOS, course

        return {
            "demos": {name: demo.about for name, demo in DEMOS.items()},
            "course": [idea._asdict() for idea in course()],
        }

    def lines(self) -> list[str]:
        from unspool.demos import DEMOS, course_lines

        demos = [f"{name:<10} {demo.about}" for name, demo in DEMOS.items()]
        about = (
            "The course, idea by idea (docs/course.md); `unspool demo --data data` writes the data:"
        )
        return [*demos, "", about, "", *course_lines()]
