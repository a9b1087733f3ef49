"""The options of how data are read, each named after the setting of the data section that it sets.

A new one is an entry here; every command that reads data has it.
"""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

READING: dict[str, Any] = {
    "format": Annotated[
        str | None,
        Option(
            "--format",
            metavar="FORMAT",
            help="File format, such as csv, jsonl, lines, text or conll; a wrong one lists all."
            "  [default: by the name of the file and its first lines]",
        ),
    ],
    "encoding": Annotated[
        str | None,
        Option(
            "--encoding",
            metavar="NAME",
            help="Character encoding, such as latin-1.  [default: utf-8, or utf-16 where the first"
            " bytes show it]",
        ),
    ],
    "text": Annotated[
        list[str] | None,
        Option(
            "--text",
            metavar="COLUMN",
            help="Column of the text: a name, or a number from 1. Several, with commas or given"
            " several times, are read as one text.",
        ),
    ],
    "text_pair": Annotated[
        str | None,
        Option(
            "--text-pair",
            metavar="COLUMN",
            help="Column of a second text that is read together with the first: a hypothesis, an"
            " answer, a target; none: there is none.  [default: by its name]",
        ),
    ],
    "label": Annotated[
        list[str] | None,
        Option(
            "--label",
            metavar="COLUMN",
            help="Column of the label: a name, or a number from 1. Several, with commas or given"
            " several times: the numbers of regress, or columns of 0 and 1, one for each label.",
        ),
    ],
    "series": Annotated[
        list[str] | None,
        Option(
            "--series",
            metavar="COLUMNS",
            help="Columns of the values of series, with commas or given several times: the"
            " channels, where a row is a step; the steps, where a row is a series.  [default: what"
            " holds numbers and is neither label, time nor id]",
        ),
    ],
    "time": Annotated[
        str | None,
        Option(
            "--time",
            metavar="COLUMN",
            help="Of series: column of the time of a step; none: there is none.  [default: by its"
            " name or its dates]",
        ),
    ],
    "id": Annotated[
        str | None,
        Option(
            "--id",
            metavar="COLUMN",
            help="Of series: column whose equal values make rows one recording; none: a file is"
            " one.  [default: by its name]",
        ),
    ],
    "missing": Annotated[
        str | None,
        Option(
            "--missing",
            metavar="WHAT",
            help="Rows whose label is missing (empty, NaN, null, N/A): drop, error, or keep such"
            " spellings as labels.  [default: drop]",
        ),
    ],
    "split_column": Annotated[
        str | None,
        Option(
            "--split",
            metavar="COLUMN",
            help="Column that says to which part a row belongs: train, valid or test; none: do not"
            " look for one.  [default: one that is called split or the like]",
        ),
    ],
    "folds": Annotated[
        int | None,
        Option(
            "--folds",
            metavar="K",
            min=2,
            help="Cross-validate: K folds, stratified by label, each judged by a model of the"
            " others, whose epoch is chosen on rows of its own.",
        ),
    ],
    "group": Annotated[
        str | None,
        Option(
            "--group",
            metavar="COLUMN",
            help="Column whose equal values (a person, a document) keep rows in one part or fold;"
            " of a folder of recordings also name or folder, or a part of them: name_2, folder_1.",
        ),
    ],
    "multilabel": Annotated[
        bool | None,
        Option(
            "--multilabel/--no-multilabel",
            help="Whether a text may have several labels.  [default: what the data suggest]",
        ),
    ],
    "label_separator": Annotated[
        str | None,
        Option(
            "--label-separator",
            metavar="SIGN",
            help="What stands between the labels of a cell, such as a comma; it means"
            " --multilabel.  [default: what the data suggest]",
        ),
    ],
    "source": Annotated[
        str | None,
        Option(
            "--source",
            metavar="COLUMN",
            help="Of translate and summarize: column of the source texts.",
        ),
    ],
    "target": Annotated[
        str | None,
        Option(
            "--target",
            metavar="COLUMN",
            help="Of translate and summarize: column of the target texts. Of forecast: columns to"
            " be continued, with commas.  [default: all that are not --known]",
        ),
    ],
    "known": Annotated[
        str | None,
        Option(
            "--known",
            metavar="COLUMNS",
            help="Of forecast: columns that are known ahead, such as holidays, with commas.",
        ),
    ],
    "static": Annotated[
        str | None,
        Option(
            "--static",
            metavar="COLUMNS",
            help="Of forecast: columns that a series has as a whole, such as a region, with"
            " commas.",
        ),
    ],
    "horizon": Annotated[
        int | None,
        Option(
            "--horizon", metavar="N", help="Of forecast: steps to be given.  [default: a season]"
        ),
    ],
}
LEARNT = ("folds", "group", "known", "static", "horizon")  # what a trained run has settled


def reading_options(*names: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Options of some names, or all but some."""
    return {name: READING[name] for name in names or READING if name not in without}
