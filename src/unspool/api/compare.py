"""Several models on the same data, split, seeds and budget: a table with intervals."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.api.run import Run
from unspool.api.settings import check_folds, make_config, open_data, refuse_unread_settings
from unspool.api.train import cross_validate, open_plans, train_plans, with_columns
from unspool.api.training import data_files, resume_training
from unspool.config.resolve import changed
from unspool.data.read.memory import source_of
from unspool.errors import ConfigError, Option
from unspool.io.files import read_json, write_atomic
from unspool.tasks import TASKS, Report
from unspool.tasks.abilities import HasBaselines
from unspool.training.comparison import mcnemar, mean_interval
from unspool.training.fold_report import FoldsReport
from unspool.training.folder import RunFolder
from unspool.training.output_folder import claimed, refuse_run
from unspool.training.progress import Note, Progress, Watcher, watching

UNFINISHED = "unfinished.json"  # settings and data of a comparison, until its end


class ComparisonRow(NamedTuple):
    """One model: its metric over all seeds with a 95 % interval, its size, its cost.

    difference   to the best model, with its interval by rows that are resampled in pairs
    p            of McNemar's test of that difference, where rows are right or wrong
    """

    model: str
    metric: str
    value: float
    low: float
    high: float
    seeds: int
    parameters: int
    seconds: float  # of training, mean over the seeds
    tokens_per_second: float
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None


class Comparison(list[ComparisonRow]):
    """The rows, best first; prints as a table, saves as CSV, Markdown and LaTeX."""

    part = "test"

    def lines(self) -> list[str]:
        cells = [self._header(), *(self._cells(row) for row in self)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
        return [
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))
            )
            for line in cells
        ]

    def markdown(self) -> str:
        lines = [
            "| " + " | ".join(line) + " |" for line in [self._header(), *map(self._cells, self)]
        ]
        lines.insert(1, "|" + "---|" * len(self._header()))
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """With the rules of the package booktabs."""
        lines = [
            " & ".join(map(in_latex, line)) + r" \\"
            for line in [self._header(), *map(self._cells, self)]
        ]
        columns = "l" + "r" * (len(self._header()) - 1)
        lines.insert(1, r"\midrule")
        table = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines]
        return "\n".join([*table, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(ComparisonRow._fields)
        writer.writerows(self)
        return text.getvalue()

    def to_json(self) -> dict[str, Any]:
        return {"part": self.part, "models": [row._asdict() for row in self]}

    def _header(self) -> list[str]:
        metric = self[0].metric if self else "metric"
        return [
            "model",
            f"{self.part} {metric}",
            "95 % interval",
            "to the best",
            "McNemar p",
            "folds" if self.part == "folds" else "seeds",
            "parameters",
            "seconds",
            "tokens/s",
        ]

    @staticmethod
    def _cells(row: ComparisonRow) -> list[str]:
        return [
            row.model,
            f"{row.value:.4f}",
            f"{row.low:.4f} to {row.high:.4f}",
            ""
            if row.difference is None
            else f"{row.difference:+.4f} ({row.difference_low:+.4f} to {row.difference_high:+.4f})",
            "" if row.p is None else f"{row.p:.3g}",
            str(row.seeds),
            f"{row.parameters:,}",
            f"{row.seconds:.0f}",
            f"{row.tokens_per_second:,.0f}",
        ]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def compare(
    data: Any,
    labels: Any = None,
    *,
    models: Sequence[str],
    seeds: int = 1,
    out: str | Path = "runs/compare",
    task: str | None = None,
    valid: Any = None,
    test: Any = None,
    config: str | None = None,
    quiet: bool = False,
    watcher: Watcher | None = None,
    note: Note | None = None,
    progress: Progress = None,
    **settings: Any,
) -> Comparison:
    """Train every model with every seed and score it on the test part; data as of `train`.

    The baselines of the task are always among the models, with one seed: they depend on none.
    With `folds` the rows are the means of a cross-validation, and `seeds` counts the folds.
    Without a test file a tenth of the data is held out for it, unless `test_share` is among the
    settings. Each run lies in its own folder under `out`, next to compare.csv, compare.md and
    compare.tex.
    """
    if not models:
        raise ConfigError(
            "no models to compare", remedy=("name some: ", Option(models=["lstm", "gru"]))
        )
    for model in models:
        if list(models).count(model) > 1:
            raise ConfigError("a model is named twice", got=model, remedy="name each one once")
    user_settings = dict(settings)
    in_folds = bool({"folds", "data.folds"} & settings.keys())
    if in_folds and seeds > 1:
        raise ConfigError(
            (Option("folds"), " trains each model once a fold"),
            got=Option(seeds=seeds),
            remedy="leave it out",
        )
    if not in_folds and test is None and not ({"test_share", "data.test_share"} & settings.keys()):
        settings["data.test_share"] = 0.1
    folder = Path(out)
    # Whatever would stop a later run is an error before the first one starts.
    data = source_of(data, labels)
    plan = open_data(data, task=task, settings=settings, config_file=config)
    decided = {**plan.settings, **settings}
    configs = {
        model: with_columns(
            make_config(plan.task, model, settings=decided, config_file=config, plan=plan), plan
        )
        for model in models
    }
    refuse_unread_settings(user_settings, config, list(configs.values()))
    first, table, reports = configs[models[0]], Comparison(), dict[str, list[Report]]()
    kind = TASKS[plan.task]
    baselines = kind.baselines(first) if isinstance(kind, HasBaselines) else list[Any]()
    simple = {config.model_name: config for config in baselines}
    counts = {model: 1 if model in simple else seeds for model in [*simple, *models]}
    held_out = {"valid": valid, "test": test}
    sources = {name: source_of(value) for name, value in held_out.items() if value is not None}
    watched = watching(quiet, note=note, watcher=watcher, progress=progress)
    with watched as shown, claimed(folder):
        shown.note(plan.summary)
        plans = open_plans(plan, first, sources, shown.note)
        check_folds(first, plans)
        started = {"counts": counts, "data": data_files(plans)}
        started["settings"] = {
            name: config.model_dump(mode="json") for name, config in (simple | configs).items()
        }
        continued = is_unfinished(folder, started)
        for model, count in counts.items():
            for seed in range(1, count + 1):
                if not continued:
                    refuse_run(folder / f"{model}-seed{seed}")
        write_atomic(folder / UNFINISHED, json.dumps(started))
        for model, count in counts.items():
            value = changed((simple | configs)[model], {"train.baseline": False})
            runs = []
            for seed in range(1, count + 1):
                home = RunFolder(folder / f"{model}-seed{seed}")
                shown.note(f"— {model}" + ("" if in_folds else f", seed {seed}"))
                value = changed(value, {"train.seed": seed})
                if in_folds:
                    table.append(_fold_row(model, cross_validate(home, value, plans, None, shown)))
                    continue
                if home.config_file.exists():
                    with home.holding():
                        runs.append(resume_training(home, plans, shown))
                    continue
                with home.making():
                    runs.append(train_plans(home, value, plans, None, shown))
            if runs:
                table.append(_row(model, runs))
                reports[model] = [run.report for run in runs if run.report is not None]
            table.part = "folds" if in_folds else runs[0].report_part or "valid"
            higher = TASKS[plan.task].metric.higher_is_better
            table.sort(key=lambda row: -row.value if higher else row.value)
            table[:] = [_with_difference(row, table[0], reports) for row in table]
            write_atomic(folder / "compare.csv", table.csv())
            write_atomic(folder / "compare.md", table.markdown())
            write_atomic(folder / "compare.tex", table.latex())
        (folder / UNFINISHED).unlink()
    return table


def is_unfinished(folder: Path, started: dict[str, Any]) -> bool:
    """Return whether the folder holds the beginning of this comparison, which was stopped."""
    path = folder / UNFINISHED
    return path.exists() and read_json(path) == json.loads(json.dumps(started))


def _row(model: str, runs: list[Run]) -> ComparisonRow:
    reports = [run.report for run in runs if run.report is not None]
    if not reports:
        raise ConfigError("nothing is held out to compare on", remedy="set test_share=0.1")
    low, high = reports[0].interval_over(reports)
    ends = [run.counters for run in runs if run.counters is not None]
    metric = runs[0].task.metric.name
    return ComparisonRow(
        model,
        metric,
        float(np.mean([report.metrics[metric] for report in reports])),
        low,
        high,
        len(runs),
        sum(p.numel() for p in runs[0].model.parameters()),
        float(np.mean([end.seconds for end in ends])),
        sum(end.tokens for end in ends) / max(sum(end.seconds for end in ends), 1e-9),
    )


def _with_difference(
    row: ComparisonRow, best: ComparisonRow, reports: Mapping[str, list[Report]]
) -> ComparisonRow:
    """The row with its difference to the best one, of which both have reports on the same rows."""
    row = row._replace(difference=None, difference_low=None, difference_high=None, p=None)
    if row.model == best.model or row.model not in reports:
        return row
    ours, others = reports[row.model], reports[best.model]
    interval = mean_interval(ours, others)
    if interval is None:
        return row
    p = mcnemar(ours[0], others[0]) if len(ours) == len(others) == 1 else None
    return row._replace(
        difference=row.value - best.value,
        difference_low=interval[0],
        difference_high=interval[1],
        p=p,
    )


def in_latex(text: str) -> str:
    """Text with its special characters escaped."""
    return re.sub(r"[&%$#_{}]", lambda match: "\\" + match[0], text.replace("\\", "/"))


def _fold_row(model: str, report: FoldsReport) -> ComparisonRow:
    low, high = report.interval
    seconds = [fold.seconds for fold in report.folds]
    return ComparisonRow(
        model,
        report.metric,
        report.metrics[report.metric],
        low,
        high,
        len(report.folds),
        report.folds[0].parameters,
        float(np.mean(seconds)),
        sum(fold.tokens for fold in report.folds) / max(sum(seconds), 1e-9),
    )
