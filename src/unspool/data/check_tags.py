"""A look at tagged sentences before training: a corpus of `TaggedPart`s in, parts and findings
out."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from unspool.data.report import Finding, PartReport, percentiles
from unspool.data.schemes import find_spans, guess_letters, parse_tags
from unspool.data.tagged import TaggedPart
from unspool.text.vocab import UNK_ID

SHOWN = 5  # line numbers named in a finding


def check_tags(
    parts: dict[str, TaggedPart], labels: list[str], *, plain: bool
) -> tuple[list[PartReport], list[Finding]]:
    """The sentences of each part, their spans or tags, and sentences that look wrong.

    plain   tags stand for themselves, whatever they look like
    """
    plain = plain or guess_letters(labels) == "none"
    reports = [_report(name, part, plain=plain) for name, part in parts.items()]
    findings: list[Finding] = []
    prints = {name: _prints(part) for name, part in parts.items()}
    for name, part in parts.items():
        where = "" if name == "train" else f" of {name}"
        words, tags = prints[name]
        _, first, group = np.unique(words, return_index=True, return_inverse=True)
        again = np.ones(len(words), dtype=bool)
        again[first] = False
        other = tags != tags[first][group]
        findings += [
            _finding(f"sentences{where} repeat an earlier one", part, again & ~other),
            _finding(f"sentences{where} give an earlier one other tags", part, again & other),
        ]
    for a, b in combinations(parts, 2):
        also = np.isin(prints[b][0], prints[a][0])
        findings.append(_finding(f"sentences of {b} are also in {a}", parts[b], also))
    return reports, findings


def _report(name: str, part: TaggedPart, *, plain: bool) -> PartReport:
    rows = range(len(part))
    tags = np.concatenate([part.tags(row) for row in rows])
    unknown = sum(int((part.ids(row) == UNK_ID).sum()) for row in rows)
    names, found = part.names, tags
    if not plain:
        marks = parse_tags(part.names, "iobes")
        begins = np.cumsum(part.lengths) - part.lengths
        names, found = marks.names, find_spans(marks.at(tags), begins).types
    counts = np.bincount(found, minlength=len(names))
    return PartReport(
        name,
        rows=len(part),
        tokens=len(tags),
        characters=0,
        labels={label or "span": int(n) for label, n in zip(names, counts)},
        token_lengths=percentiles(part.lengths),
        unknown=unknown / max(1, len(tags)),
    )


def _prints(part: TaggedPart) -> tuple[np.ndarray, np.ndarray]:
    """(N,) of the words and of the tags: a number for each row, equal where they are equal."""
    rows = range(len(part))
    spelled = [hash(tuple(part.types[i] for i in part.words(row))) for row in rows]
    tagged = [hash(part.tags(row).tobytes()) for row in rows]
    return np.array(spelled, dtype=np.int64), np.array(tagged, dtype=np.int64)


def _finding(what: str, part: TaggedPart, wrong: np.ndarray) -> Finding:
    lines = part.lines[np.flatnonzero(wrong)]
    return Finding(what, len(lines), [str(line) for line in lines[:SHOWN]])
