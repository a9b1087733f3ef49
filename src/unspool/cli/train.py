"""`unspool train`: a file in, a run folder out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import (
    DATA_HELP,
    AsJson,
    ConfigFile,
    Encoding,
    Format,
    Label,
    LabelSeparator,
    Missing,
    Model,
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

if TYPE_CHECKING:
    from unspool.tasks import Report


def train(
    data: Annotated[
        str | None, Argument(metavar="DATA", help=DATA_HELP + " Not needed with --resume.")
    ] = None,
    task: Task = None,
    model: Model = None,
    set_: Set = None,
    config: ConfigFile = None,
    valid: Valid = None,
    test: Test = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="RUN",
            help="The run folder to write.  [default: runs/NAME-MODEL]",
        ),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Continue the run in --out, with its own settings.")
    ] = False,
    start: Annotated[
        Path | None,
        Option(
            "--from",
            metavar="FOLDER",
            help="Start from the encoder and the vocabulary of another run, such as one of --task"
            " pretrain, or from a BERT, RoBERTa, DistilBERT, MiniLM or GPT-2 folder; or read with"
            " the contextual vectors of a run of --task elmo.",
        ),
    ] = None,
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
    """Train a model on a file and save it as a run folder.

    The task, the format and the columns are inferred from the data and shown in one line; options
    override them. The weights with the best validation score are kept. The report at the end is on
    the test data, or on the validation data where there are none. Ctrl-C and SIGTERM save the run;
    --resume continues it, and ends with the same weights as a run without a stop.

    Examples:

    \b
      unspool train reviews.csv
      unspool train reviews.csv --model bigru --set hidden=64 --set epochs=5
      unspool train rt-polarity.all --encoding latin-1
      unspool train films.csv --label genres --label-separator "|"
      unspool train comments.csv --label toxic,insult,threat
      unspool train book.txt --task generate --model lstm --out runs/book
      unspool train eng.train --valid eng.testa
      unspool train train.conllu --label xpos
      unspool train train.en,train.de --valid val.en,val.de --model transformer
      unspool train --resume --out runs/book
      unspool train corpus.txt --task pretrain --out runs/corpus
      unspool train reviews.csv --from runs/corpus --set freeze=gradual
      unspool train reviews.csv --from models/minilm
    """
    from unspool.api.train import train as run_training
    from unspool.training.progress import Printed

    with show.reading() as progress:
        run = run_training(
            data,
            task=task,
            model=model,
            valid=valid,
            test=test,
            out=out,
            config=config,
            resume=resume,
            start=start,
            note=show.note,
            watcher=Printed(show.console()),
            progress=progress,
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
    if run.report is not None:
        show.note(f"on the {run.report_part} part:")
    show.result(TrainResult(run.path, run.report_part, run.report), as_json=as_json)
    usage = run.task.usage.format(run=run.path)
    show.note(f"next: {usage} · unspool evaluate {run.path} FILE")


@dataclass(frozen=True)
class TrainResult:
    """What `unspool train` prints: the report, where anything was held out to report on."""

    path: Path
    part: str | None
    report: Report | None

    def to_json(self) -> dict[str, Any]:
        report = self.report.to_json() if self.report is not None else {}
        return {"run": str(self.path), "part": self.part, **report}

    def lines(self) -> list[str]:
        return self.report.lines() if self.report is not None else []
