"""`unspool train`: a file in, a run folder out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.option_groups import READING
from unspool.cli.options import (
    DATA_HELP,
    NONE,
    AsJson,
    Chosen,
    ConfigFile,
    Model,
    Set,
    Task,
    Test,
    Valid,
    assignments,
    collecting,
    one_path,
)

if TYPE_CHECKING:
    from unspool.api.run import Run
    from unspool.tasks import Report
    from unspool.training.comparison import BaselineComparison


@collecting(reading=READING)
def train(
    data: Annotated[
        list[str] | None,
        Argument(metavar="DATA...", help=DATA_HELP + " Not needed with --resume."),
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
            " pretrain, or from a BERT, RoBERTa, DistilBERT, MiniLM or GPT-2 folder, hf:OWNER/NAME"
            " of the Hugging Face hub; or read with"
            " the contextual vectors of a run of --task elmo.",
        ),
    ] = None,
    processes: Annotated[
        int | None,
        Option(
            "--processes",
            metavar="N",
            help="Share the rows of each batch among N processes of this machine; the result is"
            " that of one. Under torchrun its processes are used.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        Option(
            "--budget",
            metavar="TIME",
            help="Of --model auto: 90s, 5m or 1h of processor time, for all that is tried. "
            " [default: 5m]",
        ),
    ] = None,
    rescue: Annotated[
        Path | None,
        Option(
            "--rescue",
            metavar="DIR",
            help="Where --out cannot be written at the end, because its disk is full or gone, save"
            " the run here.",
        ),
    ] = None,
    reading: Chosen = NONE,
    as_json: AsJson = False,
) -> None:
    """Train a model on a file and save it as a run folder.

    The task, the format and the columns are inferred from the data and shown in one line; options
    override them. Without --model, classify and regress fit simple models and a network, and keep
    the best on the validation part, or a mean of some. The weights with the best validation score
    are kept. The report at the end is on
    the test data, or on the validation data where there are none. Ctrl-C, SIGTERM and a closed
    terminal save the run; --resume continues it, and ends with the same weights as a run without a
    stop. A run folder that another process writes is refused.

    With --folds K the report is that of a cross-validation; the predictions of all rows are in
    out-of-fold.csv, and the model is trained on all rows afterwards, for the median of the epochs
    that were best in the folds. Finished folds are kept by --resume.

    --model auto tries more networks within --budget, and small data on five folds. --resume
    continues a search that was stopped.

    Examples:

    \b
      unspool train reviews.csv
      unspool train reviews.csv --model auto --budget 5m
      unspool train reviews.csv --model bigru --set hidden=64 --set epochs=5
      unspool train rt-polarity.all --encoding latin-1
      unspool train films.csv --label genres --label-separator "|"
      unspool train comments.csv --label toxic,insult,threat
      unspool train book.txt --task generate --model lstm --out runs/book
      unspool train eng.train --valid eng.testa
      unspool train train.conllu --label xpos
      unspool train 2023.csv 2024.csv
      unspool train texts.txt,labels.txt
      unspool train train.en,train.de --valid val.en,val.de --model transformer
      unspool train --resume --out runs/book
      unspool train corpus.txt --task pretrain --out runs/corpus
      unspool train reviews.csv --from runs/corpus --set freeze=gradual
      unspool train reviews.csv --from models/minilm
      unspool train reviews.csv --folds 10 --group author
      unspool train recordings/ --group name --set window=128
      unspool train loads.csv --task forecast --horizon 24
      unspool train book.txt --model lstm --processes 2
    """
    from unspool.api.train import train as run_training
    from unspool.training.progress import Printed

    settings = assignments(set_, reading)
    if processes is not None:
        settings["train.processes"] = processes

    with show.reading() as progress:
        run = run_training(
            one_path(data),
            task=task,
            model=model,
            valid=valid,
            test=test,
            out=out,
            config=config,
            resume=resume,
            start=start,
            budget=budget,
            rescue=rescue,
            note=show.note,
            watcher=Printed(show.console()),
            progress=progress,
            **settings,
        )
    if int(os.environ.get("RANK", 0)) and "MASTER_ADDR" in os.environ:
        return  # the first process of torchrun reports
    if run.report is not None:
        where = "by cross-validation" if run.report_part == "folds" else ""
        show.note(f"{where or f'on the {run.report_part} part'}:")
    show.result(
        TrainResult(run.path, run.report_part, run.report, run.data, run.comparison),
        as_json=as_json,
    )
    if run.report is not None:
        save_pictures(run, run.report)
    show.note(f"next: {next_command(run)}")


def save_pictures(run: Run, report: Report) -> None:
    """Draw what a training came to into its folder."""
    from unspool.insight.gallery import training_pictures
    from unspool.io.pictures import save_picture

    drawn = training_pictures(report.to_json(), run.metrics(), run.task.metric.name)
    for name, figure in drawn:
        save_picture(figure, run.path / f"{name}.png")


def next_command(run: Run) -> str:
    """The command to go on with: a simpler model where that is better, or the use of this one."""
    from unspool.tasks.abilities import SearchesModels

    comparison, use = run.comparison, run.task.usage.format(run=run.path)
    if comparison is not None and comparison.preferred != run.config.model_name:
        also = " or --model auto" if isinstance(run.task, SearchesModels) else ""
        if comparison.preferred in comparison.references:
            return f"the same command with more --set epochs{also} · {use}"
        model, *settings = comparison.preferred.split(", ")  # "linear, center=none"
        options = " ".join([f"--model {model}", *(f"--set {setting}" for setting in settings)])
        return f"the same command with {options}{also} · {use}"
    return f"{use} · unspool evaluate {run.path} FILE"


@dataclass(frozen=True)
class TrainResult:
    """Printed result of `unspool train`: the report, where anything was held out to report on."""

    path: Path
    part: str | None
    report: Report | None
    data: dict[str, Any]
    comparison: BaselineComparison | None = None

    def to_json(self) -> dict[str, Any]:
        report = self.report.to_json() if self.report is not None else {}
        baselines = {} if self.comparison is None else self.comparison.to_json()
        data = {name: self.data[name] for name in ("rows", "notes") if name in self.data}
        return {"run": str(self.path), "part": self.part, **report, **baselines, "data": data}

    def lines(self) -> list[str]:
        lines = self.report.lines() if self.report is not None else []
        return lines if self.comparison is None else [*lines, "", *self.comparison.lines()]
