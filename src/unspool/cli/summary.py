"""`unspool summary`: the layers of a model, their shapes and sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import AsJson, Model, Set, Task, assignments


def summary(
    run: Annotated[
        Path | None,
        Argument(metavar="RUN", help="The folder of a trained run; or describe a model instead."),
    ] = None,
    task: Task = None,
    model: Model = None,
    set_: Set = None,
    classes: Annotated[
        int, Option(metavar="N", help="How many labels a classifier or tagger has.", min=2)
    ] = 2,
    as_json: AsJson = False,
) -> None:
    """Show the layers of a model, their shapes and sizes.

    Of a trained run, or of the model that the options describe; vocab is then the number of its
    tokens. B stands for the texts of a batch, T for the steps of a text.

    Examples:

    \b
      unspool summary runs/reviews-bilstm
      unspool summary --model lstm --set vocab=5000 --set embedding=16 --set hidden=16
      unspool summary --task generate --model gru --set tied=true
    """
    from unspool.api.settings import summarise_settings
    from unspool.errors import ConfigError

    if run is None:
        result = summarise_settings(task, model, settings=assignments(set_), classes=classes)
    elif task or model or set_:
        raise ConfigError(
            "a run has its own settings",
            where=run,
            remedy="leave out --task, --model and --set, or leave out the run",
        )
    else:
        result = show.loaded(run).summary()
    show.result(result, as_json=as_json)
