"""`unspool compare`: several models on the same data, in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from unspool.cli import show
from unspool.cli.option_groups import READING
from unspool.cli.options import (
    NONE,
    AsJson,
    Chosen,
    ConfigFile,
    Data,
    Set,
    Task,
    Test,
    Valid,
    assignments,
    collecting,
)


@collecting(reading=READING)
def compare(
    data: Data,
    models: Annotated[
        str, Option("--models", metavar="A,B,...", help="Names with commas: elman,lstm,bigru.")
    ],
    seeds: Annotated[
        int, Option(metavar="N", help="Runs of each model, with the seeds 1 to N.", min=1)
    ] = 1,
    task: Task = None,
    set_: Set = None,
    config: ConfigFile = None,
    valid: Valid = None,
    test: Test = None,
    out: Annotated[
        Path, Option("--out", "-o", metavar="FOLDER", help="Where the runs and the table go.")
    ] = Path("runs/compare"),
    reading: Chosen = NONE,
    as_json: AsJson = False,
) -> None:
    """Train several models alike and compare them in a table.

    All see the same data, split, seeds and budget. The table has the metric on the test part (a
    tenth of the data if there is no --test) with its 95 % interval, the difference to the best
    model with the interval of a paired bootstrap and the p of McNemar's test, the parameters, the
    time and the speed; it is saved as compare.csv, compare.md and compare.tex in the same folder. A
    linear baseline and the most frequent label (the mean) are always among the models. With
    --folds K the metric is the mean over K folds.

    Examples:

    \b
      unspool compare reviews.csv --models elman,lstm,bilstm --seeds 3
      unspool compare book.txt --task generate --models gru,mingru --set epochs=5
    """
    from unspool.api.compare import compare as run_all
    from unspool.training.progress import Printed

    with show.reading() as progress:
        table = run_all(
            data,
            models=[name.strip() for name in models.split(",") if name.strip()],
            seeds=seeds,
            out=out,
            task=task,
            valid=valid,
            test=test,
            config=config,
            note=show.note,
            watcher=Printed(show.console()),
            progress=progress,
            **assignments(set_, reading),
        )
    show.result(table, as_json=as_json)
    files = ", ".join(str(out / f"compare.{ending}") for ending in ("csv", "md", "tex"))
    show.note(f"saved: {files}")
