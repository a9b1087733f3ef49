"""A report as a table for a spreadsheet or a paper: its JSON in; CSV or LaTeX out."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from unspool.insight.gallery import per_class

INTERVAL = "_interval"


def metric_rows(report: Mapping[str, Any]) -> list[list[Any]]:
    """The figures of the whole, each with the bounds of its interval where there is one."""
    numbers = {name: x for name, x in report.items() if isinstance(x, int | float)}
    bounds = {name: report.get(f"{name}{INTERVAL}", ["", ""]) for name in numbers}
    return [[name, x, *bounds[name]] for name, x in numbers.items()]


def class_rows(report: Mapping[str, Any]) -> list[list[Any]]:
    """A header, and the figures of each class, label, type or tag; empty where there are none."""
    unit, scores = per_class(report)
    if not scores:
        return []
    names = list(next(iter(scores.values())))
    return [[unit, *names], *([name, *score.values()] for name, score in scores.items())]


def as_csv(report: Mapping[str, Any]) -> str:
    """One figure a line, so that all reports have the same columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["of", "metric", "value", "low", "high"])
    writer.writerows(["all", *row] for row in metric_rows(report))
    if table := class_rows(report):
        header, *rows = table
        writer.writerows(
            [row[0], metric, value, "", ""]
            for row in rows
            for metric, value in zip(header[1:], row[1:])
        )
    return out.getvalue()


def as_latex(report: Mapping[str, Any]) -> str:
    """Tables of the package booktabs."""
    metrics = [["metric", "value", "low", "high"], *metric_rows(report)]
    return "\n".join(tabular(table) for table in (metrics, class_rows(report)) if table)


def tabular(table: Sequence[Sequence[Any]]) -> str:
    header, *rows = [[latex_cell(value) for value in row] for row in table]
    lines = [" & ".join(row) + r" \\" for row in (header, *rows)]
    columns = "l" + "r" * (len(header) - 1)
    body = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}", ""])


def latex_cell(value: Any) -> str:
    from unspool.api.compare import in_latex

    return f"{value:.4f}" if isinstance(value, float) else in_latex(str(value))
