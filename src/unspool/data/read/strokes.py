"""Strokes: movements of a pen, from the layouts that files and people have them in.

points    a list of strokes, each a list of points: [[[x, y], ...], ...]; a list of points is one
axes      as of Quick, Draw!, a list of strokes, each lists of x and of y: [[[x, ...], [y, ...]]]
offsets   as of sketch-rnn, one row a point: [[dx, dy, 1 where the pen is lifted after it], ...]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any, NamedTuple

import numpy as np

from unspool.data.read.reader import Column, fact
from unspool.data.read.recording import Recording
from unspool.errors import DataError, Setting

CHANNELS = ("dx", "dy", "pen up")
LAYOUTS = ("points", "axes", "offsets")
WIDEST = 16  # numbers of a point: x, y and what else a pen measures


@dataclass(frozen=True, eq=False)
class Strokes(Recording):
    """A drawing: (T, 3) float32, the way to each point, and 1 where the pen is lifted after it.

    The first point is where it begins, at (0, 0). The last one is the end, with the pen up.

    text       what was written, where that is known
    prepared   how a field has smoothed, sheared and scaled it, so that it does so once
    """

    channels: tuple[str, ...] = CHANNELS
    text: str = ""
    prepared: object = None

    def __str__(self) -> str:
        count = int(self.values[:, 2].sum())
        size = f"{len(self):,} points in {count:,} stroke{'s' * (count != 1)}"
        return f"{self.name}: {size}" if self.name else size

    def lines(self) -> list[np.ndarray]:
        """Its strokes, (n, 2) points each."""
        xy = np.cumsum(self.values[:, :2].astype(np.float64), 0)
        return np.split(xy, np.flatnonzero(self.values[:-1, 2] > 0.5) + 1) if len(self) else []


def from_lines(lines: Sequence[np.ndarray], name: str = "") -> Strokes:
    """Make a drawing of strokes, (n, 2) points each; empty ones are dropped."""
    lines = [line for line in lines if len(line)]
    if not lines:
        return Strokes(np.zeros((0, 3), np.float32), name=name)
    xy = np.concatenate(lines)
    values = np.zeros((len(xy), 3), np.float32)
    values[1:, :2] = np.diff(xy, axis=0)
    values[np.cumsum([len(line) for line in lines]) - 1, 2] = 1
    return Strokes(values, name=name)


class Layout(NamedTuple):
    """Notation of drawings, `certain` if no other fits; `width`: numbers of a point."""

    name: str
    certain: bool = True
    width: int = 2

    def remark(self) -> str:
        more = f", x and y of {self.width} numbers a point" if self.width > 2 else ""
        if self.certain:
            return {"points": "", "axes": " as lists of x and y", "offsets": " as offsets"}[
                self.name
            ] + more
        return (
            f" as points ({Setting(stroke_layout='axes')} where they are lists of x and y)" + more
        )


@fact
def layout_of(column: Column) -> Layout | None:
    """That of a column, by its first drawings: some that have many strokes are enough."""
    sizes = accumulate(map(len_of, column.sample))
    enough = sum(1 for _ in takewhile(lambda size: size < LOOKED_AT, sizes)) + 1
    return find_layout(column.sample[:enough])


def find_layout(sample: Sequence[Any]) -> Layout | None:
    """That of some drawings; None where they are none."""
    drawings = [value for value in sample if value is not None and len_of(value)]
    if not drawings:
        return None
    depths = {depth(value) for value in drawings}
    if depths == {2}:
        widths = {len_of(row) for value in drawings for row in value}
        pens = widths == {3} and all(row[2] in (0, 1) for value in drawings for row in value)
        if not pens and min(widths) < 2:
            return None
        return Layout("offsets") if pens else Layout("points", width=max(widths))
    if depths != {3}:
        return None
    strokes = [stroke for value in drawings for stroke in value if len_of(stroke)]
    sizes = [{len_of(part) for part in stroke} for stroke in strokes]
    if any(0 in size for size in sizes):
        return None
    as_axes = all(2 <= len(s) <= WIDEST and len(lengths) == 1 for s, lengths in zip(strokes, sizes))
    as_points = all(min(size) >= 2 and max(size) <= WIDEST for size in sizes)
    as_points &= len({size for lengths in sizes for size in lengths}) == 1
    width = max((max(size) for size in sizes), default=2)
    if as_points:
        return Layout("points", certain=not as_axes or len(strokes) > SURE, width=width)
    return Layout("axes", width=max(len(s) for s in strokes)) if as_axes else None


LOOKED_AT = 20_000  # strokes or points
SURE = 50  # strokes that all have two points, as lists of x and y would, are hardly by chance


def len_of(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple | np.ndarray) else 0


def depth(value: Any) -> int:
    """Nesting depth of lists of numbers, by their first elements; 0: something else."""
    if isinstance(value, np.ndarray):
        return value.ndim if value.dtype.kind in "biuf" else 0
    levels = 0
    while isinstance(value, list | tuple | np.ndarray):
        levels += 1
        value = next((item for item in value if len_of(item) or not is_list(item)), None)
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return levels if number else 0


def is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def as_strokes(raw: Any, where: str, layout: str = "auto", name: str = "") -> Strokes:
    """Lists or arrays in a layout; of a drawing alone, "auto" is the one that fits it."""
    if isinstance(raw, Strokes):
        return raw
    if isinstance(raw, Recording):
        raw, name = raw.values, name or raw.name
    if raw is None or (is_list(raw) and not len(raw)):
        return from_lines([], name)
    if layout == "auto":
        fitting = find_layout([raw])
        if fitting is None:
            raise no_strokes(raw, where)
        layout = fitting.name
    if layout == "offsets":
        return from_lines(lines_of_offsets(raw, where), name)
    strokes = [raw] if depth(raw) == 2 else raw
    if not is_list(strokes):
        raise no_strokes(raw, where)
    lines = [line_of(stroke, layout, i, where) for i, stroke in enumerate(strokes, 1)]
    return from_lines(lines, name)


def no_strokes(raw: Any, where: str) -> DataError:
    return DataError(
        "is not a drawing",
        where=where,
        got=raw,
        remedy="give strokes as [[[x, y], ...], ...]; `unspool settings` shows stroke_layout",
    )


def numbers(raw: Any, what: str, where: str) -> np.ndarray:
    """(N, K) float64"""
    try:
        array = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1] < 1:
        raise DataError(
            f"{what} is not a list of points",
            where=where,
            got=raw,
            remedy=(
                "give strokes as [[[x, y], ...], ...]; ",
                Setting(stroke_layout="axes"),
                " reads lists of x and y",
            ),
        )
    return array


def refuse_wild(xy: np.ndarray, what: str, where: str) -> None:
    """A gap has no place on a line, and neither has what is infinite."""
    wild = ~(np.abs(xy) < 1e30).all(1)  # NaN too
    if wild.any():
        at = int(np.argmax(wild))
        raise DataError(
            f"point {at + 1} of {what} is not finite",
            where=where,
            got=", ".join(f"{value:g}" for value in xy[at]),
            remedy="correct it, or leave the point out",
        )


def line_of(stroke: Any, layout: str, number: int, where: str) -> np.ndarray:
    """(n, 2)"""
    what = f"stroke {number}"
    if is_list(stroke) and not len(stroke):
        return np.zeros((0, 2))
    points = numbers(stroke, what, where)
    if layout == "axes":
        points = points.T
    if points.shape[1] < 2:
        raise DataError(
            f"{what} has no y", where=where, got=stroke, remedy="give every point an x and a y"
        )
    xy = points[:, :2]
    refuse_wild(xy, what, where)
    return xy


def lines_of_offsets(raw: Any, where: str) -> list[np.ndarray]:
    offsets = numbers(raw, "the drawing", where)
    if offsets.shape[1] != 3:
        raise DataError(
            "offsets are rows of dx, dy and pen up",
            where=where,
            got=f"rows of {offsets.shape[1]}",
            remedy=("give three numbers a row, or another ", Setting("stroke_layout")),
        )
    refuse_wild(offsets, "the drawing", where)
    pens = offsets[:, 2]
    if not np.isin(pens, (0, 1)).all():
        at = int(np.argmax(~np.isin(pens, (0, 1))))
        raise DataError(
            f"pen up is 0 or 1, and at point {at + 1} it is neither",
            where=where,
            got=pens[at],
            remedy=("correct it, or name another ", Setting("stroke_layout")),
        )
    xy = np.cumsum(offsets[:, :2], 0)
    return np.split(xy, np.flatnonzero(pens[:-1]) + 1)
