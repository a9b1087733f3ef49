"""The commands that need neither data nor a model: settings, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import AsJson


def settings(as_json: AsJson = False) -> None:
    """List every setting with its default and its meaning.

    A setting is given as --set NAME=VALUE, with or without its section (train.epochs or epochs), or
    in a file for --config:

    \b
      model = "bigru"
      epochs = 5
      [tokenizer]
      kind = "char"
    """
    from unspool.cli.listing import SettingsList

    show.result(SettingsList(), as_json=as_json)


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
      unspool demo reviews        trains a classifier and says what to try next
      unspool demo hello          the smallest language model there is
      unspool demo memory         four cells, and how far back they learn
      unspool demo --list         all of them, and a command for each idea of the course
      unspool demo --data data    files to train on: reviews, dates, sentences, names
    """
    from unspool.demos import DEFAULT, DEMOS
    from unspool.errors import ConfigError, choose

    if sum([name is not None, list_, data is not None]) > 1:
        raise ConfigError("a NAME, --list and --data are three things", remedy="give one of them")
    if as_json and not list_:
        raise ConfigError("--json is for --list", remedy="add --list, or leave it out")
    if list_:
        from unspool.cli.demo_list import DemoList

        show.result(DemoList(), as_json=as_json)
    elif data is not None:
        from unspool.demos.files import write_files

        for path in write_files(data):
            print(path)
    else:
        DEMOS[choose("demo", name or DEFAULT, DEMOS)].run(print)
