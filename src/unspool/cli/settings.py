"""`unspool settings`: every setting, or those that one run reads, with default and meaning."""

from __future__ import annotations

from unspool.cli import show
from unspool.cli.options import AsJson, Model, Set, Task, assignments


def settings(
    task: Task = None, model: Model = None, set_: Set = None, as_json: AsJson = False
) -> None:
    """List all settings, or those that a run reads.

    Each with its default and its meaning. With --task or --model only what such a run reads is
    listed, grouped by what reads it. What it reads may depend on other settings: add them with
    --set. `unspool train` refuses any other.

    A setting is given as --set NAME=VALUE, with or without its section (train.epochs or epochs), or
    in a file for --config:

    \b
      model = "bigru"
      epochs = 5
      [tokenizer]
      kind = "char"

    Examples:

    \b
      unspool settings
      unspool settings --task classify --model cnn
      unspool settings --task classify --set input=series
      unspool settings --task tag --set characters=none --json
    """
    from unspool.api.settings import make_config, refuse_unread_settings
    from unspool.cli.settings_list import RunSettings, SettingsList
    from unspool.tasks import TASKS

    if task is None and model is None and not set_:
        show.result(SettingsList(), as_json=as_json)
        return
    values = assignments(set_)
    config = make_config(task or next(iter(TASKS)), model, settings=values)
    refuse_unread_settings(values, None, [config])
    show.result(RunSettings(config), as_json=as_json)
