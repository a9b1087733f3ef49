"""What `check` found, as data, as JSON and as lines for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from unspool.data.check.advice import Suggestion
from unspool.data.fields.field import Spread

PERCENTILES = (5, 25, 50, 75, 95, 99, 100)


def percentiles(lengths: np.ndarray) -> dict[int, int]:
    if not len(lengths):
        return {}
    values = np.percentile(lengths, PERCENTILES, method="nearest")
    return {p: int(value) for p, value in zip(PERCENTILES, values)}


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

    @property
    def has_targets(self) -> bool:
        """Whether its rows are texts with labels or numbers."""
        return bool(self.labels or self.numbers)


@dataclass(frozen=True)
class Finding:
    """Doubtful rows: what they are, how many, and the lines of the first ones."""

    what: str
    count: int
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CheckReport:
    """What `check` found; `lines` is for people, `to_json` for programs."""

    summary: str
    task: str
    unit: str
    vocabulary: int
    parts: list[PartReport]
    findings: list[Finding]
    suggestions: list[Suggestion]
    notes: list[str]
    rows_compared: bool = True  # a stream has no rows

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        for part in found["parts"]:
            part["numbers"] = {k: spread._asdict() for k, spread in part["numbers"].items()}
        return found

    def lines(self) -> list[str]:
        lines = [self.summary]
        for part in self.parts:
            lines += _part_lines(part, self.unit)
        lines += [f"note: {note}" for note in self.notes]
        lines += [_finding_line(found) for found in self.findings]
        if self.rows_compared and not self.findings:
            lines.append("no doubtful rows found")
        lines += [f"suggestion: {suggestion}" for suggestion in self.suggestions]
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _part_lines(part: PartReport, unit: str) -> list[str]:
    lines = [f"{part.name}: " + ", ".join(_sizes(part, unit))]
    if not part.name.startswith("train"):
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
    of_what = "length" if part.has_targets else "lines"
    for what, lengths in {"characters": part.character_lengths, unit: part.token_lengths}.items():
        if lengths:
            shown = ", ".join(f"{_percentile_name(p)} {n:,}" for p, n in lengths.items())
            lines.append(f"  {of_what} in {what}: {shown}")
    return lines


def _sizes(part: PartReport, unit: str) -> list[str]:
    sizes = {"rows" if part.has_targets else "lines": part.rows, unit: part.tokens}
    sizes["characters"] = part.characters
    return [f"{count:,} {what}" for what, count in sizes.items() if count]


def _percentile_name(percentile: int) -> str:
    return {50: "median", 100: "longest"}.get(percentile, f"{percentile} %")


def _finding_line(found: Finding) -> str:
    shown = ", ".join(found.lines)
    more = ", ..." if found.count > len(found.lines) else ""
    return f"{found.count:,} {found.what}" + (f" (line {shown}{more})" if shown else "")
