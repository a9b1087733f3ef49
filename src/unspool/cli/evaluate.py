"""`unspool evaluate`: score a trained model on a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from unspool.cli import show
from unspool.cli.options import (
    AsJson,
    Beam,
    Bonus,
    Data,
    DecoderKind,
    Encoding,
    Format,
    Id,
    Int8,
    Label,
    LabelSeparator,
    LanguageRun,
    LanguageWeight,
    Missing,
    Run,
    Series,
    Source,
    Split,
    Target,
    Text,
    TextPair,
    Time,
    given,
    named_columns,
    task_options,
)

Pictures = Annotated[
    Path | None,
    Option(
        "--pictures",
        metavar="DIR",
        help="Draw the report into a folder: the confusion matrix and reliability diagram of a"
        " classifier, predicted against true numbers.",
    ),
]


def evaluate(
    run: Run,
    data: Data,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    text_pair: TextPair = None,
    label: Label = None,
    series: Series = None,
    time: Time = None,
    id: Id = None,
    missing: Missing = None,
    split: Split = None,
    label_separator: LabelSeparator = None,
    source: Source = None,
    target: Target = None,
    beam: Beam = None,
    int8: Int8 = False,
    lm: LanguageRun = None,
    lm_weight: LanguageWeight = None,
    bonus: Bonus = None,
    decoder: DecoderKind = None,
    pictures: Pictures = None,
    as_json: AsJson = False,
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
      unspool evaluate runs/train-transformer test.en,test.de --beam 8
      unspool evaluate runs/calls-bilstm recordings --lm runs/book-lstm
    """
    from unspool.cli.look_results import Album
    from unspool.insight.gallery import report_pictures

    album = Album(pictures, "png")
    loaded = show.loaded(run)
    options = task_options(
        loaded,
        given(
            beam=beam,
            int8=int8 or None,
            lm=None if lm is None else show.loaded(lm),
            lm_weight=lm_weight,
            bonus=bonus,
            decoder=decoder,
        ),
    )
    with show.reading() as progress:
        report = loaded.evaluate(
            data,
            options=options,
            note=show.note,
            progress=progress,
            **given(
                format=format,
                encoding=encoding,
                text=named_columns(text),
                text_pair=text_pair,
                label=named_columns(label),
                series=named_columns(series),
                time=time,
                id=id,
                missing=missing,
                split_column=split,
                label_separator=label_separator,
                source=source,
                target=target,
            ),
        )
    show.result(report, as_json=as_json)
    album.add(report_pictures(report.to_json()))
