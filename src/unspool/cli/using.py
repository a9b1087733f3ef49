"""The commands that use a model: evaluate, predict, generate, summary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import (
    AsJson,
    Data,
    Encoding,
    Format,
    Label,
    Model,
    Run,
    Set,
    Task,
    Text,
    assignments,
    given,
    readable,
)


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
        readable(prompt, "--prompt"),
        length=length,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    if as_json:
        text = "".join(pieces)
        print(json.dumps({"prompt": prompt, "text": text, "seed": seed}, ensure_ascii=False))
        return
    for piece in pieces:
        print(piece, end="", flush=True)
    print()


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
