"""strokes: a drawing as movements of the pen; on request smooth, thinned, upright and of one size.

raw: `Strokes`, or lists and arrays in a layout that `read/strokes.py` knows. values: `Series`.
tensors: `SeriesBatch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unspool.data.fields.series import SeriesField
from unspool.data.fields.series_examiner import SeriesExaminer
from unspool.data.fields.series_values import Series, blocks
from unspool.data.read.recording import Recording
from unspool.data.read.strokes import (
    CHANNELS,
    Strokes,
    as_strokes,
    depth,
    from_lines,
    is_list,
    len_of,
    lines_of_offsets,
)
from unspool.data.store.columns import Progress
from unspool.data.store.vectors import VectorColumn
from unspool.errors import DataError

PEN = 2  # the channel of the pen
Lines = Sequence[np.ndarray]  # strokes, (n, 2) points each


class Preparation(NamedTuple):
    """What is done to a drawing, in this order.

    smoothing   points to each side that a point is averaged with
    tolerance   points this near to the line between others are left out (Ramer 1972, Douglas &
                Peucker 1973), as a share of the longer side of the drawing
    slant       "remove": sheared so that the strokes from top to bottom are upright
    size        "height" or "box": the height, or the longer side, becomes 1
    layout      of raw lists
    """

    smoothing: int = 0
    tolerance: float = 0.0
    slant: str = "keep"
    size: str = "file"
    layout: str = "auto"

    def of(self, strokes: Strokes) -> Strokes:
        if strokes.prepared == self or not len(strokes):
            return strokes
        lines: Lines = strokes.lines()
        if self.smoothing:
            lines = [smoothed(line, self.smoothing) for line in lines]
        if self.tolerance:
            lines = [simplified(line, self.tolerance * box(lines).max()) for line in lines]
        if self.slant == "remove":
            lines = upright(lines)
        if self.size != "file":
            width, height = box(lines)
            side = height if self.size == "height" and height > 0 else max(width, height)
            lines = [line / side for line in lines] if side > 0 else lines
        return replace(strokes, values=from_lines(lines).values, prepared=self)


def box(lines: Lines) -> np.ndarray:
    """(2,) width and height"""
    points = np.concatenate(lines)
    return points.max(0) - points.min(0)


def smoothed(line: np.ndarray, reach: int) -> np.ndarray:
    """Each point as the mean of itself and as many to each side; the ends stay where they are."""
    sums = np.concatenate([np.zeros((1, 2)), np.cumsum(line, 0)])
    at = np.arange(len(line))
    near = np.minimum(np.minimum(at, at[::-1]), reach)
    return (sums[at + near + 1] - sums[at - near]) / (2 * near + 1)[:, None]


def simplified(line: np.ndarray, tolerance: float) -> np.ndarray:
    """The fewest points whose lines pass no other point farther than `tolerance`."""
    keep = np.zeros(len(line), bool)
    keep[[0, -1]] = True
    spans = [(0, len(line) - 1)]
    while spans:
        first, last = spans.pop()
        inner = line[first + 1 : last] - line[first]
        if not len(inner):
            continue
        chord = line[last] - line[first]
        share = np.clip(inner @ chord / max(chord @ chord, 1e-300), 0, 1)
        far = np.hypot(*(inner - share[:, None] * chord).T)
        most = int(far.argmax())
        if far[most] > tolerance:
            middle = first + 1 + most
            keep[middle] = True
            spans += [(first, middle), (middle, last)]
    return line[keep]


def upright(lines: Lines) -> Lines:
    """x' = x - s y with s = Σ dx dy / Σ dy², over the steps that are steeper than they are wide."""
    steps = np.concatenate([np.diff(line, axis=0) for line in lines])
    dx, dy = steps[np.abs(steps[:, 1]) > np.abs(steps[:, 0])].T
    slant = float(dx @ dy) / max(float(dy @ dy), 1e-300)
    return [np.stack([line[:, 0] - slant * line[:, 1], line[:, 1]], 1) for line in lines]


