"""Plan documents and their summaries: by the names of columns, or as requested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import Column, Shape, Table
from unspool.data.read.columns import LABEL_NAMES, known
from unspool.errors import Option
from unspool.tasks.translate.plan import plan_pairs, plan_sources

DOCUMENTS = ("body", "article", "document", "dialogue", "text", "content", "story", "news")
SUMMARIES = (
    "summary", "summaries", "subject", "headline", "headlines", "title", "highlights", "abstract",
    "tldr",
)  # fmt: skip
REFERENCES = ("others", "references")  # columns of further summaries
FIT = 3  # names are surer than that two columns look like pairs
SHORTER = 2  # times a summary must be shorter than its document, unless the task is named


def plan_summaries(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    """Unless the task is named, names make a table one of summaries, where one of the two columns
    is much shorter than the other, none is called like a label, and nothing else was asked for. The
    longer one has the documents, whatever it is called."""
    if not outputs:
        return plan_sources(table, data, task=task)
    columns = table.columns if table.header or table.typed else []
    source, target = known(columns, DOCUMENTS), known(columns, SUMMARIES)
    requested, turned = data.source or data.target, False
    if source is not None and target is not None and not requested:
        turned = target.profile.mean_length >= SHORTER * source.profile.mean_length
        source, target = (target, source) if turned else (source, target)
    if not named:
        if requested or data.text or data.label or source is None or target is None:
            return None
        if (
            known(columns, LABEL_NAMES)
            or source.profile.mean_length < SHORTER * target.profile.mean_length
        ):
            return None
    names: dict[str, Any] = {}
    if source is not None and target is not None:
        names = {"source": data.source or source.name, "target": data.target or target.name}
    plan = plan_pairs(table, data.model_copy(update=names), named=True, task="summarize")
    if plan is None or plan.table.shape == Shape.PAIRS:
        return plan
    noun, further = plan.table.reader.noun, references_column(plan.table)
    document, summary = (f"{plan.columns[name].name!r}" for name in ("source", "target"))
    more = f", further references in {further.name!r}" if further is not None else ""
    where = f"documents in {noun} {document}, summaries in {summary}{more}"
    if turned and source is not None and target is not None:
        where += (
            f", which are shorter ({Option(source=target.name, target=source.name)} for the other"
        )
        where += " way round)"
    line = f"{plan.table.summary}, {where} -> summarize"
    if not named:
        line += f" ({Option(task='translate')} reads them as pairs{labels_beside(columns, plan)})"
    return replace(plan, fit=FIT, summary=line, settings={})


def labels_beside(columns: Sequence[Column], plan: Plan) -> str:
    """`, --label Score learns that`: the first other column that looks like a label."""
    taken = {member.number for column in plan.columns.values() for member in column.members}
    for column in columns:
        if column.number not in taken and column.profile.is_class:
            return f", {Option(label=column.name)} learns that"
    return ""


def references_column(table: Table) -> Column | None:
    """That of further summaries: lists of texts, or one text."""
    return known(table.columns, REFERENCES) if table.header or table.typed else None


def further_references(plan: Plan) -> list[list[str]]:
    """Further summaries of each row; [] where there are none."""
    column = references_column(plan.table)
    if column is None:
        return []
    number = plan.table.columns.index(column)
    return [texts_of(cells[number]) for _, cells in plan.whole_rows()]


def texts_of(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [str(value) for value in values if value is not None and str(value).strip()]
