"""Tables with times as people have them: how they are written, and the times that they stand for.

`python tests/data/read/dated.py FOLDER` writes them all into a folder, to try them by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

COUNT = 40
START = datetime(2023, 12, 4, tzinfo=UTC)  # a Monday
MINUTES = [START + timedelta(minutes=15 * i) for i in range(COUNT)]
HOURS = [START + timedelta(hours=i) for i in range(COUNT)]
DAYS = [START + timedelta(days=i) for i in range(COUNT)]
WORKING_DAYS = [START + timedelta(days=i + 2 * (i // 5)) for i in range(COUNT)]
WEEKS = [START + timedelta(weeks=i) for i in range(COUNT)]
MONTHS = [datetime(1995 + i // 12, i % 12 + 1, 1, tzinfo=UTC) for i in range(COUNT)]
QUARTERS = [datetime(1970 + i // 4, i % 4 * 3 + 1, 1, tzinfo=UTC) for i in range(COUNT)]
HALVES = [datetime(1970 + i // 2, i % 2 * 6 + 1, 1, tzinfo=UTC) for i in range(COUNT)]
YEARS = [datetime(1870 + i, 1, 1, tzinfo=UTC) for i in range(COUNT)]
SUMMER = [datetime(2024, 3, 30, tzinfo=UTC) + timedelta(hours=i) for i in range(COUNT)]
NAMES = ["north", "south"]

Cells = Callable[[datetime], Any]


@dataclass
class Dated:
    """One table.

    head      names of the columns
    rows      its cells
    times     of each series in seconds since 1970, or as numbers; None: steps have no times
    channels  that are values, with `dated` for dates
    says      what the printed line, or the refusal, has to say (a regular expression)
    refused   whether it is
    task      that the user names
    write     what makes the file, where it is no CSV
    """

    name: str
    head: str
    rows: list[list[Any]]
    times: list[list[float]] | None = None
    channels: tuple[str, ...] = ("value",)
    says: str = ""
    dated: bool = True
    refused: bool = False
    task: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    delimiter: str = ","

    def save(self, path: Path) -> None:
        names = self.head.split(",")
        if path.suffix == ".jsonl":
            lines = [json.dumps(dict(zip(names, row))) for row in self.rows]
        else:
            lines = [self.delimiter.join(map(str, row)) for row in [names, *self.rows]]
        if path.suffix == ".xlsx":
            import openpyxl

            book = openpyxl.Workbook()
            for row in [names, *self.rows]:
                book.active.append(row)
            book.save(path)
        elif path.suffix == ".parquet":
            import pyarrow
            import pyarrow.parquet

            columns = {name: [row[i] for row in self.rows] for i, name in enumerate(names)}
            pyarrow.parquet.write_table(pyarrow.table(columns), path)
        else:
            path.write_text("\n".join(lines) + "\n")


def value(i: int) -> float:
    return round(10 + (i * 7919 % 101) / 8, 3)


def stamps(dates: Sequence[datetime], zone: float = 0.0) -> list[list[float]]:
    """Seconds since 1970 by a clock that is so many hours ahead."""
    return [[date.timestamp() + 3600 * zone for date in dates]]


def table(name: str, dates: Sequence[datetime], write: str | Cells, **rest: Any) -> Dated:
    """A column of dates and one of values."""
    cell: Cells = (lambda date: date.strftime(write)) if isinstance(write, str) else write
    rows = [[cell(date), value(i)] for i, date in enumerate(dates)]
    column = rest.pop("column", "date")
    times = rest.pop("times", None if rest.get("refused") else stamps(dates))
    return Dated(name, f"{column},value", rows, times, **rest)


def unix(scale: float) -> Cells:
    return lambda date: round(date.timestamp() * scale)


def quarter(form: str) -> Cells:
    return lambda date: form.format(y=date.year, q=(date.month + 2) // 3)


def week(form: str) -> Cells:
    return lambda date: form.format(y=date.isocalendar()[0], w=date.isocalendar()[1])


def serial(date: datetime) -> float:
    days = (date - datetime(1899, 12, 30, tzinfo=UTC)) / timedelta(days=1)
    return int(days) if days.is_integer() else round(days, 6)


def decimal_year(date: datetime) -> float:
    return round(date.year + (date.month - 1) / 12, 8)


def counted(name: str, column: str, *, start: int = 0, **rest: Any) -> Dated:
    rows = [[start + i, value(i)] for i in range(COUNT)]
    times = [[float(start + i) for i in range(COUNT)]]
    return Dated(
        name, f"{column},value", rows, times, dated=False, task=rest.pop("task", "forecast"), **rest
    )


def panel(name: str, head: str, cells: Callable[[datetime, str, int], list[Any]]) -> Dated:
    """Two series, one after the other."""
    rows = [cells(date, key, value(i)) for key in NAMES for i, date in enumerate(DAYS)]
    return Dated(name, head, rows, stamps(DAYS) * 2)


def parts(name: str, head: str, dates: Sequence[datetime], *cells: str, **rest: Any) -> Dated:
    """Parts of dates in several columns."""
    rows = [[*(date.strftime(cell) for cell in cells), value(i)] for i, date in enumerate(dates)]
    return Dated(name, head, rows, stamps(dates), **rest)


def changed(case: Dated, row: int, cell: Any, column: int = 0) -> Dated:
    case.rows[row][column] = cell
    return case


US = ("Quarter", "Consumption", "Income", "Production", "Savings", "Unemployment")

DATED = [
    # Dates as strings
    table("iso.csv", DAYS, "%Y-%m-%d"),
    table("iso-hours.csv", HOURS, "%Y-%m-%d %H:%M:%S", column="datetime"),
    table("iso-t.csv", HOURS, "%Y-%m-%dT%H:%M:%S", column="ds"),
    table("iso-z.csv", HOURS, "%Y-%m-%dT%H:%M:%SZ", column="time", says=r"the zone \+00:00"),
    table("iso-offset.csv", HOURS, lambda d: (d + timedelta(hours=2)).strftime(
        "%Y-%m-%d %H:%M+02:00"), times=stamps(HOURS, 2), says=r"dates of the zone \+02:00"),
    table("iso-far-west.csv", DAYS, "%Y-%m-%dT00:00:00-0700", says="-07:00"),
    table("iso-utc.csv", HOURS, "%Y-%m-%d %H:%M:%S UTC"),
    table("iso-summer.csv", SUMMER, lambda d: d.isoformat(" ") if d.day == 30 else (
        d + timedelta(hours=1)).strftime("%Y-%m-%d %H:%M+01:00"), times=stamps(SUMMER, 1)),
    table("short-hours.csv", HOURS, lambda d: f"{d:%Y-%m-%d} {d.hour}:00"),
    table("milliseconds.csv", HOURS, "%Y-%m-%d %H:%M:%S.000"),
    table("german.csv", DAYS, "%d.%m.%Y", column="Datum", delimiter=";", says="day.month.year"),
    table("british.csv", DAYS, "%d/%m/%Y", says="as day/month/year"),
    table("american.csv", DAYS, "%m/%d/%Y", says="as month/day/year"),
    table("american-hours.csv", HOURS, "%m/%d/%Y %I:%M %p"),
    table("short-year.csv", DAYS, "%d/%m/%y"),
    table("slashes.csv", DAYS, "%Y/%m/%d"),
    table("digits.csv", DAYS, "%Y%m%d", says="yearmonthday"),
    table("digits-hours.csv", HOURS, "%Y%m%d%H", column="timestamp"),
    table("sas.csv", DAYS, "%d%b%Y"),
    table("oracle.csv", DAYS, "%d-%b-%Y"),
    table("words.csv", DAYS, lambda d: f'"{d:%B %d, %Y}"'),
    table("working-days.csv", WORKING_DAYS, "%Y-%m-%d"),
    # Periods
    table("quarters.csv", QUARTERS, quarter("{y} Q{q}"), column="", says="time in '' as quarters"),
    table("quarters-solid.csv", QUARTERS, quarter("{y}Q{q}"), column="Quarter"),
    table("quarters-dash.csv", QUARTERS, quarter("{y}-Q{q}")),
    table("quarters-small.csv", QUARTERS, quarter("{y}q{q}")),
    table("quarters-first.csv", QUARTERS, quarter("Q{q} {y}")),
    table("halves.csv", HALVES, lambda d: f"{d.year}H{(d.month + 5) // 6}", says="half-years"),
    table("weeks.csv", WEEKS, week("{y}-W{w:02}"), column="week", says="as weeks"),
    table("weeks-solid.csv", WEEKS, week("{y}W{w:02}"), column="week"),
    table("weeks-short.csv", WEEKS, week("{y} W{w}"), column="week"),
    table("months-m.csv", MONTHS, "%YM%m", column="TIME_PERIOD", says="as months"),
    table("months.csv", MONTHS, "%Y-%m", column="Month", says="as year-month"),
    table("months-slash.csv", MONTHS, "%m/%Y"),
    table("months-names.csv", MONTHS, "%b %Y", column="month"),
    table("months-long.csv", MONTHS, "%B %Y", column="month"),
    table("months-excel.csv", MONTHS, "%b-%y", says="as month-year"),
    table("months-digits.csv", MONTHS, "%Y%m", column="yyyymm", says="as yearmonth"),
    table("years.csv", YEARS, "%Y", column="Year", says="as years"),
    table("years-r.csv", YEARS, "%Y", column="time", says="as years"),
    table("decimal-years.csv", MONTHS, decimal_year, column="time", says="months as decimals"),
    table("decimal-quarters.csv", QUARTERS, decimal_year, column="time"),
    # Clocks in numbers
    table("unix.csv", HOURS, unix(1), column="ts", says="time in 'ts' as seconds since 1970"),
    table("unix-timestamp.csv", MINUTES, unix(1), column="timestamp"),
    table("unix-ms.csv", HOURS, unix(1e3), column="timestamp", says="as milliseconds since 1970"),
    table("unix-us.csv", HOURS, unix(1e6), column="event_time", says="as microseconds"),
    table("unix-ns.csv", HOURS, unix(1e9), column="time", says="as nanoseconds"),
    table("unix-fractions.csv", HOURS, lambda d: f"{d.timestamp():.2f}", column="createdAt"),
    table("unix-unnamed.csv", HOURS, unix(1), column="k", says="time in 'k' as seconds"),
    table("excel.csv", DAYS, serial, says="as days of a spreadsheet"),
    table("excel-hours.csv", [START + timedelta(hours=6 * i) for i in range(COUNT)], serial),
    Dated("klines.csv", "open_time,close_time,value", [[unix(1e3)(d), unix(1e3)(d) + 3_599_999,
          value(i)] for i, d in enumerate(HOURS)], stamps(HOURS), says="not read: close_time"),
    # Indices, and times that are no dates
    counted("index.csv", "x", says="time in 'x', channels value"),
    counted("index-pandas.csv", "Unnamed: 0", says="time in 'Unnamed: 0', channels value"),
    counted("index-from-one.csv", "obs", start=1),
    counted("seconds.csv", "seconds", task=None),
    Dated("index-and-date.csv", "No,date,value", [[i, f"{d:%Y-%m-%d}", value(i)] for i, d in
          enumerate(DAYS)], stamps(DAYS), says="not read: No"),
    Dated("cycles.csv", "unit,cycle,value", [[key, i + 1, value(i)] for key in NAMES for i in range(
          COUNT)], [[float(i + 1) for i in range(COUNT)]] * 2, dated=False, task="forecast"),
    Dated("population.csv", "country,population,value", [["china", 1_200_000_000 + 7_919_017 * i +
          i * i, value(i)] for i in range(COUNT)], None, ("population", "value"), task="forecast"),
    # Several columns
    parts("date-and-time.csv", "Date,Time,value", HOURS, "%Y-%m-%d", "%H:%M"),
    parts("air-quality.csv", "Date;Time;value".replace(";", ","), HOURS, "%d/%m/%Y", "%H.%M.%S",
          delimiter=";"),
    parts("bikes.csv", "dteday,hr,value", HOURS, "%Y-%m-%d", "%H", says="'dteday' and 'hr'"),
    parts("beijing.csv", "year,month,day,hour,value", HOURS, "%Y", "%m", "%d", "%H",
          says="time in 'year' and 'month' and 'day' and 'hour'"),
    parts("flights.csv", "year,month,value", MONTHS, "%Y", "%b"),
    parts("date-and-year.csv", "date,year,month,value", DAYS, "%Y-%m-%d", "%Y", "%m",
          says="not read: year, month"),
    Dated("uschange.csv", ",".join(US), [[quarter("{y} Q{q}")(d), *(value(i + k) / 7 for k in range(
          4)), i % 5 / 10] for i, d in enumerate(QUARTERS)], stamps(QUARTERS), US[1:]),
    panel("panel.csv", "date,store,value", lambda d, key, x: [f"{d:%Y-%m-%d}", key, x]),
    panel("nixtla.csv", "unique_id,ds,y", lambda d, key, x: [key, unix(1)(d), x]),
    # Typed tables
    table("unix.jsonl", HOURS, unix(1), column="ts"),
    table("digits.jsonl", DAYS, lambda d: int(f"{d:%Y%m%d}")),
    table("dates.xlsx", DAYS, lambda d: d.replace(tzinfo=None)),
    table("unix.parquet", HOURS, unix(1e3), column="timestamp"),
    table("dates.parquet", HOURS, lambda d: d.replace(tzinfo=None)),
    table("zones.parquet", HOURS, lambda d: d),
    # Named formats
    table("twitter.csv", HOURS, "%a %b %d %H:%M:%S %Y", column="created", settings={
        "date_format": "%a %b %d %H:%M:%S %Y", "time": "created"}),
    table("days-of-week.csv", DAYS, "%a %d %b %Y", settings={"date_format": "%a %d %b %Y"}),
    table("numbers.csv", HOURS, unix(1), column="ts", dated=False, settings={
        "date_format": "number"}),
    # Refused
    changed(table("mixed.csv", DAYS, "%Y-%m-%d", refused=True, task="forecast", says=
            r"mixed.csv:32: column 'date' mixes formats of dates; got '3/1/2024'.*such as '2023-12-"
            "04'"), 30, "3/1/2024"),
    changed(table("mixed-quarters.csv", QUARTERS, quarter("{y} Q{q}"), refused=True, task=
            "forecast", says=r"mixed-quarters.csv:7: column 'date' mixes.*got '1971M04'"), 5,
            "1971M04"),
    changed(table("a-word.csv", DAYS, "%d.%m.%Y", column="wann", refused=True, task="forecast",
            says=r"a-word.csv:5: column 'wann' holds no time; got 'heute'"), 3, "heute"),
    changed(table("mixed-units.csv", HOURS, unix(1), column="timestamp", refused=True, task=
            "forecast", says=r"mixed-units.csv:23: column 'timestamp' mixes formats.*got '17"), 21,
            1_701_648_000_000),
    changed(table("mixed-zones.csv", HOURS, "%Y-%m-%dT%H:%M:%SZ", refused=True, task="forecast",
            says=r"mixed-zones.csv:8: column 'date' mixes.*got '2023-12-04T06:00:00'"), 6,
            "2023-12-04T06:00:00"),
    table("unknown.csv", HOURS, "%a %b %d %H:%M:%S %Y", refused=True, task="forecast",
          says="unknown.csv:2: column 'date' holds no time.*date_format="),
    table("time-of-day.csv", HOURS, "%H:%M", column="time", refused=True, task="forecast",
          says=r"time-of-day.csv:2: column 'time' holds no time; got '00:00'"),
    table("backwards.csv", DAYS[::-1], "%Y-%m-%d", refused=True, task="forecast",
          says=r"backwards.csv:3: the time in column 'date' goes backwards"),
]  # fmt: skip

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for case in DATED:
        case.save(folder / case.name)
