"""The groups of options that several commands share: how data are read, each option named for the
setting of the data section that it sets, and how answers are made, each a field of the options of
a task (`Task.options`) and refused where the task of a run has no such field.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option


def option(metavar: str, help: str, kind: Any = str, flag: str = "", **more: Any) -> Any:
    """Annotate an option that is None unless it is set."""
    flags = [flag] if flag else []
    return Annotated[kind | None, Option(*flags, metavar=metavar, help=help, **more)]


def switch(flags: str, help: str, kind: Any = bool) -> Any:
    return Annotated[kind, Option(flags, help=help)]


READING: dict[str, Any] = {
    "format": option(
        "FORMAT",
        "File format, such as csv, jsonl, lines, text or conll; a wrong one lists all."
        "  [default: by the name of the file and its first lines]",
    ),
    "encoding": option(
        "NAME",
        "Character encoding, such as latin-1.  [default: utf-8, or utf-16 where the first bytes"
        " show it]",
    ),
    "text": option(
        "COLUMN",
        "Column of the text: a name, or a number from 1. Several, with commas or given several"
        " times, are read as one text.",
        kind=list[str],
    ),
    "text_pair": option(
        "COLUMN",
        "Column of a second text that is read together with the first: a hypothesis, an answer,"
        " a target; none: there is none.  [default: by its name]",
    ),
    "label": option(
        "COLUMN",
        "Column of the label: a name, or a number from 1. Several, with commas or given several"
        " times: the numbers of regress, or columns of 0 and 1, one for each label.",
        kind=list[str],
    ),
    "series": option(
        "COLUMNS",
        "Columns of the values of series, with commas or given several times: the channels,"
        " where a row is a step; the steps, where a row is a series.  [default: what holds"
        " numbers and is neither label, time nor id]",
        kind=list[str],
    ),
    "time": option(
        "COLUMN",
        "Series: column of the time of a step, or none.  [default: by its name or its dates]",
    ),
    "id": option(
        "COLUMN",
        "Series: column whose equal values make rows one recording; none: one a file."
        "  [default: by its name]",
    ),
    "sort": switch("--sort", "Series: sort the steps of each recording by time."),
    "bad_files": option(
        "HOW",
        "Files of a folder that cannot be read: error (fail at the first), or skip (leave them out"
        " and count them).  [default: error; check lists all]",
    ),
    "unseen": option(
        "HOW",
        "Rows of test data whose label does not occur in the training data: missed (counted as"
        " such), or error.  [default: missed]",
    ),
    "missing": option(
        "WHAT",
        "Rows whose label is missing (empty, NaN, null, N/A): drop, error, or keep such"
        " spellings as labels.  [default: drop]",
    ),
    "split_column": option(
        "COLUMN",
        "Column of the part of a row: train, valid or test; none: ignore it.  [default: one"
        " called split or the like]",
        flag="--split",
    ),
    "folds": option(
        "K",
        "Cross-validate: K folds, stratified by label, each judged by a model of the others,"
        " with its own validation rows.",
        kind=int,
        min=2,
    ),
    "group": option(
        "COLUMN",
        "Column whose equal values (a person, a document) keep rows in one part or fold; of a"
        " folder of recordings also name or folder, or a part of them: name_2, folder_1.",
    ),
    "multilabel": switch(
        "--multilabel/--no-multilabel",
        "Whether a text may have several labels.  [default: what the data suggest]",
        kind=bool | None,
    ),
    "label_separator": option(
        "SIGN",
        "Separator of the labels of a cell, such as a comma; implies --multilabel."
        "  [default: what the data suggest]",
    ),
    "source": option("COLUMN", "translate, summarize: column of the source texts."),
    "target": option(
        "COLUMN",
        "translate, summarize: column of the target texts; forecast: columns to continue,"
        " with commas.  [default: all that are not --known]",
    ),
    "known": option("COLUMNS", "forecast: columns known ahead, such as holidays, with commas."),
    "static": option(
        "COLUMNS", "forecast: columns constant in a series, such as a region, with commas."
    ),
    "horizon": option("N", "forecast: steps ahead.  [default: a season]", kind=int),
}
LEARNT = ("folds", "group", "known", "static", "horizon")  # what a trained run has settled

DECODING: dict[str, Any] = {
    "beam": option("N", "Width of the beam; 1 is greedy.  [default: 5; transcripts: 10]", kind=int),
    "nbest": option("N", "Give the N best translations of each text.  [default: 1]", kind=int),
    "length_penalty": option(
        "A", "The larger, the longer the translations; 0: no penalty.  [default: 1]", kind=float
    ),
    "max_length": option("N", "Maximum tokens.  [default: twice the source and 10 more]", kind=int),
    "min_length": option("N", "Minimum tokens.  [default: 0]", kind=int),
    "no_repeat_ngram": option("N", "No sequence of N tokens occurs twice.", kind=int),
    "temperature": option("T", "Sample at this temperature.", kind=float),
    "top_k": option("K", "Sample from the K most probable tokens.", kind=int),
    "top_p": option("P", "Sample from the fewest tokens whose probability reaches P.", kind=float),
    "seed": option("N", "Seed of sampling.  [default: 1]", kind=int),
    "int8": switch("--int8", "Quantise the decoder to int8: faster, nearly the same results."),
    "lm": option("RUN", "Transcripts: language model, a run of --task generate.", kind=Path),
    "lm_weight": option("W", "Weight of its log probability.  [default: 0.5]", kind=float),
    "bonus": option("B", "Transcripts: bonus a token, for longer texts.  [default: 0]", kind=float),
    "decoder": option(
        "KIND",
        "Transcripts with objective=hybrid: ctc, attention, or hybrid, which ranks the texts of"
        " both by both.  [default: hybrid]",
    ),
    "keep_unknown": switch(
        "--keep-unknown", "Keep <unk> instead of copying the source word that it is aligned with."
    ),
}
for annotated in DECODING.values():
    annotated.__metadata__[0].rich_help_panel = "Decoding"
DECODING |= {
    "coverage": option(
        "P",
        "forecast: coverage of the intervals: 0.5, 0.8, 0.9 or 0.95.  [default: 0.95]",
        kind=float,
    ),
    "samples": option(
        "N",
        "forecast with a distribution: give N samples as well: paths of a recursive model,"
        " independent steps of a direct one.",
        kind=int,
    ),
    "top": option("N", "Candidates for each <mask>.  [default: 5]", kind=int, min=1),
}


def reading_options(*names: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Options of some names, or all but some."""
    return {name: READING[name] for name in names or READING if name not in without}


def decoding_options(*names: str) -> dict[str, Any]:
    return {name: DECODING[name] for name in names}
