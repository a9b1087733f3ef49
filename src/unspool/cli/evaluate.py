"""`unspool evaluate`: score a trained model on a file."""

from __future__ import annotations

from unspool.cli import show
from unspool.cli.options import (
    AsJson,
    Beam,
    Data,
    Encoding,
    Format,
    Int8,
    Label,
    Run,
    Source,
    Target,
    Text,
    given,
    task_options,
)


def evaluate(
    run: Run,
    data: Data,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
    source: Source = None,
    target: Target = None,
    beam: Beam = None,
    int8: Int8 = False,
    as_json: AsJson = False,
) -> None:
    """Score a trained model on a file.

    A classifier: accuracy with a bootstrap 95 % interval, macro F1, precision, recall and F1 of
    each class, the confusion matrix. A tagger: F1 of spans, of all and of each type, or the
    accuracy of tags that mark none. A language model: loss with its interval, perplexity, bits per
    character. A translator: BLEU and chrF with their signatures. The file is read as the training
    file was, unless options override it.

    Examples:

    \b
      unspool evaluate runs/reviews-bilstm test.csv
      unspool evaluate runs/reviews-bilstm other.tsv --text comment --label stars --json
      unspool evaluate runs/train-transformer test.en,test.de --beam 8
    """
    from unspool.api.run import load

    loaded = load(run)
    options = task_options(loaded, given(beam=beam, int8=int8 or None))
    with show.reading() as progress:
        report = loaded.evaluate(
            data,
            options,
            note=show.note,
            progress=progress,
            **given(
                format=format,
                encoding=encoding,
                text=text,
                label=label,
                source=source,
                target=target,
            ),
        )
    show.result(report, as_json=as_json)
