"""Reports as one HTML file: no script, nothing from elsewhere, for light and dark screens."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

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
@media (max-width: 40rem) { td.text { min-width: 8rem; } .wide svg { min-width: 40rem; } }
.count { color: var(--bad); font-variant-numeric: tabular-nums; }
.remedy { margin-top: .5rem; }
code { font-family: var(--mono); font-size: .9em; }
.key { display: flex; flex-wrap: wrap; gap: 1rem; font-size: .875rem; margin-bottom: .25rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px;
  margin-right: .35rem; vertical-align: -.05rem; }
"""


def document(title: str, body: Iterable[str]) -> str:
    """A whole file; what stands in `body` is escaped already."""
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy"',
            " content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>",
            *body,
            "</main></body></html>\n",
        ]
    )


def figure(caption: str, content: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{content}</figure>"


def listed(title: str, lines: Iterable[str]) -> list[str]:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return [f"<h2>{escape(title)}</h2><section><ul>{items}</ul></section>"] if items else []
