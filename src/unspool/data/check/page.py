"""The report of a check as one HTML file with pictures: no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from unspool.data.check.pictures import bars, curves, legend

if TYPE_CHECKING:
    from unspool.data.check.report import CheckReport, Example, Finding, PartReport

EXAMPLES = 25  # rows of a table
LABELS = 12  # bars

STYLE = """
:root { color-scheme: light dark; --page: #fbfbfa; --surface: #fff; --ink: #16191f; --soft: #5b6270;
  --line: #dcdfe4; --accent: #1f5fa8; --hover: #eef2f7; --bad: #a1260d;
  --series-1: #0072b2; --series-2: #d55e00; --series-3: #009e73;
  --series-4: #cc79a7; --series-5: #8a6d00; --series-6: #5b6270;
  --mono: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
  --sans: system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", Arial, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --page: #0f1115; --surface: #16191f; --ink: #e8eaee;
  --soft: #a3abb9; --line: #2b303a; --accent: #7fb6ec; --hover: #1f242d; --bad: #ffab93;
  --series-1: #56b4e9; --series-2: #f0a35e; --series-3: #4fc7a5; --series-4: #e08cc0;
  --series-5: #e0c04f; --series-6: #b6bdc9; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem 1.5rem 4rem; background: var(--page);
  color: var(--ink); font: 1rem/1.5 var(--sans); }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; }
p { margin: .25rem 0; }
.soft, figcaption { color: var(--soft); }
a { color: var(--accent); }
section, figure { background: var(--surface); border: 1px solid var(--line); border-radius: 8px;
  padding: 1rem; margin: 0 0 1rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
.pictures figure { margin: 0; }
figcaption { font-size: .875rem; margin-bottom: .5rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px var(--sans); fill: var(--ink); }
svg .soft { fill: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.where { font-family: var(--mono); font-size: .82rem; white-space: nowrap; }
td.note { white-space: nowrap; }
td.text { overflow-wrap: anywhere; min-width: 16rem; }
.count { color: var(--bad); font-variant-numeric: tabular-nums; }
.remedy { margin-top: .5rem; }
code { font-family: var(--mono); font-size: .9em; }
.key { display: flex; flex-wrap: wrap; gap: 1rem; font-size: .875rem; margin-bottom: .25rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px;
  margin-right: .35rem; vertical-align: -.05rem; }
"""


def page(report: CheckReport) -> str:
    """The whole file."""
    found = report.findings
    body = [
        "<h1>Check of the data</h1>",
        f'<p class="soft">{escape(report.summary)}</p>',
        "<h2>What to look at</h2>",
        overview(found) if found else "<p>No doubtful rows found.</p>",
        "<h2>The data</h2>",
        part_table(report.parts, report.unit),
        f'<div class="pictures">{"".join(pictures(report))}</div>',
        *(["<h2>Findings</h2>"] if found else []),
        *(section(i, each) for i, each in enumerate(found)),
        *listed("Suggestions", map(str, report.suggestions)),
        *listed("Notes", report.notes),
    ]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy"',
            " content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>Check of the data</title><style>{STYLE}</style></head><body><main>",
            *body,
            "</main></body></html>\n",
        ]
    )


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
        own = legend([part.name for part in named]) if len(named) > 1 else ""
        yield figure(f"Share of each label{more}", own + bars(names, shares))
    measured = [part for part in report.parts if part.histogram]
    if measured:
        caption = f"Lengths in {report.unit} (logarithmic), share of the rows"
        yield figure(caption, key + curves([part.histogram for part in measured]))
    for name, counts in report.families.items():
        whole = max(1, sum(counts.values()))
        names = list(counts)[:LABELS]
        yield figure(
            f"{name[0].upper()}{name[1:]}", bars(names, [[counts[own] / whole for own in names]])
        )


def figure(caption: str, content: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{content}</figure>"


def section(number: int, found: Finding) -> str:
    remedy = (
        f'<p class="remedy soft">What to do: {escape(found.remedy)}</p>' if found.remedy else ""
    )
    more = len(found.examples[:EXAMPLES])
    shown = (
        f'<p class="soft">{more} of {found.count:,} are shown.</p>'
        if 0 < more < found.count
        else ""
    )
    return (
        f'<section id="finding-{number}"><h3><span class="count">{found.count:,}</span>'
        f" {escape(found.what)}</h3>{example_table(found.examples[:EXAMPLES])}{shown}{remedy}"
        "</section>"
    )


def example_table(examples: Sequence[Example]) -> str:
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


def listed(title: str, lines: Iterable[str]) -> list[str]:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return [f"<h2>{escape(title)}</h2><section><ul>{items}</ul></section>"] if items else []
