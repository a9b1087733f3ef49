"""strokes: a drawing as movements of the pen; on request smooth, thinned, upright and of one size.

raw: `Strokes`, or lists and arrays in a layout that `read/strokes.py` knows. values: `Series`.
tensors: `SeriesBatch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unspool.data.fields.series_examiner import SeriesExaminer
from unspool.data.fields.series_values import FittedChannels, Moments, Scaler, Series, blocks
from unspool.data.fields.source import VectorSource
from unspool.data.fields.tokens import Display
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
from unspool.errors import DataError, Option

PEN = 2  # the channel of the pen
Lines = Sequence[np.ndarray]  # strokes, (n, 2) points each


class Preparation(NamedTuple):
    """Steps that prepare a drawing, in this order.

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


class StrokesSource(VectorSource):
    """Channels dx, dy and pen up, from (0, 0): the position on the sheet is not read."""

    kind = "strokes"
    noun = "drawing"
    scaling = "channel"
    whole_reason = "a drawing is prepared as a whole"

    def __init__(self, preparation: Preparation) -> None:
        super().__init__()
        self.preparation = preparation

    def recording(self, raw: Any, where: str) -> Recording:
        return self.preparation.of(as_strokes(raw, where, self.preparation.layout))

    def storage_key(self) -> Any:
        return [self.kind, *self.preparation]

    def fit(self, column: Any, rows: np.ndarray, *, where: str) -> FittedChannels:
        """Leave the pen unscaled: it is 0 or 1."""
        fitted = super().fit(column, rows, where=where)
        fitted.mean[PEN], fitted.std[PEN] = 0.0, 1.0
        return fitted

    def invent(self) -> Moments:
        self.channels = list(CHANNELS)
        return super().invent()

    @property
    def display(self) -> Display:
        return Display("drawing")

    def extent(self, raw: Any) -> str:
        return f"{len(self.recording(raw, 'the drawing')):,} points"

    def items(self, values: Any) -> Iterable[Any]:
        return stroke_items(values)

    def to_json(self, raw: Any) -> dict[str, Any]:
        drawing = self.recording(raw, "the drawing")
        text = getattr(drawing, "text", "")
        return {**super().to_json(drawing), "prepared": True, **({"text": text} if text else {})}

    def from_json(self, value: Any, where: str) -> Recording:
        """Read what `to_json` returns, or points: dx, dy and pen up, or x and y of one stroke."""
        recording = super().from_json(value, where)
        stored = value if isinstance(value, dict) else {}
        text, prepared = stored.get("text"), stored.get("prepared") is True
        values = recording.values
        if not prepared:
            layout = "offsets" if values.shape[1] == len(CHANNELS) else "points"
            values = as_strokes(recording, where, layout).values
        lines_of_offsets(values, where)  # raises an error where these are no offsets
        return Strokes(
            values,
            name=recording.name,
            text=text if isinstance(text, str) else "",
            prepared=self.preparation if prepared else None,
        )

    def examiner(self, values: Series, scaler: Scaler) -> SeriesExaminer:
        """A pen that is hardly ever lifted is not a spike."""
        steps = next(blocks(values.raw))
        examiner = SeriesExaminer(self.channels, scaler.mean, scaler.std, steps, self.recording)
        examiner.spread[PEN] = np.inf
        return examiner


def stroke_items(values: Any) -> Iterable[Any]:
    """A drawing alone, or several: what is nested once more."""
    if isinstance(values, Recording) or getattr(values, "ndim", 0) == 2:
        return [values]
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(
            f"a {type(values).__name__} is not a drawing",
            got=values,
            remedy=("give [[[x, y], ...], ...]; of a file: predict ", Option(file="FILE")),
        )
    if isinstance(values, list | tuple) and depth(values) == 3 and alike(values):
        return [values]
    return values


def alike(values: Any) -> bool:
    """Whether lists in lists in lists are one drawing of points rather than several of offsets."""
    return all(is_list(stroke) and all(len_of(point) == 2 for point in stroke) for stroke in values)
