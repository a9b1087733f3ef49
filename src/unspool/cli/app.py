"""One function a command. Heavy imports stay inside, so that help answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from unspool import __version__
from unspool.cli import show

app = typer.Typer(
    help="Train, look inside and serve sequence models on your own data.",
    epilog="Start with `unspool demo`, then `unspool check FILE` and `unspool train FILE`.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Data = Annotated[
    str, typer.Argument(help="CSV, TSV, JSONL, `label text` lines, documents or one long text;"
                        " .gz of these; a folder of LABEL.txt files; - for standard input.")
]
RunArg = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained run.")]
Task = Annotated[
    Optional[str], typer.Option("--task", "-t", help="classify or generate; inferred if left out.")
]
Model = Annotated[
    Optional[str],
    typer.Option("--model", "-m", help="A cell, with `bi` before it for both directions: elman, irnn,"
                 " lstm, peephole, coupled, gru, mingru, minlstm, bilstm, bigru, ..."),
]
Set = Annotated[
    Optional[list[str]],
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="A setting; `unspool settings` lists all."),
]
ConfigFile = Annotated[
    Optional[str], typer.Option("--config", "-c", metavar="F.toml", help="Settings from a file.")
]
Valid = Annotated[Optional[str], typer.Option(help="Validation file; else a share is held out.")]
Test = Annotated[Optional[str], typer.Option(help="Test file; touched once, at the end.")]
Format = Annotated[Optional[str], typer.Option(help="csv, tsv, jsonl, labelled, lines or text.")]
Encoding = Annotated[Optional[str], typer.Option(help="Character encoding, such as latin-1.")]
Text = Annotated[Optional[str], typer.Option(help="Text column: a name, or a number from 1.")]
Label = Annotated[Optional[str], typer.Option(help="Label column: a name, or a number from 1.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Out = Annotated[Optional[Path], typer.Option("--out", "-o", help="The run folder to write.")]


def version(value: bool) -> None:
    if value:
        from importlib.metadata import version as installed

        typer.echo(f"unspool {__version__} (torch {installed('torch')}, kernels: torch's own)")
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    pass


def assignments(pairs: list[str] | None, **flags: str | None) -> dict[str, Any]:
    """The settings of `--set` and of the flags that stand for a setting of the data section."""
    from unspool.config import parse_assignments

    given = {f"data.{name}": value for name, value in flags.items() if value is not None}
    return {**given, **parse_assignments(pairs or [])}


@app.command()
def train(
    data: Annotated[Optional[str], typer.Argument(help="The training data (see `unspool check`);"
                    " not needed with --resume.")] = None,
    task: Task = None,
    model: Model = None,
    set_: Set = None,
    config: ConfigFile = None,
    valid: Valid = None,
    test: Test = None,
    out: Out = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
    as_json: AsJson = False,
) -> None:
    """Train a model on a file; it ends in a run folder.

    The task, the format and the columns are inferred from the data and said; flags override. The
    best weights on the validation part are kept. Ctrl-C saves; --resume goes on to the bit.

    Examples: unspool train reviews.csv · unspool train reviews.csv -m bigru -s hidden=64 -s epochs=5
    · unspool train book.txt -t generate -m lstm · unspool train --resume --out runs/reviews-bilstm
    """
    from unspool.start import train as start
    from unspool.training.progress import Printed

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
        progress=show.reading(),
        **assignments(set_, format=format, encoding=encoding, text=text, label=label),
    )
    if run.report is not None:
        show.say(f"on the {run.report_part} part:")
        show.result(run.report, as_json=as_json)
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
    """Look at the data before training: counts, lengths, labels, leaks, doubtful rows."""
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
    run: RunArg,
    data: Data,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
    as_json: AsJson = False,
) -> None:
    """Score a trained model on a file, with a bootstrap 95 % interval."""
    from unspool.run import load

    given = {"format": format, "encoding": encoding, "text": text, "label": label}
    report = load(run).evaluate(data, **{k: v for k, v in given.items() if v is not None})
    show.result(report, as_json=as_json)


@app.command()
def predict(
    run: RunArg,
    texts: Annotated[Optional[list[str]], typer.Argument(metavar="[TEXT]...", help="The texts;"
                     " - reads one a line from standard input.")] = None,
    file: Annotated[Optional[str], typer.Option("--file", "-f", help="A data file of texts.")] = None,
    out: Annotated[Optional[Path], typer.Option("--out", "-o", help="Write here, by its ending:"
                   " .csv, .tsv or .jsonl.")] = None,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    as_json: AsJson = False,
) -> None:
    """Label texts: the likeliest label, its probability, the text, separated by tabs."""
    from unspool.cli.predictions import inputs, write
    from unspool.run import load

    loaded = load(run)
    given = {"format": format, "encoding": encoding, "text": text}
    source = inputs(loaded, texts or [], file, {k: v for k, v in given.items() if v is not None})
    count = write(loaded.stream(source), loaded.task.labels, out, as_json=as_json)
    if out is not None:
        show.say(f"{count} predictions in {out}")


@app.command()
def generate(
    run: RunArg,
    prompt: Annotated[str, typer.Option(help="The text to continue.")] = "",
    length: Annotated[int, typer.Option(help="Tokens to write.", min=1)] = 200,
    temperature: Annotated[float, typer.Option(help="Below 1 bolder, above 1 wilder; 0: always the"
                           " likeliest.")] = 0.8,
    top_k: Annotated[int, typer.Option(help="Draw from the k likeliest only (0: all).")] = 0,
    top_p: Annotated[float, typer.Option(help="Draw from the likeliest that reach this mass.")] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Let a language model write."""
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
    run: Annotated[Optional[Path], typer.Argument(metavar="[RUN]", help="A trained run; or describe"
                   " a model with the options.")] = None,
    task: Task = None,
    model: Model = None,
    set_: Set = None,
    classes: Annotated[int, typer.Option(help="Labels of a classifier.", min=2)] = 2,
    as_json: AsJson = False,
) -> None:
    """The layers of a model, their shapes and parameter counts.

    Example: unspool summary -t classify -m lstm -s vocab=5000 -s embedding=16 -s hidden=16
    """
    from unspool.blueprint import blueprint
    from unspool.run import load

    if run is not None:
        result = load(run).summary()
    else:
        result = blueprint(task or "classify", model, settings=assignments(set_), classes=classes)
    show.result(result, as_json=as_json)


