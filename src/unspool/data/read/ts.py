"""`.ts`: series of the UEA and UCR archives, one a line, with a header that describes them.

@problemName BasicMotions
@dimensions 6
@classLabel true Standing Running
@data
0.07,0.08,...:1.63,1.00,...:Standing      channels between colons, the label last
(0,1.5),(2,1.7):...:Standing              with @timeStamps true
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.budget import Allowance
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import FileHead, Match, Reader, Record, Shape, sampled
from unspool.data.read.recording import Parser, Recording
from unspool.data.values import ISO, seconds
from unspool.errors import DataError

PAIR = re.compile(r"\(([^()]*),([^(),]*)\)")
BRACKETS = re.compile(r"\([^()]*\)|:")
WHOLE = re.compile(r"[0-9]{1,18}")


class Ts(Reader):
    """Columns: the series, and the label or the target where there is one."""

    name = "ts"
    shape = Shape.SERIES
    suffixes = (".ts",)
    title = "UEA/UCR series"
    typed = header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        return Match.CERTAIN.when(head.lines[0].lower().startswith("@problemname"))

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.tags = read_tags(files[0])
        named = "label" if self._is("classlabel") else ""
        self.answer = named = named or ("target" if self._is("targetlabel") else "")
        values = (values for _, values in self.records(files[0]))
        self.columns = sampled(["series", named] if named else ["series"], values)
        if not self.columns[0].sample:
            raise DataError(
                "holds no series after @data", where=files[0].name, remedy="name another file"
            )
        self.first_line = next(self.records(files[0]))[0]

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        inside = False
        for line, content in enumerate(file.lines(report), start=1):
            content = content.strip()
            if not content or content.startswith(("#", "%")):
                continue
            if not inside:
                inside = content.lower().startswith("@data")
                continue
            yield line, self._parsed(content, f"{file.name}:{line}")
        if not inside:
            raise DataError(
                "has no line @data", where=file.name, remedy="write it before the first series"
            )

    def _parsed(self, content: str, where: str) -> tuple[Any, ...]:
        stamped = self._is("timestamps")
        parts = outside_brackets(content) if stamped else content.split(":")
        label = [parts.pop().strip()] if self.answer else []
        known = self.tags.get("classlabel", [])[1:] if self.answer == "label" else []
        if known and label[0] not in known:
            header = f"@classLabel {' '.join(known[:8])}"
            raise disagrees(header, f"this row has {label[0]!r}", where)
        wanted = 1 if self._is("univariate") else self._number("dimensions", "dimension")
        if wanted is not None and len(parts) != wanted:
            counted = self.tags.keys() & {"dimensions", "dimension"}
            header = f"@dimensions {wanted}" if counted else "@univariate true"
            raise disagrees(header, f"this row has {len(parts)}", where)
        recording = stamped_values(parts, where) if stamped else plain_values(parts, where)
        length = self._number("serieslength")
        if self._is("equallength") and length is not None and len(recording) != length:
            raise disagrees(f"@seriesLength {length}", f"this row has {len(recording)}", where)
        if self.tags.get("missing", [""])[0] == "false" and np.isnan(recording.values).any():
            raise disagrees("@missing false", "this row has a gap", where)
        return recording, *label

    def _is(self, name: str) -> bool:
        return self.tags.get(name, ["false"])[0] == "true"

    def _number(self, *names: str) -> int | None:
        value = next((self.tags[name][0] for name in names if self.tags.get(name)), None)
        return int(value) if value is not None and WHOLE.fullmatch(value) else None


def disagrees(header: str, row: str, where: str) -> DataError:
    return DataError(
        f"the header says {header}, and {row}", where=where, remedy="correct the header or the row"
    )


def read_tags(file: TextFile) -> dict[str, list[str]]:
    """The words behind each @name of the header; names and truth values in lower case."""
    tags: dict[str, list[str]] = {}
    for content in file.lines():
        words = content.split()
        if not words or not words[0].startswith("@"):
            continue
        name = words[0][1:].lower()
        if name == "data":
            return tags
        values = words[1:]
        tags[name] = [values[0].lower(), *values[1:]] if values else [""]
    return tags


def outside_brackets(content: str) -> list[str]:
    """Split at colons but for those of dates, which stand within brackets."""
    cuts = [match.start() for match in BRACKETS.finditer(content) if match[0] == ":"]
    return [content[start + 1 : end] for start, end in pairwise([-1, *cuts, len(content)])]


def plain_values(parts: Sequence[str], where: str) -> Recording:
    """A list of numbers for each channel; a shorter channel ends in gaps."""
    names = [str(i + 1) for i in range(len(parts))]
    rows = [
        Parser([f"channel {name}"] * len(cells)).values(cells, where)
        for name, part in zip(names, parts)
        for cells in [part.split(",") if part.strip() else []]
    ]
    steps = max(map(len, rows), default=0)
    Allowance(where).fits(4 * steps * len(rows), f"{steps:,} steps of {len(rows):,} channels")
    values = np.full((steps, len(rows)), np.nan, dtype=np.float32)
    for k, row in enumerate(rows):
        values[: len(row), k] = row
    return Recording(values, tuple(names))


def stamped_values(parts: Sequence[str], where: str) -> Recording:
    """Pairs (time, value) for each channel; what a channel lacks at a time is a gap."""
    names = tuple(str(i + 1) for i in range(len(parts)))
    steps: dict[float, dict[int, float]] = {}
    kinds = set()
    for k, part in enumerate(parts):
        parser = Parser([f"channel {names[k]}"])
        rest = PAIR.sub("", part).replace(",", "").strip()
        if rest and rest != "?":
            raise DataError(
                f"channel {names[k]} is not a list of (time,value)",
                where=where,
                got=rest,
                remedy="correct it, or write @timeStamps false",
            )
        for stamp, cell in PAIR.findall(part):
            try:
                time, dated = float(stamp), False
            except ValueError:
                time, dated = seconds(stamp.strip(), ISO), True
            kinds.add(dated)
            if not math.isfinite(time) or len(kinds) > 1:
                raise DataError(
                    "holds no time" if len(kinds) < 2 else "mixes numbers and dates as times",
                    where=where,
                    got=stamp,
                    remedy="write a number or an ISO date",
                )
            steps.setdefault(time, {})[k] = parser.values([cell.strip()], where)[0]
    times = np.array(sorted(steps), dtype=np.float64)
    Allowance(where).fits(4 * len(times) * len(parts), f"{len(times):,} steps")
    values = np.full((len(times), len(parts)), np.nan, dtype=np.float32)
    for step, time in enumerate(times.tolist()):
        for k, value in steps[time].items():
            values[step, k] = value
    return Recording(values, names, times, True in kinds)
