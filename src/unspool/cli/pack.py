"""`unspool pack`: a run folder as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import AsJson


def pack(
    run: Annotated[Path, Argument(metavar="RUN", help="The folder of a trained run.")],
    out: Annotated[
        Path | None, Option(metavar="FILE", help="The new file; by default NAME.unspool here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a run as one file, to send it to somebody.

    Every command that takes a run folder takes the file: predict, evaluate, look, serve, export,
    and train --from. It holds all files of the run but its checkpoints, with their hashes, and no
    code. A few rows of the data are among them: examples.json.

    Examples:

    \b
      unspool pack runs/reviews-bilstm --out reviews.unspool
      unspool predict reviews.unspool "a fine film"
    """
    loaded = show.loaded(run)
    show.result(loaded.pack(out or Path(f"{loaded.folder.name}.unspool")), as_json=as_json)
