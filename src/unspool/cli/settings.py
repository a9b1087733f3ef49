"""`unspool settings`: every setting with its default and its meaning."""

from __future__ import annotations

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
    from unspool.cli.settings_list import SettingsList

    show.result(SettingsList(), as_json=as_json)
