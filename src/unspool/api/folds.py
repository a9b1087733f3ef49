"""Cross-validation: settings and a plan in, a model of all rows and the report of K others out.

Each fold is a run of its own in `folds/K` of the run folder: its test part is the fold, its
validation part comes out of the other rows and chooses the epoch. Finished folds are kept when the
whole is resumed. The model of the run is then trained on all rows, for the median of the epochs
that were best in the folds, and calibrated by the scores of the folds.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np
import torch

from unspool.api.run import Run
from unspool.config import Config
from unspool.config.resolve import changed
from unspool.errors import Option, RunError
from unspool.io.files import read_hashed, read_json, write_hashed, write_json
from unspool.tasks.abilities import CalibratesFolds
from unspool.tasks.calibration import Unseen
from unspool.training.fold_report import Fold, FoldsReport, fold_of
from unspool.training.folder import RunFolder
from unspool.training.progress import read_log
from unspool.training.signals import Interrupted
from unspool.training.tensors import DamagedFile, load_tensors, save_tensors

RESULT = "fold.json"
TABLE = "out-of-fold.csv"
SCORES = "out-of-fold.safetensors"

TrainFold = Callable[[RunFolder, Config], Run]


def run_folds(
    folder: RunFolder, config: Config, train_fold: TrainFold, note: Callable[[str], None]
) -> FoldsReport:
    """Every fold that is not finished; `train_fold` begins it in its folder, or goes on with it."""
    done, metric = [], ""
    for number in range(1, config.data.folds + 1):
        home = RunFolder(folder.path / "folds" / str(number))
        if (home.path / RESULT).exists():
            note(f"— fold {number} of {config.data.folds}: finished before")
        else:
            note(f"— fold {number} of {config.data.folds}")
            fold_config = changed(config, {"data.fold": number})
            try:
                run = train_fold(home, fold_config)
            except Interrupted as stopped:
                raise Interrupted(stopped.number, folder.path, stopped.step) from None
            finish(home, run, number)
        stored = read_json(home.path / RESULT)
        try:
            done.append(fold_of(stored))
            metric = str(stored["metric"])
        except (KeyError, TypeError):
            raise RunError(
                "not the result of a fold",
                where=home.path / RESULT,
                remedy=("remove the folder of this fold and use ", Option(resume=True)),
            ) from None
    merge_tables(folder.path, config.data.folds)
    return FoldsReport(metric, done)


def finish(home: RunFolder, run: Run, number: int) -> None:
    """Write the predictions of a fold, and then what says that it is finished."""
    report = run.report
    assert report is not None
    if run.task.answer is not None:
        write_hashed(home.path / TABLE, predictions(run, number))
    if isinstance(run.task, CalibratesFolds):
        unseen = run.task.unseen(run.model, run.parts["test"])
        tensors = {
            "scores": torch.from_numpy(unseen.scores),
            "truth": torch.from_numpy(unseen.truth),
        }
        save_tensors(home.path / SCORES, tensors, {"labels": unseen.labels})
    baselines = {} if run.comparison is None else run.comparison.baselines
    result = Fold(
        rows=len(report.scores),
        epochs=best_epoch(home),
        metrics=report.metrics,
        baselines={name: report.metrics for name, report in baselines.items()},
        parameters=sum(p.numel() for p in run.model.parameters()),
        seconds=0.0 if run.counters is None else run.counters.seconds,
        tokens=0 if run.counters is None else run.counters.tokens,
    )
    write_json(home.path / RESULT, {"metric": run.task.metric.name, **result._asdict()})


def unseen_rows(folder: Path, folds: int) -> list[Unseen]:
    """The scores of all folds that have some."""
    unseen = []
    for number in range(1, folds + 1):
        path = folder / "folds" / str(number) / SCORES
        try:
            tensors, meta = load_tensors(path)
        except FileNotFoundError:
            continue
        except DamagedFile as error:
            remedy = ("remove the folder of this fold and use ", Option(resume=True))
            raise RunError(f"damaged: {error}", where=path, remedy=remedy) from None
        scores, truth = tensors["scores"].numpy(), tensors["truth"].numpy()
        unseen.append(Unseen(scores, truth, meta["labels"]))
    return unseen


def best_epoch(home: RunFolder) -> int:
    """The epoch after which the kept weights were saved; 0 of a model that has none."""
    best = 0
    for record in read_log(home.metrics):
        if record.get("best"):
            best = max(1, int(record["epoch"]))
    return best


def predictions(run: Run, number: int) -> str:
    """A table of the test part as CSV: where each row stands, the truth, and the answer."""
    part, task = run.parts["test"], run.task
    targets = [name for name, field in task.fields.items() if field.is_target]
    values = part.raw(np.arange(len(part)), [task.input, *targets])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row, answer in enumerate(task.predict(run.model, [row_values[0] for row_values in values])):
        if row == 0:
            writer.writerow(
                ["fold", "line", *(f"true {name}" for name in targets), *answer.header()]
            )
        truth = [json.dumps(x) if isinstance(x, list | tuple) else x for x in values[row][1:]]
        for cells in answer.rows(row + 1):
            writer.writerow([number, part.line(row), *truth, *cells])
    return text.getvalue()


def merge_tables(folder: Path, folds: int) -> None:
    """All rows in the order of the file."""
    rows: list[list[str]] = []
    header: list[str] = []
    for number in range(1, folds + 1):
        path = folder / "folds" / str(number) / TABLE
        if not path.exists():
            return
        header, *more = list(csv.reader(io.StringIO(read_hashed(path).decode())))
        rows += more
    rows.sort(key=lambda row: file_position(row[1]))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    write_hashed(folder / TABLE, text.getvalue())


def file_position(line: str) -> tuple[str, int]:
    """`7`, or `file.csv:7`, as something to sort by."""
    match = re.fullmatch(r"(.*?)(\d+)", line)
    return (match[1], int(match[2])) if match else (line, 0)


def whole_config(config: Config, report: FoldsReport) -> Config:
    """The config of the final model: no part is held out, and it ends after the median epoch."""
    epochs = [fold.epochs for fold in report.folds if fold.epochs]
    settings: dict[str, Any] = {"data.valid_share": 0.0, "data.test_share": 0.0}
    if epochs:
        settings |= {"train.stop_epoch": median_low(epochs), "train.patience": 0}
    return changed(config, settings)
