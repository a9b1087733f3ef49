"""The arguments and options that several commands share, each with its help text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

if TYPE_CHECKING:
    from unspool.api.run import Run as LoadedRun
    from unspool.errors import ConfigError
    from unspool.tasks import Task as AnyTask

DATA_HELP = (
    "A table: CSV, TSV, JSON, JSON lines, Parquet, Arrow or Excel; `label text` or fastText lines,"
    " one document a line, or one long text; CoNLL columns, CoNLL-U or JSON lines of tagged words;"
    " any of them as .gz, .bz2, .xz or .zip; two files of pairs as train.en,train.de; a folder of"
    " LABEL.txt files, or of a folder for each label; series as tables of numbers, .ts, .npy or"
    " .npz files, or a folder of such recordings; sound as a folder of .wav files (.flac, .ogg and"
    " .mp3 with the extra `audio`), or a table with a column of their names; strokes of a pen as"
    " JSON lines, .npz of sketch-rnn, .inkml or .unp; music as MIDI (.mid), a folder of such files,"
    " .json of lists of pitches or .mat of piano rolls; - for standard input."
)

Data = Annotated[str, Argument(metavar="DATA", help=DATA_HELP)]
Run = Annotated[Path, Argument(metavar="RUN", help="The folder of a trained run.")]
Task = Annotated[
    str | None,
    Option(
        "--task",
        "-t",
        metavar="TASK",
        help="classify (a label for each text, or several), regress (numbers for each text), tag (a"
        " tag for each word), generate (a language model), translate (a text for each text),"
        " transcribe (a text for each recording or drawing), forecast (the next steps of series),"
        " handwrite (the next points of a pen, or a text written by hand), compose (what follows in"
        " a piece of music),"
        " pretrain (hidden tokens, no labels) or elmo (contextual vectors, no labels)."
        "  [default: what the data suggest]",
    ),
]
Model = Annotated[
    str | None,
    Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="A cell: elman, irnn, lstm, peephole, coupled, gru, mingru or minlstm; with `bi`"
        " before it for both directions: bilstm, bigru, ... Or cnn or transformer; for translate"
        " also seq2seq, bahdanau or luong; for classify and regress also linear, a baseline of"
        " n-grams, or auto, the best of several.  [default: bilstm for classify, regress and tag,"
        " lstm for generate, transformer for translate and pretrain]",
    ),
]
Set = Annotated[
    list[str] | None,
    Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="A setting, such as epochs=5; may be repeated. `unspool settings` lists them all.",
    ),
]
ConfigFile = Annotated[
    str | None,
    Option(
        "--config",
        "-c",
        metavar="F.toml",
        help="Settings from a TOML file: lines such as epochs = 5. --set overrides it.",
    ),
]
Valid = Annotated[
    str | None,
    Option(
        "--valid",
        metavar="FILE",
        help="Validation data.  [default: a tenth of DATA, or --set valid_share=]",
    ),
]
Test = Annotated[
    str | None,
    Option(
        "--test",
        metavar="FILE",
        help="Test data, used once, at the end.  [default: none, or --set test_share=]",
    ),
]
Format = Annotated[
    str | None,
    Option(
        "--format",
        metavar="FORMAT",
        help="csv, tsv, jsonl, json, parquet, arrow, excel, ts, npy, labelled, fasttext, lines,"
        " text, conll or conllu.  [default: by the name of the file and its first lines]",
    ),
]
Encoding = Annotated[
    str | None,
    Option(
        "--encoding",
        metavar="NAME",
        help="Character encoding, such as latin-1.  [default: utf-8, or utf-16 where the first"
        " bytes show it]",
    ),
]
Text = Annotated[
    list[str] | None,
    Option(
        "--text",
        metavar="COLUMN",
        help="Column of the text: a name, or a number from 1. Several, with commas or given several"
        " times, are read as one text.",
    ),
]
Series = Annotated[
    list[str] | None,
    Option(
        "--series",
        metavar="COLUMNS",
        help="Columns of the values of series, with commas or given several times: the channels,"
        " where a row is a step; the steps, where a row is a series.  [default: what holds numbers"
        " and is neither label, time nor id]",
    ),
]
Time = Annotated[
    str | None,
    Option(
        "--time",
        metavar="COLUMN",
        help="Of series: column of the time of a step; none: there is none.  [default: by its name"
        " or its dates]",
    ),
]
Id = Annotated[
    str | None,
    Option(
        "--id",
        metavar="COLUMN",
        help="Of series: column whose equal values make rows one recording; none: a file is one."
        "  [default: by its name]",
    ),
]
Split = Annotated[
    str | None,
    Option(
        "--split",
        metavar="COLUMN",
        help="Column that says to which part a row belongs: train, valid or test; none: do not look"
        " for one.  [default: one that is called split or the like]",
    ),
]
Folds = Annotated[
    int | None,
    Option(
        "--folds",
        metavar="K",
        min=2,
        help="Cross-validate: K folds, stratified by label, each judged by a model of the others,"
        " whose epoch is chosen on rows of its own.",
    ),
]
Group = Annotated[
    str | None,
    Option(
        "--group",
        metavar="COLUMN",
        help="Column whose equal values (a person, a document) keep rows in one part or fold; of a"
        " folder of recordings also name or folder, or a part of them: name_2, folder_1.",
    ),
]
Missing = Annotated[
    str | None,
    Option(
        "--missing",
        metavar="WHAT",
        help="Rows whose label is missing (empty, NaN, null, N/A): drop, error, or keep such"
        " spellings as labels.  [default: drop]",
    ),
]
Label = Annotated[
    list[str] | None,
    Option(
        "--label",
        metavar="COLUMN",
        help="Column of the label: a name, or a number from 1. Several, with commas or given"
        " several times: the numbers of regress, or columns of 0 and 1, one for each label.",
    ),
]
Multilabel = Annotated[
    bool | None,
    Option(
        "--multilabel/--no-multilabel",
        help="Whether a text may have several labels.  [default: what the data suggest]",
    ),
]
LabelSeparator = Annotated[
    str | None,
    Option(
        "--label-separator",
        metavar="SIGN",
        help="What stands between the labels of a cell, such as a comma; it means --multilabel."
        "  [default: what the data suggest]",
    ),
]
Source = Annotated[
    str | None,
    Option("--source", metavar="COLUMN", help="Of translate: column of the source texts."),
]
Target = Annotated[
    str | None,
    Option(
        "--target",
        metavar="COLUMN",
        help="Of translate: column of the target texts. Of forecast: columns to be continued, with"
        " commas.  [default: all that are not --known]",
    ),
]
Known = Annotated[
    str | None,
    Option(
        "--known",
        metavar="COLUMNS",
        help="Of forecast: columns that are known ahead, such as holidays, with commas.",
    ),
]
Static = Annotated[
    str | None,
    Option(
        "--static",
        metavar="COLUMNS",
        help="Of forecast: columns that a series has as a whole, such as a region, with commas.",
    ),
]
Horizon = Annotated[
    int | None,
    Option("--horizon", metavar="N", help="Of forecast: steps to be given.  [default: a season]"),
]


def decoding_option(*names: str, help: str, metavar: str | None = None) -> Any:
    """An option in the group "Decoding" of the help."""
    return Option(*names, metavar=metavar, help=help, rich_help_panel="Decoding")


Beam = Annotated[
    int | None,
    decoding_option(
        metavar="N", help="Width of the beam; 1 is greedy.  [default: 5; transcripts: 10]"
    ),
]
Int8 = Annotated[
    bool,
    decoding_option(
        "--int8", help="Quantise the decoder to int8: faster, nearly the same results."
    ),
]
DecoderKind = Annotated[
    str | None,
    decoding_option(
        "--decoder",
        metavar="KIND",
        help="Of transcripts by a model of objective=hybrid: ctc, attention, or hybrid, which ranks"
        " the texts of both by both.  [default: hybrid]",
    ),
]
LanguageRun = Annotated[
    Path | None,
    decoding_option(
        "--lm",
        metavar="RUN",
        help="Of transcripts: a run of --task generate, which knows how texts go on.",
    ),
]
LanguageWeight = Annotated[
    float | None,
    decoding_option(
        "--lm-weight", metavar="W", help="Weight of its log probability.  [default: 0.5]"
    ),
]
Bonus = Annotated[
    float | None,
    decoding_option(
        "--bonus",
        metavar="B",
        help="Of transcripts: added for each token, so that they are longer.  [default: 0]",
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print the result as JSON.")]


def readable(text: str, what: str) -> str:
    """The text of an argument; a ConfigError where its bytes were none in the shell's encoding."""
    from unspool.errors import ConfigError

    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"{what} is not valid text in the encoding of this shell",
            got=text.encode("utf-8", "replace").decode(),
            remedy="put it into a file and name the --encoding",
        ) from None
    return text