@app.command()
def compare(
    data: Data,
    models: Annotated[str, typer.Option("--models", help="Names with commas: elman,lstm,bigru.")],
    seeds: Annotated[int, typer.Option(help="Runs of each model, with seeds 1, 2, ...", min=1)] = 1,
    task: Task = None,
    set_: Set = None,
    config: ConfigFile = None,
    valid: Valid = None,
    test: Test = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the runs and the table.")]
    = Path("runs/compare"),
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
    as_json: AsJson = False,
) -> None:
    """Train several models on the same data, split, seeds and budget; a table with intervals."""
    from unspool.comparison import compare as run_all
    from unspool.training.progress import Printed

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
        progress=show.reading(),
        **assignments(set_, format=format, encoding=encoding, text=text, label=label),
    )
    show.result(table, as_json=as_json)
    show.say(f"saved: {out / 'compare.csv'}, {out / 'compare.md'}")


@app.command()
def settings(as_json: AsJson = False) -> None:
    """List every setting with its default and its meaning."""
    from unspool.cli.listing import SettingsList

    show.result(SettingsList(), as_json=as_json)


@app.command()
def demo(
    name: Annotated[Optional[str], typer.Argument(help="Which one; the best if left out.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the demos.")] = False,
) -> None:
    """Run an embedded example; no data needed."""
    from unspool.demos import DEFAULT, DEMOS
    from unspool.errors import choose

    if list_:
        for key, entry in DEMOS.items():
            print(f"{key:<10} {entry.about}")
        return
    DEMOS[choose("demo", name or DEFAULT, DEMOS)].run(print)
