"""`unspool check`: look at data before training."""

from __future__ import annotations

from unspool.cli import show
from unspool.cli.options import (
    AsJson,
    Data,
    Encoding,
    Format,
    Label,
    LabelSeparator,
    Missing,
    Multilabel,
    Set,
    Source,
    Split,
    Target,
    Task,
    Test,
    Text,
    Valid,
    assignments,
    named_columns,
)


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
    missing: Missing = None,
    split: Split = None,
    multilabel: Multilabel = None,
    label_separator: LabelSeparator = None,
    source: Source = None,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Look at data before training: counts, labels, doubtful rows.

    Shows how the file would be read and split, the lengths of the texts, the balance of the labels,
    empty, duplicate and contradictory rows, texts that are in two parts (leaks), the share of
    unknown tokens; and suggests settings.

    Examples:

    \b
      unspool check reviews.csv
      unspool check train.tsv --valid dev.tsv --test test.tsv
      unspool check rt-polarity.all --encoding latin-1 --json
    """
    from unspool.api.check import check as check_data

    report = check_data(
        data,
        task=task,
        valid=valid,
        test=test,
        **assignments(
            set_,
            format=format,
            encoding=encoding,
            text=named_columns(text),
            label=named_columns(label),
            missing=missing,
            split_column=split,
            multilabel=multilabel,
            label_separator=label_separator,
            source=source,
            target=target,
        ),
    )
    show.result(report, as_json=as_json)
