"""`.tsf`: series of the Monash forecasting archive, one a line, with a header that describes them.

@attribute series_name string
@attribute start_timestamp date
@frequency daily
@horizon 8
@data
T1:2012-01-01 00-00-00:40,46,?,50      a value for each attribute, then those of the series
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from unspool.config import DataConfig
from unspool.data.calendar import months_later
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import FileHead, Match, Reader, Record, Shape, sampled
from unspool.data.read.recording import Parser, Recording
from unspool.errors import DataError, Option

STEPS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = {
    "secondly": "second", "seconds": "second", "minutely": "minute", "minutes": "minute",
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month",
    "quarterly": "quarter", "yearly": "year", "annual": "year",
}  # fmt: skip
DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d)[-:](\d\d)[-:](\d\d))?")


class SeriesHeader(NamedTuple):
    """Names of the attributes before each series; the frequency and horizon of the file, if any."""

    attributes: list[str]
    frequency: str
    horizon: str


class Tsf(Reader):
    """Columns: the series, with its times and name, and the attributes that are neither."""

    name = "tsf"
    shape = Shape.SERIES
    suffixes = (".tsf",)
    title = "Monash series"
    typed = header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """A header of which some word is no other format's."""
        words = {line.split()[0].lower() for line in head.lines if line.startswith("@")}
        return Match.CERTAIN.when({"@relation", "@data"} <= words and "@frequency" in words)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.about = read_header(files[0])
        self.attributes = [
            name for name in self.about.attributes if name not in ("series_name", "start_timestamp")
        ]
        values = (values for _, values in self.records(files[0]))
        self.columns = sampled(["series", *self.attributes], values)
        if not self.columns[0].sample:
            raise DataError(
                "holds no series after @data", where=files[0].name, remedy="name another file"
            )
        self.first_line = next(self.records(files[0]))[0]
        remarks = [f"frequency {self.about.frequency}" if self.about.frequency else ""]
        if self.about.horizon.isdecimal():
            remarks.append(f"published with {Option(horizon=self.about.horizon)}")
        self.remark = ", ".join(filter(None, remarks))

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        inside = False
        for line, content in enumerate(file.lines(report), start=1):
            content = content.strip()
            if not content or content.startswith("#"):
                continue
            if not inside:
                inside = content.lower() == "@data"
                continue
            yield line, self._parsed(content, f"{file.name}:{line}")

    def _parsed(self, content: str, where: str) -> tuple[object, ...]:
        names = self.about.attributes
        cells = content.split(":", len(names))
        if len(cells) <= len(names):
            raise DataError(
                f"the header has {len(names)} attributes, and this row {len(cells) - 1}",
                where=where,
                remedy="write a value for each attribute, with colons between, and the series last",
            )
        fields = dict(zip(names, map(str.strip, cells)))
        numbers = cells[-1].split(",")
        values = np.array(Parser(["series"] * len(numbers)).values(numbers, where), np.float32)
        times = None
        if start := fields.get("start_timestamp"):
            times = step_times(start, self.about.frequency, len(values), where)
        series = Recording(
            values[:, None], ("1",), times, times is not None, fields.get("series_name", "")
        )
        return series, *(fields[name] for name in self.attributes)


def read_header(file: TextFile) -> SeriesHeader:
    attributes, frequency, horizon = [], "", ""
    for line in file.lines():
        word, _, rest = line.strip().partition(" ")
        match word.lower():
            case "@attribute":
                attributes.append(rest.strip().split(" ")[0])
            case "@frequency":
                frequency = rest.strip().lower()
            case "@horizon":
                horizon = rest.strip()
            case "@data":
                return SeriesHeader(attributes, frequency, horizon)
    raise DataError("has no line @data", where=file.name, remedy="write it before the first series")


def step_times(start: str, frequency: str, steps: int, where: str) -> np.ndarray | None:
    """(steps,) seconds since 1970; None where the header names no frequency."""
    match = DATE.fullmatch(start)
    try:
        if match is None:
            raise ValueError
        day, *clock = match.groups(default="00")
        first = datetime.fromisoformat(f"{day}T{':'.join(clock)}")
    except ValueError:
        raise DataError(
            "is no start of a series",
            where=where,
            got=start,
            remedy="write start_timestamp as 2012-01-31 00-00-00",
        ) from None
    if not frequency:
        return None
    amount, unit = unit_of(frequency, where)
    begin, later = first.replace(tzinfo=UTC).timestamp(), amount * np.arange(steps)
    if unit in STEPS:
        return begin + later * float(STEPS[unit])
    return months_later(np.full(steps, begin), later * MONTHS[unit])


def unit_of(frequency: str, where: str) -> tuple[int, str]:
    """`10_minutes` as (10, "minute"); `half_hourly` as (30, "minute")."""
    amount, _, name = frequency.rpartition("_")
    if frequency == "half_hourly":
        return 30, "minute"
    if name not in UNITS or not (amount or "1").isdecimal() or len(amount) > 4:
        raise DataError(
            "@frequency is unknown",
            where=where,
            got=frequency,
            remedy="write one of daily, weekly, monthly, hourly, 10_minutes and the like",
        )
    return int(amount or 1), UNITS[name]
