"""One function a command. Heavy imports stay inside, so that help answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from unspool import __version__
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
    Run,
    Set,
    Task,
    Test,
    Text,
    Valid,
    assignments,
)

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version(value: bool) -> None:
    if value:
        from importlib.metadata import version as installed

        typer.echo(f"unspool {__version__} (torch {installed('torch')}, kernels: torch's own)")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def unspool(
    context: typer.Context,
    _: Annotated[
        bool,
        Option("--version", callback=version, is_eager=True, help="Say the version and exit."),
    ] = False,
) -> None:
    """Files in, a trained sequence model out, and nothing about it hidden.

    A first hour:

    \b
      unspool demo                              an example; no data needed
      unspool check reviews.csv                 look at your data
      unspool train reviews.csv                 train; the model is a folder under runs/
      unspool predict runs/reviews-bilstm "a fine film"
      unspool COMMAND --help                    the options of a command

    Results go to stdout, everything else to stderr. Exit codes: 0 fine, 1 failed, 2 bad input or
    usage, 130 after Ctrl-C, 143 after SIGTERM.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
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
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
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
      unspool train --resume --out runs/book
    """
    from unspool.start import train as start
    from unspool.training.progress import Printed

    with show.reading() as progress:
        run = start(
            data,
            task=task,
            model=model,
            valid=valid,
            test=test,
            out=out,
            config=config,
            resume=resume,
            say=show.say,
            watcher=Printed(show.console()),
            progress=progress,
            **assignments(set_, format=format, encoding=encoding, text=text, label=label),
        )
    if run.report is not None:
        show.say(f"on the {run.report_part} part:")
    show.result(show.TrainResult(run.path, run.report_part, run.report), as_json=as_json)
    verb = "generate" if run.task.name == "generate" else "predict"
    show.say(f"next: unspool {verb} {run.path} · unspool evaluate {run.path} FILE")


@app.command()
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
        **assignments(set_, format=format, encoding=encoding, text=text, label=label),
    )
    show.result(report, as_json=as_json)


@app.command()
def evaluate(
    run: Run,
    data: Data,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
    as_json: AsJson = False,
) -> None:
    """Score a trained model on a file.

    A classifier: accuracy with a bootstrap 95 % interval, macro F1, precision, recall and F1 of
    each class, the confusion matrix. A language model: loss with its interval, perplexity, bits per
    character. The file is read as the training file was, unless options say otherwise.

    Examples:

    \b
      unspool evaluate runs/reviews-bilstm test.csv
      unspool evaluate runs/reviews-bilstm other.tsv --text comment --label stars --json
    """
    from unspool.run import load

    loaded = load(run)
    with show.reading() as progress:
        report = loaded.evaluate(
            data,
            say=show.say,
            progress=progress,
            **given(format=format, encoding=encoding, text=text, label=label),
        )
    show.result(report, as_json=as_json)


@app.command()
def predict(
    run: Run,
    texts: Annotated[
        list[str] | None,
        Argument(metavar="TEXT", help="The texts; - reads one a line from standard input."),
    ] = None,
    file: Annotated[
        str | None,
        Option("--file", "-f", metavar="FILE", help="Texts from a data file; it needs no labels."),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write to this file, a .csv, .tsv or .jsonl, with the probability of every label.",
        ),
    ] = None,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object a text, with all probabilities.")
    ] = False,
) -> None:
    """Label texts with a trained classifier.

    One line a text, in order: the likeliest label, its probability and the text, between tabs.

    Examples:

    \b
      unspool predict runs/reviews-bilstm "a fine film" "what a bore"
      cut -f2 mails.tsv | unspool predict runs/mails-bigru -
      unspool predict runs/reviews-bilstm --file new.csv --text review --out labelled.csv
    """
    from unspool.cli.predictions import inputs, write
    from unspool.run import load

    loaded = load(run)
    source = inputs(
        loaded, texts or [], file, given(format=format, encoding=encoding, text=text), show.say
    )
    count = write(loaded.stream(source), out, as_json=as_json)
    if out is not None:
        show.say(f"{count} predictions in {out}")


@app.command()
def generate(
    run: Run,
    prompt: Annotated[str, Option(metavar="TEXT", help="The text to continue.")] = "",
    length: Annotated[
        int, Option(metavar="N", help="Tokens to write.", min=1, show_default=True)
    ] = 200,
    temperature: Annotated[
        float,
        Option(metavar="T", help="0: always the likeliest token; below 1 safer, above 1 wilder."),
    ] = 0.8,
    top_k: Annotated[
        int, Option(metavar="K", help="Draw from the K likeliest tokens only; 0: from all.")
    ] = 0,
    top_p: Annotated[
        float,
        Option(metavar="P", help="Draw from the fewest tokens whose probability reaches P."),
    ] = 1.0,
    seed: Annotated[int, Option(metavar="N", help="The same seed gives the same text.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Let a trained language model write.

    The text appears as it is drawn: the prompt, then its continuation.

    Examples:

    \b
      unspool generate runs/book-lstm --prompt "It was " --length 500
      unspool generate runs/book-lstm --temperature 0.5 --top-k 20 --seed 7
    """
    import json

    from unspool.run import load

    loaded = load(run)
    pieces = loaded.pieces(
        prompt, length=length, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed
    )
    if as_json:
        text = "".join(pieces)
        print(json.dumps({"prompt": prompt, "text": text, "seed": seed}, ensure_ascii=False))
        return
    for piece in pieces:
        print(piece, end="", flush=True)
    print()


@app.command()
def summary(
    run: Annotated[
        Path | None,
        Argument(metavar="RUN", help="The folder of a trained run; or describe a model instead."),
    ] = None,
    task: Task = None,
    model: Model = None,
    set_: Set = None,
    classes: Annotated[
        int, Option(metavar="N", help="How many labels a classifier tells apart.", min=2)
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
    from unspool.blueprint import blueprint
    from unspool.errors import ConfigError
    from unspool.run import load

    if run is None:
        result = blueprint(task or "classify", model, settings=assignments(set_), classes=classes)
    elif task or model or set_:
        raise ConfigError(
            "a run has its own settings",
            where=run,
            remedy="leave out --task, --model and --set, or leave out the run",
        )
    else:
        result = load(run).summary()
    show.result(result, as_json=as_json)


@app.command()
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
            **assignments(set_, format=format, encoding=encoding, text=text, label=label),
        )
    show.result(table, as_json=as_json)
    show.say(f"saved: {out / 'compare.csv'}, {out / 'compare.md'}")


@app.command()
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


@app.command()
def demo(
    name: Annotated[
        str | None,
        Argument(metavar="NAME", help="Which one; if left out, the best to begin with."),
    ] = None,
    list_: Annotated[bool, Option("--list", help="List the demos.")] = False,
) -> None:
    """Run an embedded example; no data needed.

    \b
      unspool demo              trains a classifier and says what to try next
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


def given(**options: str | None) -> dict[str, str]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}
