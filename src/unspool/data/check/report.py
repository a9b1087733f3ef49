"""Report of `check`, as data, as JSON and as lines for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from unspool.data.check.advice import Suggestion
from unspool.data.check.fix import Fixed
from unspool.data.fields.field import Spread

PERCENTILES = (5, 25, 50, 75, 95, 99, 100)
PRINTED = 3  # examples of a finding


def percentiles(lengths: np.ndarray) -> dict[int, int]:
    if not len(lengths):
        return {}
    values = np.percentile(lengths, PERCENTILES, method="nearest")
    return {p: int(value) for p, value in zip(PERCENTILES, values)}


def histogram(lengths: np.ndarray, bins: int = 24) -> list[tuple[int, int, int]]:
    """(from, to, rows) with `to` excluded, in steps that grow with the length."""
    if not len(lengths):
        return []
    edges = np.geomspace(max(1, int(lengths.min())), int(lengths.max()) + 1, bins + 1)
    edges = np.unique(np.ceil(edges).astype(np.int64))
    counts = np.histogram(np.maximum(lengths, 1), edges)[0] if len(edges) > 1 else [len(lengths)]
    edges = edges if len(edges) > 1 else np.append(edges, edges[0] + 1)
    return [(int(a), int(b), int(n)) for a, b, n in zip(edges, edges[1:], counts)]


@dataclass(frozen=True)
class PartReport:
    """One split. Lengths are percentiles; of a stream, those of its lines."""

    name: str
    rows: int
    tokens: int
    characters: int
    labels: dict[str, int] = field(default_factory=dict)
    several: bool = False  # whether a row may have several labels
    numbers: dict[str, Spread] = field(default_factory=dict)
    token_lengths: dict[int, int] = field(default_factory=dict)
    character_lengths: dict[int, int] = field(default_factory=dict)
    unknown: float = 0.0  # share of tokens outside the training vocabulary
    histogram: list[tuple[int, int, int]] = field(default_factory=list)  # of lengths in tokens
    unit: str = "tokens"  # what is counted as `tokens`
    noun: str = ""  # what a row is called; "": by what it has

    @property
    def has_targets(self) -> bool:
        """Whether its rows are texts with labels or numbers."""
        return bool(self.labels or self.numbers)


@dataclass(frozen=True)
class DoubtfulRow:
    """A doubtful row: file:line, the beginning of its text, what is doubtful about it."""

    where: str
    shown: str
    note: str

    def __str__(self) -> str:
        return "  ".join(each for each in (self.where, self.note, self.shown) if each)


@dataclass(frozen=True)
class Finding:
    """Something doubtful: its kind, what it is, how often, the worst examples, what to do."""

    kind: str
    what: str
    count: int
    examples: list[DoubtfulRow] = field(default_factory=list)
    remedy: str = ""

    def lines(self) -> list[str]:
        lines = [f"{self.count:,} {self.what}"]
        lines += [f"    {example}" for example in self.examples[:PRINTED]]
        if self.remedy:
            lines.append(f"    -> {self.remedy}")
        return lines


@dataclass(frozen=True)
class CheckReport:
    """Findings of `check`; `lines` is for people, `to_json` for programs, `to_html` a page.

    families  by what they are called: of each family of values, such as a script, its rows
    fixed     the copy that was written without some of the findings
    """

    summary: str
    task: str
    unit: str
    vocabulary: int
    parts: list[PartReport]
    findings: list[Finding]
    suggestions: list[Suggestion]
    notes: list[str]
    rows_compared: bool = True  # a stream has no rows
    families: dict[str, dict[str, int]] = field(default_factory=dict)
    fixed: Fixed | None = None

    def to_json(self) -> dict[str, Any]:
        fields = asdict(replace(self, fixed=None))
        fields["fixed"] = None if self.fixed is None else self.fixed.to_json()
        for part in fields["parts"]:
            part["numbers"] = {k: spread._asdict() for k, spread in part["numbers"].items()}
        return fields

    def to_html(self) -> str:
        from unspool.data.check.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def lines(self) -> list[str]:
        lines = [self.summary]
        for part in self.parts:
            lines += _part_lines(part, part.unit, known=self.vocabulary > 0)
        lines += [_family_line(name, counts) for name, counts in self.families.items()]
        lines += [f"note: {note}" for note in self.notes]
        lines += [line for found in self.findings for line in found.lines()]
        if self.rows_compared and not self.findings:
            lines.append("no doubtful rows found")
        lines += [f"suggestion: {suggestion}" for suggestion in self.suggestions]
        lines += [] if self.fixed is None else self.fixed.lines()
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _part_lines(part: PartReport, unit: str, *, known: bool) -> list[str]:
    """`known`: whether there is a vocabulary, which may lack some."""
    sizes = {_noun(part, unit): part.rows, unit: part.tokens, "characters": part.characters}
    lines = [f"{part.name}: " + ", ".join(f"{n:,} {what}" for what, n in sizes.items() if n)]
    if known and not part.name.startswith("train"):
        lines[0] += f"; {100 * part.unknown:.2f} % of the {unit} are unknown to train"
    if part.labels:
        total = max(1, part.rows if part.several else sum(part.labels.values()))
        shares = [
            f"{name} {count:,} ({100 * count / total:.1f} %)"
            for name, count in sorted(part.labels.items(), key=lambda item: -item[1])
        ]
        more = f", and {len(shares) - 12} more" if len(shares) > 12 else ""
        of = f"labels ({sum(part.labels.values()) / max(1, part.rows):.2f} a row)"
        lines.append(f"  {of if part.several else 'labels'}: " + ", ".join(shares[:12]) + more)
    lines += [f"  {name}: {spread}" for name, spread in part.numbers.items()]
    of_what = "length" if part.has_targets or part.noun else _noun(part, unit)
    for what, lengths in {"characters": part.character_lengths, unit: part.token_lengths}.items():
        if lengths:
            names = {50: "median", 100: "longest"}
            shown = ", ".join(f"{names.get(p, f'{p} %')} {n:,}" for p, n in lengths.items())
            lines.append(f"  {of_what} in {what}: {shown}")
    return lines


def _noun(part: PartReport, unit: str) -> str:
    """Return the noun for a row; in a forecast it is a channel of a series."""
    if part.noun:
        return part.noun
    if part.has_targets:
        return "rows"
    return "targets" if unit == "steps" else "lines"


def _family_line(name: str, counts: dict[str, int]) -> str:
    total = max(1, sum(counts.values()))
    shares = [f"{family} {100 * count / total:.2f} %" for family, count in counts.items()]
    return f"{name}: " + ", ".join(shares[:8])
