"""`unspool predict`: what a trained model answers to texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.option_groups import DECODING, reading_options
from unspool.cli.options import (
    NONE,
    Chosen,
    Run,
    Set,
    collecting,
    one_path,
    option_names,
    readable,
    reading_settings,
    task_options,
)

if TYPE_CHECKING:
    from unspool.api.run import Run as LoadedRun
    from unspool.cli.answers import SourceRows
    from unspool.data.plan import Plan
    from unspool.errors import ConfigError


@collecting(
    reading=reading_options("format", "encoding", "text", "text_pair", "series", "time", "id"),
    decoding=DECODING,
)
def predict(
    run: Run,
    texts: Annotated[
        list[str] | None,
        Argument(
            metavar="TEXT",
            help="The texts, or files and folders of what the model reads; - reads standard input:"
            " one text a line, or sound to be transcribed as it comes.",
        ),
    ] = None,
    file: Annotated[
        str | None,
        Option(
            "--file",
            "-f",
            metavar="FILE",
            help="Read the texts from a data file; labels are not needed.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write to a .csv, .tsv, .xlsx, .parquet, .jsonl or .txt file instead, with the"
            " probability of every label, after the columns of the table that was read; of a tagger"
            " also to a .conll file.",
        ),
    ] = None,
    reading: Chosen = NONE,
    set_: Set = None,
    decoding: Chosen = NONE,
    picture: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            rich_help_panel="Decoding",
            help="Draw the first answer, as a .png, .svg or .pdf: the alignment of a translation,"
            " a forecast with its interval, the lattice of a transcript.",
        ),
    ] = None,
    pcm: Annotated[
        int | None,
        Option(
            "--pcm",
            metavar="RATE",
            help="Sound on standard input: samples without a header, of 16 bits, one channel and"
            " this rate; otherwise a WAV file is expected.",
        ),
    ] = None,
    following: Annotated[
        bool,
        Option(
            "--follow",
            help="Read standard input as it comes and answer after each line: a step of a series,"
            " or the next part of a text. The state is carried; the answers are those to the"
            " whole.",
        ),
    ] = False,
    processes: Annotated[
        int,
        Option(
            "--processes",
            metavar="N",
            min=0,
            max=256,
            help="Processes that predict for --out, each with a model; 0: one a core.",
        ),
    ] = 1,
    resume: Annotated[
        bool, Option("--resume", help="Go on with an --out that was interrupted.")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object a text, with all details.")
    ] = False,
) -> None:
    """Predict labels, numbers, tags or texts with a trained model.

    Prints one line a text, in order. What it has depends on the task of the run:

    \b
      classify    label, probability and text, separated by tabs; of several
                  labels those that reach their thresholds, with commas
      regress     the number or numbers and the text, separated by tabs
      answer      the answer, its probability and the question, separated by tabs
      tag         the text with its spans, [ORG EU] rejects ..., or tags, EU/PROPN ...
      translate   the translation, by beam search; with --nbest number, score, translation
      summarize   the summary, in the same way
      caption     the caption, by beam search; with --nbest number, score, caption
      transcribe  the text, its confidence and the name of the recording, separated by
                  tabs; with --nbest number, score, text
      generate    the text and its continuation; see `unspool generate`
      pretrain    one line for each <mask>, with the most probable tokens

    --json has more: all probabilities, offsets of words and spans in characters, the tokens of a
    translation and their alignment. Translations are sampled with --temperature, --top-k or
    --top-p. The words of a CoNLL file are not split again.

    Examples:

    \b
      unspool predict runs/reviews-bilstm "a fine film" "what a bore"
      cut -f2 mails.tsv | unspool predict runs/mails-bigru -
      unspool predict runs/pairs-bilstm "A man sleeps. ||| Nobody is awake."
      unspool predict runs/reviews-bilstm --file new.csv --text review --out labelled.csv
      unspool predict runs/reviews-bilstm --file huge.csv --out new.csv --processes 2 --resume
      unspool predict runs/eng-bilstm "EU rejects German call" --json
      unspool predict runs/eng-bilstm --file test.conll --out tagged.conll
      unspool predict runs/corpus-transformer "the film was <mask> ."
      unspool predict runs/train-transformer "Two dogs play." --beam 8 --nbest 3
      unspool predict runs/train-transformer --file test.en --out test.hyp.txt
      unspool predict runs/train-bahdanau "Two dogs play." --picture alignment.png
      sensor | unspool predict runs/machine-gru --follow
      unspool predict runs/load-gru --file loads.csv --picture forecast.png
      unspool predict runs/calls-bilstm call.wav --json
      arecord -f S16_LE -r 8000 -c 1 | unspool predict runs/calls-lstm -
      unspool predict runs/calls-bilstm call.wav --picture lattice.png
      unspool predict runs/calls-bilstm --file calls --lm runs/book-lstm --lm-weight 0.5
    """
    loaded, reading = show.loaded(run), reading_settings(set_, reading)
    from unspool.cli.answers import check_ending, write_answers
    from unspool.cli.predict_picture import drawing_first, picture_of, with_first
    from unspool.tasks.abilities import OpensStream

    if following:
        from unspool.cli.follow import follow

        refuse_beside("--follow", texts or [], file=file, out=out, picture=picture)
        follow(
            loaded,
            task_options(loaded, decoding),
            time=reading.get("time"),
            id=reading.get("id"),
            as_json=as_json,
        )
        return
    hears = isinstance(loaded.task, OpensStream) and loaded.task.input == "audio"
    listening = hears and texts == ["-"]
    if pcm is not None and not listening:
        raise refused_pcm(loaded, pcm)
    if listening:
        from unspool.cli.follow import listen

        refuse_beside("-", [], file=file, out=out, picture=picture)
        listen(loaded, task_options(loaded, decoding), pcm=pcm, as_json=as_json)
        return
    refuse_same_file([file, *(texts or [])], out)
    with show.reading() as progress:
        items, kept, plan = read_items(
            loaded, texts or [], file, reading, None if out is None else progress
        )
        chosen = dict(decoding)
        if (as_json or picture is not None) and "alignment" in option_names(loaded.task.options):
            chosen["alignment"] = True
        if picture is not None:
            picture_of(loaded)  # refuses runs of which there is nothing to draw
        options = task_options(loaded, chosen)
        answers = loaded.predict_lazily(items, options)  # refuses tasks without answers
        answer = loaded.task.answer
        assert answer is not None
        check_ending(out, answer)
        names = column_names(loaded)
        if out is None or plan is None or picture is not None or out.suffix in answer.binary:
            refuse_bulk(processes, resume=resume)
            if picture is not None:
                first, items = with_first(items)
                answers = loaded.predict_lazily(items, options)
                answers = drawing_first(loaded, first, answers, picture, options)
            write_answers(answers, out, as_json=as_json, source=kept, names=names)
            return
        from unspool.cli.bulk import predict_file

        predict_file(
            loaded, iter(items), kept, plan, out, options, names,
            processes=processes, resume=resume,
        )  # fmt: skip


def refuse_bulk(processes: int, *, resume: bool) -> None:
    """Refuse the options of a whole file where answers are written as they come."""
    if processes != 1 or resume:
        from unspool.errors import ConfigError
        from unspool.errors import Option as Named

        raise ConfigError(
            "only answers to a whole file, written into another one, can be resumed or spread",
            got=Named(resume=True) if resume else Named(processes=processes),
            remedy="give --file and --out, without --picture",
        )


def column_names(run: LoadedRun) -> dict[str, str]:
    """Name the labels as the table does that a run was trained on: `stars`, not `label`."""
    from unspool.data.read.files import OF_PATHS

    labels = run.config.data.columns.get("label", ())
    if len(labels) != 1 or labels[0].isdigit() or OF_PATHS.fullmatch(labels[0]):
        return {}
    return {"label": labels[0], "labels": labels[0]}


def refuse_beside(option: str, texts: list[str], **options: Any) -> None:
    """Refuse other inputs and outputs beside standard input, whose answers are printed at once."""
    from unspool.errors import ConfigError

    named = [name for name, value in options.items() if value is not None]
    if named or (texts and texts != ["-"]):
        raise ConfigError(
            f"{option} reads standard input and prints each answer at once",
            got=f"--{named[0]}" if named else texts[0],
            remedy="leave one of them out",
        )


def is_path(text: str) -> bool:
    """Whether a text is the name of a folder, or of a file by its ending."""
    return os.path.isdir(text) or (os.path.isfile(text) and Path(text).suffix != "")


def refuse_same_file(files: Sequence[str | None], out: Path | None) -> None:
    """Refuse to write the answers over a file that they are about."""
    from unspool.errors import ConfigError

    same = (os.path.exists(file) and os.path.samefile(file, out) for file in files if file and out)
    if out is not None and out.exists() and any(same):
        raise ConfigError(
            "--out is the file that is read, which the answers would replace",
            got=out,
            remedy="name another file with --out",
        )


def refused_pcm(run: LoadedRun, rate: int) -> ConfigError:
    from unspool.errors import ConfigError

    return ConfigError(
        "--pcm is for sound on standard input that a transcriber reads",
        where=run.path,
        got=f"--pcm {rate}",
        remedy="give - with a run of --task transcribe, or leave --pcm out",
    )


def read_items(
    run: LoadedRun,
    texts: list[str],
    file: str | None,
    reading: Chosen,
    progress: Callable[[str, float], None] | None,
) -> tuple[Iterable[Any], SourceRows | None, Plan | None]:
    """The texts of the command line, of a file or of standard input, in order, of a table all its
    columns, and the plan of a file; `reading` overrides how it is read. Sentences that are cut into
    words already are lists of them."""
    from unspool.cli.answers import rows_of
    from unspool.config.resolve import reading_changed
    from unspool.errors import ConfigError
    from unspool.tasks.planner import open_inputs

    if file is not None and texts:
        raise ConfigError(
            "give texts or --file, not both", got=texts[0], remedy="leave out one of them"
        )
    if not texts and file is None:
        raise ConfigError(
            "no text given", remedy="give some, or --file FILE, or - for standard input"
        )
    if texts and not run.task.reads_tokens:
        named = [run.task.input_field.form.named(readable(text, "a name")) for text in texts]
        if all(column_name is not None for column_name in named):
            return named, None, None
        if texts == ["-"] or not all(Path(text).exists() for text in texts):
            raise ConfigError(
                f"the model reads {run.task.input}, which is no text",
                got=texts[0],
                remedy="name a file or a folder of them, or - with --file",
            )
        file, texts = one_path(texts), []
    elif texts and all(map(is_path, texts)):
        file, texts = one_path(texts), []
    if texts and texts != ["-"]:
        return [readable(text, "a text") for text in texts], None, None
    # What a person types is read as lines, whatever the training file was.
    usual = {"format": "auto"} if file is not None else {"format": "lines", "encoding": "utf-8"}
    settings = reading_changed(run.config, {**usual, **reading}).data
    plan = open_inputs(file or "-", settings, run.task.name)
    if file is not None:
        show.note(plan.summary)
    report = None if progress is None else partial(progress, "predicting")
    whole = plan if file is not None else None
    if not plan.table.header or not run.task.reads_tokens:
        return (row.values[0] for row in plan.rows(report)), None, whole
    return *rows_of(plan, report), whole
