"""A look at the data before training: a corpus in, a `CheckReport` for people and programs out.

Rows are compared by what the model would see of them: two texts are the same if they differ only in
what the tokenizer leaves out (white space between words, case if it is folded).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from unspool.data.check.advice import (
    Suggestion,
    about_labels,
    about_lengths,
    about_pairs,
    about_size,
    about_stream,
)
from unspool.data.check.report import CheckReport, Finding, PartReport, percentiles
from unspool.data.corpus import Corpus
from unspool.data.fields.field import Spread, StreamField
from unspool.data.part import Part

__all__ = ["CheckReport", "check"]

SHOWN = 5  # lines named in a finding
RATIO = 3  # a side so many times longer than usual, against the other, is probably another text
LONG = 10  # tokens below which such a ratio means nothing


def check(corpus: Corpus, *, summary: str, task: str, unit: str, max_length: int) -> CheckReport:
    """Count, measure and compare the parts of a corpus, which was read without a limit of length.

    unit         what a row is called
    max_length   the limit that training would have
    """
    sized = [name for name, field in corpus.fields.items() if field.sized]
    first = corpus.fields[sized[0]]
    parts = [
        part_report(corpus, part, key, name if len(sized) == 1 else f"{name} {key}")
        for name, part in corpus.parts.items()
        for key in sized
    ]
    rows_compared = not isinstance(first, StreamField)
    found = [f for f in findings(corpus, sized, unit) if f.count] if rows_compared else []
    return CheckReport(
        summary,
        task,
        first.unit,
        first.vocabulary,
        parts,
        found,
        list(suggestions(corpus, parts, sized, max_length)),
        [note for note in corpus.notes if "cache" not in note],
        rows_compared=rows_compared,
    )


def part_report(corpus: Corpus, part: Part, key: str, name: str) -> PartReport:
    measure = corpus.fields[key].measure(part[key])
    assert measure is not None
    labels: dict[str, int] = {}
    numbers: dict[str, Spread] = {}
    several = False
    for other, values in part.values.items():
        labels |= corpus.fields[other].tally(values)
        several |= corpus.fields[other].several
        numbers |= corpus.fields[other].spread(values)
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
    )


def prints(corpus: Corpus, *, targets: bool) -> dict[str, np.ndarray]:
    """Of each part (N,) a number for each row, equal where all inputs, or all targets, are."""
    keys = [key for key, field in corpus.fields.items() if field.is_target == targets]
    common: dict[str, dict[str, int]] = {key: {} for key in keys}
    found = {}
    for name, part in corpus.parts.items():
        numbers = [part[key].prints(common[key]).tolist() for key in keys]
        rows = zip(*numbers) if numbers else [()] * len(part)
        found[name] = np.array([hash(row) for row in rows], dtype=np.int64)
    return found


def findings(corpus: Corpus, sized: list[str], unit: str) -> Iterator[Finding]:
    """Rows that came before, that contradict another, that look odd, or that are in two parts."""
    inputs, targets = prints(corpus, targets=False), prints(corpus, targets=True)
    read = " and ".join(key for key, field in corpus.fields.items() if not field.is_target)
    wanted = " and ".join(key for key, field in corpus.fields.items() if field.is_target)
    for name, rows in by_file(corpus).items():
        of = unit if name == "train" else f"{unit} of the {name} file"
        own_inputs = np.array([inputs[part][row] for part, row in rows])
        own_targets = np.array([targets[part][row] for part, row in rows])
        _, first, group = np.unique(own_inputs, return_index=True, return_inverse=True)
        again = np.ones(len(rows), dtype=bool)
        again[first] = False
        lines = [corpus.parts[part].line(row) for part, row in rows]
        yield finding(f"{of} repeat the {read} of an earlier one", lines, again)
        differs = np.zeros(len(first), dtype=bool)
        np.logical_or.at(differs, group, own_targets != own_targets[first][group])
        what = f"{of} have the {read} of another one, but not its {wanted}"
        yield finding(what, lines, differs[group])
    for name, part in corpus.parts.items():
        if len(sized) == 2:
            yield from about_sides(part, sized, unit if name == "train" else f"{unit} of {name}")
    for a, b in combinations(corpus.parts, 2):
        also, part = np.isin(inputs[b], inputs[a]), corpus.parts[b]
        yield finding(f"{unit} of {b} have a {read} that is also in {a}", lines_of(part), also)


def by_file(corpus: Corpus) -> dict[str, list[tuple[str, int]]]:
    """Of each file, named by the first part that has its rows: these, as (part, row)."""
    homes: dict[int, str] = {}
    rows: dict[str, list[tuple[str, int]]] = {}
    for name, part in corpus.parts.items():
        home = homes.setdefault(id(part.plan), name)
        rows.setdefault(home, []).extend((name, row) for row in range(len(part)))
    return {
        home: sorted(own, key=lambda place: corpus.parts[place[0]].rows[place[1]])
        for home, own in rows.items()
    }


def lines_of(part: Part) -> list[str]:
    return [part.line(row) for row in range(len(part))]


def about_sides(part: Part, sides: list[str], what: str) -> Iterator[Finding]:
    """Two texts that are the same, or of which one is far too long for the other."""
    common: dict[str, int] = {}
    a, b = (part[side].prints(common) for side in sides)
    lines = lines_of(part)
    yield finding(f"{what} have the same {sides[0]} and {sides[1]}", lines, a == b)
    lengths = part.lengths.astype(float)
    ratio = lengths[:, 1] / lengths[:, 0]
    usual = float(np.median(ratio))
    odd = (lengths.max(1) >= LONG) & ((ratio > RATIO * usual) | (ratio < usual / RATIO))
    yield finding(f"{what} have a side much longer than the other", lines, odd)


def finding(what: str, lines: list[str], wrong: np.ndarray) -> Finding:
    rows = np.flatnonzero(wrong)
    return Finding(what, len(rows), [lines[row] for row in rows[:SHOWN]])


def suggestions(
    corpus: Corpus, parts: list[PartReport], sized: list[str], max_length: int
) -> Iterator[Suggestion]:
    train, field = corpus.parts["train"], corpus.fields[sized[0]]
    lengths = np.concatenate([part.lengths.max(1) for part in corpus.parts.values()])
    if isinstance(field, StreamField):
        yield from about_stream(parts[0].tokens)
    elif len(sized) == 2:
        yield from about_pairs(lengths, max_length, len(train))
    else:
        yield from about_lengths(lengths, max_length)
        if any(field.stratifies for field in corpus.fields.values()):
            yield from about_labels(parts[0].labels, several=parts[0].several)
        yield from about_size(len(train))
    if len(sized) == 1:
        unknown = max((report.unknown for report in parts[1:]), default=0.0)
        for setting, reason in field.advise(train[sized[0]], unknown):
            yield Suggestion(setting, reason)
