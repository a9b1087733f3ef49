"""Drafts and surveys to findings with examples: the files are read once more for the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from unspool.data.check.findings import Draft
from unspool.data.check.fix import can_fix, correction_hint, drop_hint
from unspool.data.check.report import DoubtfulRow, Finding
from unspool.data.check.rows import Rows, examiners
from unspool.data.check.survey import Survey, survey
from unspool.data.corpus import Corpus
from unspool.data.fields.examiner import UNKNOWN
from unspool.data.part import Part
from unspool.data.store.columns import Progress
from unspool.errors import worded

SHOWN = 5  # examples of a flaw
MINORITY = 0.1  # share of the rows: a family that is rarer is listed


def files(corpus: Corpus) -> list[Part]:
    first: dict[int, Part] = {}
    for part in corpus.parts.values():
        first.setdefault(id(part.plan), part)
    return list(first.values())


def describe(
    rows: Rows, drafts: Sequence[Draft], progress: Progress
) -> tuple[list[Finding], list[Survey]]:
    wanted: dict[int, set[int]] = {}
    for draft in drafts:
        for number in draft.rows[: draft.listed].tolist():
            part, row = rows.part_and_row(number)
            wanted.setdefault(id(part.plan), set()).add(int(part.rows[row]))
    every = examiners(rows.corpus)
    surveys = {
        id(part.plan): survey(part.plan, every, wanted.get(id(part.plan), ()), progress=progress)
        for part in files(rows.corpus)
        if part.plan is not None
    }

    def example(draft: Draft, number: int) -> DoubtfulRow:
        part, row = rows.part_and_row(number)
        shown = surveys[id(part.plan)].wanted[int(part.rows[row])]
        return DoubtfulRow(part.where(row), shown, draft.note(number))

    train = rows.corpus.parts["train"].plan
    fixable = train is not None and can_fix(train)

    def can_drop(draft: Draft) -> bool:
        return fixable and bool(rows.table[draft.rows[0]] == 0)

    findings = [
        Finding(
            draft.kind,
            draft.what,
            len(draft.rows),
            [example(draft, number) for number in draft.rows[: draft.listed].tolist()],
            advised(draft.remedy, drop_hint(draft.kind) if can_drop(draft) else ""),
        )
        for draft in drafts
    ]
    return findings, list(surveys.values())


def marked_lines(rows: Rows, drafts: Sequence[Draft]) -> dict[str, list[int]]:
    """Lines of the training file by kind of finding; "used": those of all rows in a part."""
    lines = np.concatenate([part.lines for part in rows.parts])
    train = np.isin(rows.table, rows.table[:1])
    marked: dict[str, list[int]] = {"used": lines[train].tolist()}
    for draft in drafts:
        marked.setdefault(draft.kind, []).extend(lines[draft.rows[train[draft.rows]]].tolist())
    return marked


def advised(*remedies: str) -> str:
    return "; ".join(remedy for remedy in remedies if remedy)


def about_values(corpus: Corpus, surveys: Sequence[Survey], unit: str) -> Iterator[Finding]:
    """Damaged values, and values of another family than most."""
    plan = corpus.parts["train"].plan
    fixable = plan is not None and can_fix(plan)
    for key, examiner in examiners(corpus).items():
        for name, flaw in examiner.FLAWS.items():
            count = sum(len(one.flaws.get((key, name), ())) for one in surveys)
            shown = [row for one in surveys for row in one.examples.get((key, name), ())]
            if count:
                examples = [DoubtfulRow(row.where, row.shown, "") for row in shown[:SHOWN]]
                remedy = advised(
                    worded(flaw.remedy), correction_hint(name, flaw) if fixable else ""
                )
                yield Finding(name, f"{unit} {flaw.what}", count, examples, remedy)
        for kind in examiner.FAMILIES:
            yield from minority(surveys, key, kind, unit)


def minority(surveys: Sequence[Survey], key: str, kind: str, unit: str) -> Iterator[Finding]:
    """Rows of rare families, where one is that of nearly all."""
    counts = count_families(surveys, key, kind)
    counts.pop(UNKNOWN, None)
    total = sum(counts.values())
    rare = [name for name, count in counts.items() if count < MINORITY * total]
    if not rare or counts.most_common(1)[0][1] <= (1 - MINORITY) * total:
        return
    shown = [
        row for name in rare for one in surveys for row in one.members.get((key, kind, name), ())
    ]
    yield Finding(
        "minority",
        f"{unit} have a {key} in another {kind} than most:"
        f" {', '.join(f'{name} {counts[name]:,}' for name in rare[:SHOWN])}",
        sum(counts[name] for name in rare),
        [DoubtfulRow(row.where, row.shown, "") for row in shown[:SHOWN]],
        "look whether they belong here",
    )


def families(corpus: Corpus, surveys: Sequence[Survey]) -> dict[str, dict[str, int]]:
    """Count the rows of each family, by its name, where there are several."""
    by_name = {}
    for key, examiner in examiners(corpus).items():
        for kind in examiner.FAMILIES:
            counts = count_families(surveys, key, kind)
            if len(counts) > 1:
                by_name[f"{kind} of the {key}"] = dict(counts.most_common())
    return by_name


def count_families(surveys: Sequence[Survey], key: str, kind: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for one in surveys:
        counts.update(one.families.get((key, kind), Counter()))
    counts.pop("", None)
    return counts
