"""A look at the data before training: a corpus in, a `CheckReport` for people and programs out.

read the corpus -> compare its rows -> judge their labels -> read the files once more -> report
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from unspool.data.check.advice import (
    Suggestion,
    about_labels,
    about_lengths,
    about_pairs,
    about_size,
    about_stream,
)
from unspool.data.check.columns import about_columns, about_groups, about_labels_of_groups
from unspool.data.check.describe import about_values, describe, families, files, marked_lines
from unspool.data.check.findings import Draft, odd_lengths, odd_sides, repetitions
from unspool.data.check.near import near_repetitions
from unspool.data.check.noise import find_suspects
from unspool.data.check.report import CheckReport, Finding, PartReport, histogram, percentiles
from unspool.data.check.rows import Rows, about_characters, about_drift, about_names, examiners
from unspool.data.check.same_series import SameSeries
from unspool.data.check.survey import Survey, survey
from unspool.data.corpus import Corpus
from unspool.data.fields.examiner import Examiner
from unspool.data.fields.field import (
    Categorical,
    Classified,
    Examined,
    Numeric,
    Spread,
    Tallied,
    Undivided,
)
from unspool.data.part import Part
from unspool.data.read.budget import Allowance
from unspool.data.read.steps import StepRows
from unspool.data.store.columns import Progress
from unspool.errors import Setting

__all__ = ["CheckReport", "Checked", "check"]


@dataclass(frozen=True)
class Checked:
    """A report, and which rows of the training file it is about.

    lines      by the kind of a finding: where its rows begin; "used": those of all rows
    examiners  of the fields
    """

    report: CheckReport
    lines: dict[str, list[int]]
    examiners: dict[str, Examiner]


def check(
    corpus: Corpus,
    *,
    summary: str,
    task: str,
    unit: str,
    max_length: int,
    group: str | None = None,
    suspects: bool = True,
    progress: Progress = None,
) -> Checked:
    """Count, measure and compare the parts of a corpus, which was read without a limit of length.

    unit         what a row is called
    max_length   the limit that training would have
    group        a column whose values should not be in two parts
    suspects     whether to look for wrong labels
    """
    sized = [name for name, field in corpus.fields.items() if field.sized]
    first = corpus.fields[sized[0]]
    noun = unit if len(sized) == 2 and not first.vocabulary else ""
    parts = []
    for name, part in corpus.parts.items():
        for key in sized:
            shown = name if len(sized) == 1 else f"{name} {key}"
            with spending(part):
                parts.append(part_report(corpus, part, key, shown, noun))
    notes = [note for note in corpus.notes if "cache" not in note]
    marked: dict[str, list[int]] = {}
    findings: list[Finding] = []
    surveys: list[Survey] = []
    by_key = examiners(corpus)
    if not first.compared:
        stream = isinstance(first, Undivided)
        unit = "lines" if stream else unit
        same, parts_read = SameSeries(corpus, by_key), files(corpus)
        for part in parts_read:
            assert part.plan is not None
            wanted = same.wanted(part)
            surveys.append(survey(part.plan, by_key, wanted, stream=stream, progress=progress))
        findings += same.findings(parts_read, surveys)
    else:
        rows = Rows(corpus)
        drafts = [*compared(rows, sized, unit)]
        drafts += doubtful_labels(rows, unit, notes) if suspects else []
        drafts = [draft for draft in drafts if len(draft.rows)]
        findings, surveys = describe(rows, drafts, progress)
        if group is not None:
            findings += [*about_groups(rows, group, unit), *about_labels_of_groups(rows, group)]
        marked = marked_lines(rows, drafts)
    findings += about_values(corpus, surveys, unit)
    findings += [*about_names(parts), *about_drift(parts), *columns(corpus)]
    findings += about_characters(corpus)
    advice = advise(corpus, parts, sized, max_length)
    report = CheckReport(
        summary,
        task,
        first.unit,
        first.vocabulary,
        parts,
        findings,
        [Suggestion(str(setting) if setting else None, reason) for setting, reason in advice],
        notes,
        rows_compared=first.compared,
        families=families(corpus, surveys),
    )
    return Checked(report, marked, by_key)


def compared(rows: Rows, sized: list[str], unit: str) -> Iterator[Draft]:
    yield from repetitions(rows, unit)
    yield from near_repetitions(rows, unit)
    if len(sized) == 2:
        yield from odd_sides(rows, sized, unit)
    for key in sized:
        yield from odd_lengths(rows, sized, key, unit)


def doubtful_labels(rows: Rows, unit: str, notes: list[str]) -> Iterator[Draft]:
    """Rows whose label is probably wrong, of fields that have classes; more in the notes."""
    for key, kind in rows.corpus.fields.items():
        if not isinstance(kind, Classified) or not rows.examiners:
            continue
        labels, names = np.concatenate([kind.classes(part[key]) for part in rows.parts]), kind.names
        result = find_suspects(rows.features, labels)
        if not result.judged:
            continue
        if not result.useful:
            notes.append(
                f"wrong {key}s were not looked for: a linear model knows too little about them"
                f" (accuracy {result.accuracy:.3f}, most frequent {key} {result.usual:.3f})"
            )
            continue
        if result.judged < len(labels):
            notes.append(
                f"wrong {key}s were looked for in {result.judged:,} of {len(labels):,} {unit}"
            )
        judged = zip(result.rows.tolist(), result.predicted, result.given, result.other)
        messages = {
            row: f"given {names[labels[row]]} ({100 * confidence:.0f} %), predicted {names[other]}"
            f" ({100 * p:.0f} %)"
            for row, other, confidence, p in judged
        }
        yield Draft(
            "suspect",
            f"{unit} may have a wrong {key}: a linear model that has not seen them"
            f" (accuracy {result.accuracy:.3f}) is sure of another one",
            result.rows,
            "read them, the most doubtful first; the report as JSON or HTML lists more",
            messages.__getitem__,
            listed=100,
        )


def columns(corpus: Corpus) -> Iterator[Finding]:
    plans = [part.plan for part in files(corpus) if part.plan is not None]
    for plan in {id(plan.table): plan for plan in plans}.values():
        table, reader = plan.table, plan.table.reader
        used = {member.name for column in plan.columns.values() for member in column.members}
        if isinstance(reader, StepRows):  # a column may change within a recording
            table = reader.table
            used |= {column.name for column in reader.layout.used}
        yield from about_columns(table, used)


def spending(part: Part) -> AbstractContextManager[object]:
    """Count the time of a block as that of reading the file of a part."""
    return nullcontext() if part.plan is None else Allowance(part.plan.table.name).spending()


def part_report(corpus: Corpus, part: Part, key: str, name: str, noun: str) -> PartReport:
    """Describe one side of a part; `noun`: what a row is called, "": by what it has."""
    field = corpus.fields[key]
    assert isinstance(field, Examined)
    measure = field.measure(part[key])
    labels: dict[str, int] = {}
    numbers: dict[str, Spread] = {}
    several = False
    for other, values in part.values.items():
        target = corpus.fields[other]
        several |= isinstance(target, Categorical) and target.several
        if isinstance(target, Tallied):
            labels |= target.tally(values)
        if isinstance(target, Numeric):
            numbers |= target.spread(values)
    return PartReport(
        name,
        rows=len(measure.lengths),
        tokens=measure.steps,
        characters=int(measure.characters.sum()),
        labels=labels,
        several=several,
        numbers=numbers,
        token_lengths=percentiles(measure.lengths),
        character_lengths=percentiles(measure.characters) if labels or numbers else {},
        unknown=measure.unknown,
        histogram=histogram(measure.lengths),
        unit=corpus.fields[key].unit,
        noun=noun,
    )


def advise(
    corpus: Corpus, parts: list[PartReport], sized: list[str], max_length: int
) -> Iterator[tuple[Setting | None, str]]:
    train, field = corpus.parts["train"], corpus.fields[sized[0]]
    lengths = np.concatenate([part.lengths.max(1) for part in corpus.parts.values()])
    if isinstance(field, Undivided):
        yield from about_stream(parts[0].tokens)
    elif len(sized) == 2 and field.vocabulary:
        yield from about_pairs(lengths, max_length, len(train))
    elif field.compared and len(sized) == 1:
        if field.form.limited:
            yield from about_lengths(lengths, max_length)
        if any(isinstance(own, Categorical) for own in corpus.fields.values()):
            yield from about_labels(parts[0].labels, several=parts[0].several)
        yield from about_size(len(train))
    if len(sized) == 1 and isinstance(field, Examined):
        unknown = max((report.unknown for report in parts[1:]), default=0.0)
        yield from field.advise(train[sized[0]], unknown)
