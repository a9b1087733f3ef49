"""One pass over the raw values of a file: flaws, families, and the values of wanted rows.

A row is known by its number in the table; a stream by its lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unspool.data.fields.examiner import Examiner
from unspool.data.plan import Plan
from unspool.data.read import Row
from unspool.data.read.budget import Allowance
from unspool.data.store.columns import Progress, batches, report_stage

KEPT = 5  # examples of a flaw


class RowExcerpt(NamedTuple):
    """A row of a table as an example."""

    where: str
    shown: str


@dataclass
class Survey:
    """Survey of one file.

    flaws     by (field, flaw): the numbers of the rows, and the first ones
    families  by (field, kind of family): of each family the number of rows
    members   by (field, kind of family, family): the first ones
    wanted    excerpts of rows that were asked for, by their number
    """

    rows: int = 0
    flaws: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    families: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    members: dict[tuple[str, str, str], list[RowExcerpt]] = field(default_factory=dict)
    examples: dict[tuple[str, str], list[RowExcerpt]] = field(default_factory=dict)
    wanted: dict[int, str] = field(default_factory=dict)


def survey(
    plan: Plan,
    examiners: Mapping[str, Examiner],
    wanted: Iterable[int] = (),
    *,
    stream: bool = False,
    progress: Progress = None,
) -> Survey:
    result, numbers = Survey(), set(wanted)
    columns = list(plan.columns)
    shown = next((columns.index(key) for key in examiners), 0)
    rows = plan.rows(report_stage(progress, f"examining {plan.table.name}"))
    if stream:
        rows = Allowance(plan.table.name).timed(lines_of(rows))
    for batch in batches(rows):
        with Allowance(plan.table.name).spending():
            for key, examiner in examiners.items():
                values = [row.values[columns.index(key)] for row in batch]
                _examine(result, plan, batch, key, examiner, values)
        first = next(iter(examiners.values()), None)
        for i in numbers.intersection(range(result.rows, result.rows + len(batch))):
            raw = batch[i - result.rows].values[shown]
            result.wanted[i] = excerpt(first, raw)
        result.rows += len(batch)
    return result


def _examine(
    result: Survey, plan: Plan, batch: list[Row], key: str, examiner: Examiner, values: list[Any]
) -> None:
    def example(i: int, flaw: str | None = None) -> RowExcerpt:
        where = plan.table.where(batch[i].line, file=batch[i].file, column=plan.columns[key])
        return RowExcerpt(where, examiner.excerpt(values[i], flaw))

    for flaw, has in examiner.flaws(values).items():
        rows = np.flatnonzero(has).tolist()
        result.flaws.setdefault((key, flaw), []).extend(result.rows + i for i in rows)
        examples = result.examples.setdefault((key, flaw), [])
        examples.extend(example(i, flaw) for i in rows[: KEPT - len(examples)])
    for kind in examiner.FAMILIES:
        families = examiner.families(kind, values)
        result.families.setdefault((key, kind), Counter()).update(families)
        for family in set(families):
            members = result.members.setdefault((key, kind, family), [])
            if len(members) < KEPT:
                same = [i for i, member in enumerate(families) if member == family]
                members += [example(i) for i in same[: KEPT - len(members)]]


def excerpt(examiner: Examiner | None, raw: Any) -> str:
    return "" if examiner is None else examiner.excerpt(raw)


def lines_of(rows: Iterable[Row]) -> Iterator[Row]:
    """The lines of a stream as rows, where a piece holds several."""
    for row in rows:
        (text, *more) = row.values
        for i, line in enumerate(str(text).splitlines()):
            yield Row((line, *more), row.line + i, row.file)