def named_columns(given: list[str] | None) -> str | None:
    """The columns that an option names, as one setting."""
    return ",".join(given) if given else None


def assignments(pairs: list[str] | None, **flags: str | bool | int | None) -> dict[str, Any]:
    """The settings of `--set` and of the flags that stand for a setting of the data section."""
    from unspool.config.resolve import parse_assignments

    given = {f"data.{name}": value for name, value in flags.items() if value is not None}
    return {**given, **parse_assignments(pairs or [])}


def given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def task_options(run: LoadedRun, chosen: dict[str, Any]) -> Any:
    """The options of the task with the values that were chosen; None where none were. Those of
    other tasks are refused."""
    for name in chosen:
        if name not in option_names(run.task.options):
            raise unsupported(run, name, name)
    return run.task.options(**chosen) if chosen and run.task.options is not None else None


def option_names(kind: type | None) -> set[str]:
    """The fields of a class of options."""
    from dataclasses import fields

    return set() if kind is None else {field.name for field in fields(kind)}


def unsupported(run: LoadedRun, flag: str, option: str) -> ConfigError:
    """The error of a flag that stands for an option which the task of a run does not have."""
    from unspool.tasks import TASKS

    able = [task for task in TASKS.values() if option in option_names(task.options)]
    return meant_for(run, flag, able)


def meant_for(run: LoadedRun, flag: str, able: Sequence[type[AnyTask]]) -> ConfigError:
    """The error of a flag that is for other tasks."""
    from unspool.errors import ConfigError

    answers = dict.fromkeys(task.answer.plural for task in able if task.answer is not None)
    return ConfigError(
        f"--{flag.replace('_', '-')} is for {' and '.join(answers)}",
        where=run.path,
        got=f"a {run.task.name} model",
        remedy="leave it out",
    )
