"""The report of a check as one HTML file with pictures: no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from unspool.data.check.pictures import bars, curves, legend
from unspool.io.html import document, figure, listed

if TYPE_CHECKING:
    from unspool.data.check.report import CheckReport, DoubtfulRow, Finding, PartReport

EXAMPLES = 25  # rows of a table
LABELS = 12  # bars


def page(report: CheckReport) -> str:
    findings = report.findings
    body = [
        "<h1>Check of the data</h1>",
        f'<p class="soft">{escape(report.summary)}</p>',
        "<h2>What to look at</h2>",
        overview(findings) if findings else "<p>No doubtful rows found.</p>",
        "<h2>The data</h2>",
        part_table(report.parts, report.unit),
        f'<div class="pictures">{"".join(pictures(report))}</div>',
        *(["<h2>Findings</h2>"] if findings else []),
        *(section(i, each) for i, each in enumerate(findings)),
        *listed("Suggestions", map(str, report.suggestions)),
        *listed("Notes", report.notes),
    ]
    return document("Check of the data", body)


def overview(findings: Sequence[Finding]) -> str:
    rows = "".join(
        f'<tr><td class="number count">{each.count:,}</td>'
        f'<td><a href="#finding-{i}">{escape(each.what)}</a></td></tr>'
        for i, each in enumerate(findings)
    )
    return f'<section class="scroll"><table>{rows}</table></section>'


def part_table(parts: Sequence[PartReport], unit: str) -> str:
    spelled = unit != "characters" and any(part.characters for part in parts)
    heads = ["rows", unit, *(["characters"] if spelled else []), "median", "99 %", "longest"]
    heads.append("unknown")
    head = "".join(f'<th class="number">{escape(each)}</th>' for each in heads)
    rows = []
    for part in parts:
        lengths = [f"{part.token_lengths[p]:,}" if p in part.token_lengths else "" for p in
                   (50, 99, 100)]  # fmt: skip
        cells = [f"{part.rows:,}", f"{part.tokens:,}"]
        cells += [f"{part.characters:,}"] if spelled else []
        cells += lengths
        cells.append("" if part.name.startswith("train") else f"{100 * part.unknown:.2f} %")
        shown = "".join(f'<td class="number">{each}</td>' for each in cells)
        rows.append(f"<tr><th>{escape(part.name)}</th>{shown}</tr>")
    return (
        f'<section class="scroll"><table><tr><th></th>{head}</tr>{"".join(rows)}</table>'
        f'<p class="soft">Median, 99 % and longest: lengths in {escape(unit)}. Unknown: share of'
        f" the {escape(unit)} that the vocabulary of train does not have.</p></section>"
    )


def pictures(report: CheckReport) -> Iterable[str]:
    named = [part for part in report.parts if part.labels]
    key = legend([part.name for part in report.parts]) if len(report.parts) > 1 else ""
    if named:
        total: dict[str, int] = {}
        for part in named:
            for name, count in part.labels.items():
                total[name] = total.get(name, 0) + count
        names = sorted(total, key=lambda name: -total[name])[:LABELS]
        more = f", the {LABELS} most frequent of {len(total)}" if len(total) > LABELS else ""
        shares = [
            [part.labels.get(name, 0) / max(1, sum(part.labels.values())) for name in names]
            for part in named
        ]
        key_of_labels = legend([part.name for part in named]) if len(named) > 1 else ""
        yield figure(f"Share of each label{more}", key_of_labels + bars(names, shares))
    measured = [part for part in report.parts if part.histogram]
    if measured:
        caption = f"Lengths in {report.unit} (logarithmic), share of the rows"
        yield figure(caption, key + curves([part.histogram for part in measured]))
    for name, counts in report.families.items():
        whole = max(1, sum(counts.values()))
        names = list(counts)[:LABELS]
        yield figure(
            f"{name[0].upper()}{name[1:]}",
            bars(names, [[counts[family] / whole for family in names]]),
        )


def section(number: int, finding: Finding) -> str:
    remedy = (
        f'<p class="remedy soft">What to do: {escape(finding.remedy)}</p>' if finding.remedy else ""
    )
    more = len(finding.examples[:EXAMPLES])
    shown = (
        f'<p class="soft">{more} of {finding.count:,} are shown.</p>'
        if 0 < more < finding.count
        else ""
    )
    return (
        f'<section id="finding-{number}"><h3><span class="count">{finding.count:,}</span>'
        f" {escape(finding.what)}</h3>{example_table(finding.examples[:EXAMPLES])}{shown}{remedy}"
        "</section>"
    )


def example_table(examples: Sequence[DoubtfulRow]) -> str:
    if not examples:
        return ""
    noted = any(each.note for each in examples)
    rows = "".join(
        f'<tr><td class="where" title="{escape(each.where)}">{escape(Path(each.where).name)}</td>'
        + (f'<td class="note">{escape(each.note)}</td>' if noted else "")
        + f'<td class="text">{escape(each.shown)}</td></tr>'
        for each in examples
    )
    return f'<div class="scroll"><table>{rows}</table></div>'