class StrokesField(SeriesField):
    """Channels dx, dy and pen up. The first point is at (0, 0): where a drawing stands on the sheet
    is not read. The end is the last point."""

    kind = "strokes"

    def __init__(self, name: str, preparation: Preparation, *, max_length: int = 0) -> None:
        super().__init__(name, max_length=max_length)
        self.preparation = preparation

    def recording(self, raw: Any, where: str) -> Recording:
        return self.preparation.of(as_strokes(raw, where, self.preparation.layout))

    def fit(
        self,
        column: VectorColumn,
        rows: np.ndarray,
        *,
        where: str,
        progress: Progress | None = None,
    ) -> list[str]:
        """Whether the pen is up is 0 or 1, and not scaled."""
        notes = super().fit(column, rows, where=where, progress=progress)
        self.mean[PEN], self.std[PEN] = 0.0, 1.0
        return notes

    def invent(self, *, vocab: int, classes: int) -> None:
        super().invent(vocab=vocab, classes=classes)
        self.channels = list(CHANNELS)
        self.mean, self.std = np.zeros(len(CHANNELS)), np.ones(len(CHANNELS))

    def unscaled(self, values: np.ndarray) -> np.ndarray:
        """(T, 3) what a model reads or writes, in the units of the file"""
        return (values * self.std + self.mean).astype(np.float32)

    @property
    def shown_as(self) -> str:
        return "drawing"

    def extent(self, raw: Any) -> str:
        return f"{len(self.recording(raw, 'the drawing')):,} points"

    def to_json(self, raw: Any) -> dict[str, Any]:
        own = self.recording(raw, "the drawing")
        text = getattr(own, "text", "")
        return {**super().to_json(own), "prepared": True, **({"text": text} if text else {})}

    def from_json(self, value: Any, where: str) -> Recording:
        """Also of points that somebody has drawn: dx, dy and pen up, or x and y of one stroke."""
        own, stored = super().from_json(value, where), value if isinstance(value, dict) else {}
        text, done = stored.get("text"), stored.get("prepared") is True
        values = own.values
        if not done:
            layout = "offsets" if values.shape[1] == len(CHANNELS) else "points"
            values = as_strokes(own, where, layout).values
        lines_of_offsets(values, where)  # which refuses what are none
        return Strokes(
            values,
            name=own.name,
            text=text if isinstance(text, str) else "",
            prepared=self.preparation if done else None,
        )

    def storage_key(self) -> Any:
        return [self.kind, *self.preparation]

    def items(self, given: Any) -> Iterable[Any]:
        return stroke_items(given)

    def streaming_unsupported_reason(self) -> str:
        return "a drawing is prepared as a whole"

    def examiner(self, values: Series) -> SeriesExaminer:
        return StrokesExaminer(self, next(blocks(values.raw)))


class StrokesExaminer(SeriesExaminer):
    """A pen that is hardly ever lifted is no spike."""

    def __init__(self, field: StrokesField, steps: np.ndarray) -> None:
        super().__init__(field.channels, field.mean, field.std, steps, field.recording)
        self.spread[PEN] = np.inf


def stroke_items(given: Any) -> Iterable[Any]:
    """A drawing alone, or several: what is nested once more."""
    if isinstance(given, Recording) or getattr(given, "ndim", 0) == 2:
        return [given]
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise DataError(
            f"a {type(given).__name__} is no drawing",
            got=given,
            remedy="give strokes as [[[x, y], ...], ...]; of a file: predict --file FILE",
        )
    if isinstance(given, list | tuple) and depth(given) == 3 and alike(given):
        return [given]
    return given


def alike(given: Any) -> bool:
    """Whether what is nested three times is one drawing of points: lists of pairs. Several drawings
    as offsets are lists of rows of three."""
    return all(is_list(own) and all(len_of(point) == 2 for point in own) for own in given)
