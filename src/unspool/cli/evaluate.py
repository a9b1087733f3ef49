"""`unspool evaluate`: score a trained model on a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from unspool.cli import show
from unspool.cli.option_groups import LEARNT, decoding_options, reading_options
from unspool.cli.options import (
    NONE,
    AsJson,
    Chosen,
    Files,
    Run,
    Set,
    collecting,
    one_path,
    reading_settings,
    task_options,
)

Pictures = Annotated[
    Path | None,
    Option(
        "--pictures",
        metavar="DIR",
        help="Draw the report into a folder: the confusion matrix, classes and reliability diagram"
        " of a classifier, predicted against true numbers.",
    ),
]
AsCsv = Annotated[bool, Option("--csv", help="Print CSV to stdout: of, metric, value, low, high.")]
AsLatex = Annotated[
    bool, Option("--latex", help="Print LaTeX tables to stdout, for the package booktabs.")
]


History = Annotated[
    str | None,
    Option(
        "--history",
        metavar="FILE",
        help="forecast: the past of the series, where DATA has the steps after it alone, as the"
        " test files of competitions do.",
    ),
]


@collecting(
    reading=reading_options(without=(*LEARNT, "multilabel")),
    decoding=decoding_options("beam", "int8", "lm", "lm_weight", "bonus", "decoder"),
)
def evaluate(
    run: Run,
    data: Files,
    reading: Chosen = NONE,
    set_: Set = None,
    decoding: Chosen = NONE,
    history: History = None,
    pictures: Pictures = None,
    as_json: AsJson = False,
    csv: AsCsv = False,
    latex: AsLatex = False,
) -> None:
    """Score a trained model on a file.

    A classifier: accuracy with a 95 % interval (Wilson), macro F1, precision, recall and F1 of
    each class, the confusion matrix, how well its probabilities are calibrated; of several labels a
    text micro and macro F1, subset accuracy, average precision. Numbers: MAE, RMSE, R² and
    Spearman's rho with 95 % intervals, next to those of the training mean and median. A tagger: F1
    of spans, of all and of each type, or the accuracy of tags that mark none. A language model:
    loss with its interval, perplexity, bits per character. A translator: BLEU and chrF with their
    signatures. A transcriber: CER and WER, and what it confuses. The file is read as the training
    file was, unless options override it.

    Examples:

    \b
      unspool evaluate runs/reviews-bilstm test.csv
      unspool evaluate runs/reviews-bilstm other.tsv --text comment --label stars --json
      unspool evaluate runs/wine-bigru test.csv --pictures seen
      unspool evaluate runs/reviews-bilstm test.csv --latex > table.tex
      unspool evaluate runs/sales-linear future.csv --history sales.csv
      unspool evaluate runs/train-transformer test.en,test.de --beam 8
      unspool evaluate runs/calls-bilstm recordings --lm runs/book-lstm
    """
    from unspool.cli.look_results import Album
    from unspool.cli.report_table import as_csv, as_latex
    from unspool.errors import ConfigError
    from unspool.insight.gallery import report_pictures

    if as_json + csv + latex > 1:
        raise ConfigError("--json, --csv and --latex exclude each other", remedy="use one of them")
    album = Album(pictures, "png")
    loaded = show.loaded(run)
    options = task_options(loaded, decoding)
    with show.reading() as progress:
        report = loaded.evaluate(
            one_path(data),
            options=options,
            history=history,
            note=show.note,
            progress=progress,
            **reading_settings(set_, reading),
        )
    if csv or latex:
        print((as_csv if csv else as_latex)(report.to_json()), end="")
    else:
        show.result(report, as_json=as_json)
    album.add(report_pictures(report.to_json()))
