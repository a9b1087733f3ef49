"""The commands that need neither data nor a model: settings, demo."""

from __future__ import annotations

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
    list_: Annotated[bool, Option("--list", help="List the demos.")] = False,
) -> None:
    """Run an embedded example; no data needed.

    \b
      unspool demo              a model with attention reads dates; a minute
      unspool demo reviews      trains a classifier and says what to try next
      unspool demo hello        the smallest language model there is
      unspool demo --list       all of them
    """
    from unspool.demos import DEFAULT, DEMOS
    from unspool.errors import choose

    if list_:
        for key, entry in DEMOS.items():
            print(f"{key:<10} {entry.about}")
        return
    DEMOS[choose("demo", name or DEFAULT, DEMOS)].run(print)
