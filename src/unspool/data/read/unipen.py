"""UNIPEN (Guyon et al. 1994) and texts like it: what the pen did, line by line.

.COORD X Y T
.SEGMENT DIGIT ? ? "8"          a label for the strokes up to the next segment; or DIGIT 0-2 ? "8",
.PEN_DOWN                       by the numbers of the components, pens down and up
 10 20 0
 11 22 10
.PEN_UP
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile, path_columns
from unspool.data.read.reader import SAMPLE, FileHead, Match, Reader, Record, Shape, sampled
from unspool.errors import DataError

SEGMENT = re.compile(r'(\S+)\s+(\S+).*?(?:"([^"]*)"\s*)?$')
BEGIN = (".START_BOX", ".SEGMENT")
STROKE_BYTES = 1000  # in memory, of a stroke without points that is read and learnt
WHOLE = re.compile(r"[0-9]{1,18}")


class Component(NamedTuple):
    """A pen that was down, or up (None), in the order of the file."""

    points: np.ndarray | None
    line: int


class Segment(NamedTuple):
    level: str  # DIGIT, CHARACTER, WORD, ...
    parts: str  # numbers of components, or ?
    label: str | None
    line: int
    first: int  # component that follows


class Unipen(Reader):
    """Columns: the strokes, and the label where there are segments: those of the level that has
    most of them. Without segments, `.START_BOX` begins a drawing, else the file is one."""

    name = "unipen"
    shape = Shape.DRAWINGS
    suffixes = (".unp", ".unipen")
    title = "UNIPEN"
    typed = header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        return Match.CERTAIN.when(any(line.startswith(".PEN_DOWN") for line in head.lines))

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        files[0].refuse_empty()
        self.paths = path_columns(files) if len(files) > 1 else []
        levels = Counter(segment.level for file in files[:SAMPLE] for segment in parsed(file)[1])
        self.level = levels.most_common(1)[0][0] if levels else ""
        names = ["strokes", "label", *(name for name, _ in self.paths)]
        rows = list(islice(self.rows(range(len(names))), SAMPLE))
        if not rows:
            raise DataError(
                "has no .PEN_DOWN with points",
                where=files[0].name,
                remedy="write .PEN_DOWN, a point x y a line, and .PEN_UP",
            )
        self.first_line = rows[0].line
        columns = sampled(names, (row.values for row in rows))
        self.columns = columns if self.level not in ("", "?") else [columns[0], *columns[2:]]
        left = sum(levels.values()) - levels[self.level]
        if self.level not in ("", "?"):
            self.remark = f"segments {self.level}"
            self.remark += f", {left:,} of other levels left out" if left else ""

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        components, segments = parsed(file)
        more = tuple(column[self.files.index(file)] for _, column in self.paths)
        chosen = [segment for segment in segments if segment.level == self.level]
        chosen = chosen or [Segment("", "?", None, 1, 0)]
        stops = [*(segment.first for segment in chosen[1:]), len(components)]
        allowed = file.allowance()
        for segment, stop in zip(chosen, stops):
            strokes = strokes_of(segment, components, stop, file)
            # Segments may name the same strokes again and again.
            allowed.hold(sum(STROKE_BYTES + points.nbytes for points in strokes), "segments")
            if strokes or segment.label is not None:
                yield segment.line, (strokes, segment.label, *more)


def strokes_of(
    segment: Segment, components: Sequence[Component], stop: int, file: TextFile
) -> list[np.ndarray]:
    where = f"{file.name}:{segment.line}"
    count = len(components)
    numbers = (
        range(segment.first, stop) if segment.parts == "?" else listed(segment.parts, count, where)
    )
    strokes = (components[i].points for i in numbers)
    return [points for points in strokes if points is not None and len(points)]


def listed(parts: str, count: int, where: str) -> Iterator[int]:
    """0-2,5 -> 0 1 2 5, of so many components"""
    for part in parts.split(","):
        first, _, last = (bound.split(":")[0] for bound in part.partition("-"))
        last = last or first
        if not (WHOLE.fullmatch(first) and WHOLE.fullmatch(last)) or int(last) < int(first):
            raise DataError(
                "the segment names no components",
                where=where,
                got=parts,
                remedy="write numbers as 0-2,5, or ? for the strokes that follow",
            )
        if int(last) >= count:
            raise DataError(
                f"the segment names component {int(last)}, and there are {count}",
                where=where,
                got=parts,
                remedy="number the pens down and up of the file from 0",
            )
        yield from range(int(first), int(last) + 1)


def parsed(file: TextFile) -> tuple[list[Component], list[Segment]]:
    components: list[Component] = []
    segments: list[Segment] = []
    points: list[list[float]] = []
    down, line, started, axes = False, 0, 0, (0, 1)

    def close() -> None:
        if started:
            xy = np.array(points).reshape(-1, 2) if down else None
            components.append(Component(xy, started))
        points.clear()

    for line, content in enumerate(file.lines(), start=1):
        content = content.strip()
        where = f"{file.name}:{line}"
        if not content:
            continue
        if not content.startswith("."):
            if down:
                points.append(point(content, axes, where))
            continue
        word, _, rest = content.partition(" ")
        word, rest = word.upper(), rest.strip()
        if word in (".PEN_DOWN", ".PEN_UP"):
            close()
            down, started = word == ".PEN_DOWN", line
            if rest and down:
                points.append(point(rest, axes, where))
        elif word in BEGIN:
            close()
            down, started = False, 0
            segments.append(segment(rest, line, len(components)))
        elif word == ".COORD":
            names = rest.upper().split()
            if not {"X", "Y"} <= set(names):
                raise DataError(
                    ".COORD names no X and Y",
                    where=where,
                    got=rest,
                    remedy="name the coordinates X and Y",
                )
            axes = (names.index("X"), names.index("Y"))
    close()
    return components, segments


def segment(rest: str, line: int, first: int) -> Segment:
    match = SEGMENT.match(rest)
    if match is None:
        return Segment(rest or "?", "?", None, line, first)
    return Segment(match[1].upper(), match[2], match[3], line, first)


def point(content: str, axes: tuple[int, int], where: str) -> list[float]:
    cells = content.split()
    try:
        position = [float(cells[i]) for i in axes]
    except (IndexError, ValueError):
        position = [np.nan]
    if not np.isfinite(position).all():
        raise DataError(
            "is not a point",
            where=where,
            got=content[:60],
            remedy="write x y, two finite numbers, or a keyword that begins with a dot",
        )
    return position
