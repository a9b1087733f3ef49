"""Small pictures as SVG: shares in, the source of a drawing out."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log

COLOURS = tuple(f"var(--series-{i})" for i in range(1, 7))
WIDTH, LEFT, RIGHT = 460, 110, 56
BAR, GAP = 14, 8
HEIGHT, BOTTOM = 190, 24


def bars(names: Sequence[str], shares: Sequence[Sequence[float]]) -> str:
    """Horizontal bars: of each name one for each of several series."""
    most = max((share for series in shares for share in series), default=0.0) or 1.0
    step = BAR * len(shares) + GAP
    parts = []
    for i, name in enumerate(names):
        top = i * step
        shown = name if len(name) <= 15 else name[:14] + "…"
        middle = top + BAR * len(shares) / 2 + 4
        parts.append(
            f'<text x="{LEFT - 8}" y="{middle:.1f}" text-anchor="end">{escape(shown)}'
            f"<title>{escape(name)}</title></text>"
        )
        for k, series in enumerate(shares):
            width = (WIDTH - LEFT - RIGHT) * series[i] / most
            y = top + k * BAR
            parts.append(
                f'<rect x="{LEFT}" y="{y + 1}" width="{max(width, 1):.1f}" height="{BAR - 2}"'
                f' fill="{COLOURS[k % len(COLOURS)]}"/>'
                f'<text class="soft" x="{LEFT + width + 6:.1f}" y="{y + 11}">{percent(series[i])}'
                "</text>"
            )
    return drawing(len(names) * step, parts)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "< 0.1 %"


def curves(histograms: Sequence[Sequence[tuple[int, int, int]]]) -> str:
    """Histograms as steps over a logarithmic axis of lengths, as shares of their rows."""
    low = min(bins[0][0] for bins in histograms)
    high = max(bins[-1][1] for bins in histograms)
    span = log(high / low) or 1.0

    def x(length: float) -> float:
        return 8 + (WIDTH - 16) * log(length / low) / span

    densities = []
    for bins in histograms:
        total = sum(count for *_, count in bins) or 1
        densities.append([(a, b, n / total / (log(b / a) or 1.0)) for a, b, n in bins])
    most = max((share for bins in densities for *_, share in bins), default=0.0) or 1.0
    parts = []
    for k, steps in enumerate(densities):
        points = [f"{x(steps[0][0]):.1f},{HEIGHT - BOTTOM}"]
        for a, b, share in steps:
            y = (HEIGHT - BOTTOM) * (1 - 0.95 * share / most)
            points += [f"{x(a):.1f},{y:.1f}", f"{x(b):.1f},{y:.1f}"]
        points.append(f"{x(steps[-1][1]):.1f},{HEIGHT - BOTTOM}")
        colour = COLOURS[k % len(COLOURS)]
        parts.append(
            f'<polygon points="{" ".join(points)}" fill="{colour}" fill-opacity="0.15"'
            f' stroke="{colour}" stroke-width="1.5"/>'
        )
    parts += [
        f'<text class="soft" x="{x(tick):.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">{tick:,}'
        "</text>"
        for tick, anchor in ticks(low, high)
    ]
    return drawing(HEIGHT, parts)


def ticks(low: int, high: int) -> list[tuple[int, str]]:
    """1, 2, 5, 10, ... within the axis, as many as there is room for; the ends lean inwards."""
    marks = [m * 10**e for e in range(10) for m in (1, 2, 5) if low <= m * 10**e <= high]
    while len(marks) > 8:
        marks = marks[::2]
    marks = marks or [low]
    edge = 0.06 * (log(high / low) or 1.0)

    def anchor(mark: int) -> str:
        if log(mark / low) < edge:
            return "start"
        return "end" if log(high / mark) < edge else "middle"

    return [(mark, anchor(mark)) for mark in marks]


def legend(names: Sequence[str]) -> str:
    keys = "".join(
        f'<span><i style="background:{COLOURS[k % len(COLOURS)]}"></i>{escape(name)}</span>'
        for k, name in enumerate(names)
    )
    return f'<div class="key">{keys}</div>'


def drawing(height: float, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{"".join(parts)}</svg>'
