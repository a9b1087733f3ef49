"""The commands that look at data and make models: train, check, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import (
    DATA_HELP,
    AsJson,
    ConfigFile,
    Data,
    Encoding,
    Format,
    Label,
    Model,
    Set,
    Source,
    Target,
    Task,
    Test,
    Text,
    Valid,
    assignments,
)


def train(
    data: Annotated[
        str | None, Argument(metavar="DATA", help=DATA_HELP + " Not needed with --resume.")
    ] = None,
    task: Task = None,
    model: Model = None,
    set_: Set = None,
    config: ConfigFile = None,
    valid: Valid = None,
    test: Test = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="RUN",
            help="The run folder to write.  [default: runs/NAME-MODEL]",
        ),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Go on with the run in --out, with the settings it has.")
    ] = False,
    start: Annotated[
        Path | None,
        Option(
            "--from",
            metavar="FOLDER",
            help="Start from the encoder and the vocabulary of another run, such as one of --task"
            " pretrain, or from a BERT, RoBERTa, DistilBERT, MiniLM or GPT-2 folder; or read with"
            " the contextual vectors of a run of --task elmo.",
        ),
    ] = None,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
    source: Source = None,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Train a model on a file; it becomes a run folder.

    The task, the format and the columns are inferred from the data and said in one line; options
    override them. The weights that are best on the validation part are kept, and the report at the
    end is on the test part, or on the validation part where there is none. Ctrl-C and SIGTERM save
    the run; --resume goes on as if nothing had happened.

    Examples:

    \b
      unspool train reviews.csv
      unspool train reviews.csv --model bigru --set hidden=64 --set epochs=5
      unspool train rt-polarity.all --encoding latin-1
      unspool train book.txt --task generate --model lstm --out runs/book
      unspool train eng.train --valid eng.testa
      unspool train train.conllu --label xpos
      unspool train train.en,train.de --valid val.en,val.de --model transformer
      unspool train --resume --out runs/book
      unspool train corpus.txt --task pretrain --out runs/corpus
      unspool train reviews.csv --from runs/corpus --set freeze=gradual
      unspool train reviews.csv --from models/minilm
    """
    from unspool.start import train as run_training
    from unspool.training.progress import Printed

    with show.reading() as progress:
        run = run_training(
            data,
            task=task,
            model=model,
            valid=valid,
            test=test,
            out=out,
            config=config,
            resume=resume,
            start=start,
            say=show.say,
            watcher=Printed(show.console()),
            progress=progress,
            **assignments(
                set_,
                format=format,
                encoding=encoding,
                text=text,
                label=label,
                source=source,
                target=target,
            ),
        )
    if run.report is not None:
        show.say(f"on the {run.report_part} part:")
    show.result(show.TrainResult(run.path, run.report_part, run.report), as_json=as_json)
    if run.task.name == "elmo":
        show.say(f"next: unspool train DATA --from {run.path}")
        return
    verb = "generate" if run.task.name == "generate" else "predict"
    show.say(f"next: unspool {verb} {run.path} · unspool evaluate {run.path} FILE")


def check(
    data: Data,
    task: Task = None,
    set_: Set = None,
    valid: Valid = None,
    test: Test = None,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
    source: Source = None,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Look at data before training: counts, labels, doubtful rows.

    Says how the file is read and split, how long the texts are, how the labels are balanced, which
    rows are empty, repeated or contradict each other, which texts are in two parts, how many tokens
    are unknown; and suggests settings.

    Examples:

    \b
      unspool check reviews.csv
      unspool check train.tsv --valid dev.tsv --test test.tsv
      unspool check rt-polarity.all --encoding latin-1 --json
    """
    from unspool.start import check as look

    report = look(
        data,
        task=task,
        valid=valid,
        test=test,
        **assignments(
            set_,
            format=format,
            encoding=encoding,
            text=text,
            label=label,
            source=source,
            target=target,
        ),
    )
    show.result(report, as_json=as_json)


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
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
    source: Source = None,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Train several models alike and compare them in a table.

    All see the same data, split, seeds and budget. The table has the metric on the test part (a
    tenth of the data if there is no --test) with its bootstrap 95 % interval, the parameters, the
    time and the speed; it is saved as compare.csv and compare.md beside the runs.

    Examples:

    \b
      unspool compare reviews.csv --models elman,lstm,bilstm --seeds 3
      unspool compare book.txt --task generate --models gru,mingru --set epochs=5
    """
    from unspool.comparison import compare as run_all
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
            say=show.say,
            watcher=Printed(show.console()),
            progress=progress,
            **assignments(
                set_,
                format=format,
                encoding=encoding,
                text=text,
                label=label,
                source=source,
                target=target,
            ),
        )
    show.result(table, as_json=as_json)
    show.say(f"saved: {out / 'compare.csv'}, {out / 'compare.md'}")
