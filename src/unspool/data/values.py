"""The content of a cell: nothing, a number, an encoded image, or a date, in seconds since 1970.

A format of dates is one of
    iso             `2026-05-01 13:45:00`; with an offset (`iso+02:00`) times are those of its zone
    %d/%m/%Y        the day in the letters of `time.strptime`; a time of day may stand behind it
    quarter, ...    a period of a year: `1970 Q1`, `2024-W05`, `2024M01`, `2024H1`
    unix, unix_ms, unix_us, unix_ns, excel, decimal_year
                    numbers: since 1970, days as spreadsheets count them, 1949.083
All cells of a column have one format: `01/02/2026` alone does not tell which of its numbers is the
month, the column often does. Numbers become dates by the name of their column
(`data/read/time_columns.py`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

ISO, ZONED = "iso", "iso with an offset"
DAYS = (
    "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
    "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y",
    "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y",
    "%b-%Y", "%Y-%b", "%b-%y", "%B-%Y", "%B-%y", "%b/%Y", "%Y %b", "%d %b %y", "%d%b%Y", "%Y-%m-%d",
)  # fmt: skip
DAY_LETTERS = {
    "%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year",
    "%H": "hour", "%M": "minute", "%S": "second",
}  # fmt: skip
PERIODS = {"Q": "quarter", "M": "month", "W": "week", "H": "half"}
PERIOD = re.compile(
    r"(?P<year>\d{4})[-/: ]?(?P<unit>[QMWH])(?P<number>\d{1,2})"
    r"|(?P<unit_first>[QH])(?P<number_first>\d)[-/: ]?(?P<year_last>\d{4})",
    re.IGNORECASE,
)
# Seconds of a unit, and the number that stands for 1970
NUMBERED_TIMES = {
    "unix": (1.0, 0.0), "unix_ms": (1e-3, 0.0), "unix_us": (1e-6, 0.0), "unix_ns": (1e-9, 0.0),
    "excel": (86_400.0, 25_569.0),
}  # fmt: skip
FORMAT_NAMES = {
    "unix": "seconds since 1970", "unix_ms": "milliseconds since 1970",
    "unix_us": "microseconds since 1970", "unix_ns": "nanoseconds since 1970",
    "excel": "days of a spreadsheet", "quarter": "quarters", "month": "months", "week": "weeks",
    "half": "half-years", "%Y": "years", "decimal_year": "years with months as decimals",
}  # fmt: skip
DECIMAL_YEAR, NEAR_MONTH = "decimal_year", 0.05  # 1949.083 is February 1949
OFFSET = re.compile(r"[+-]\d{2}:?\d{2}|Z|UTC|GMT", re.IGNORECASE)
ZONE = re.compile(r"iso([+-])(\d{2}):(\d{2})")
OF_DAY = re.compile(
    r"(.*?\S)[T ]\s*(\d{1,2})(?::|\.(?=\d\d\.))(\d{2})(?:[:.](\d{2}(?:\.\d+)?))?"
    r"(?:\s*([AaPp])\.?[Mm]\.?)?"
)
LONGEST = 40  # characters of a date
IMAGE_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM")
BASE64 = re.compile(r"(data:image/\w+;base64,)?(iVBORw0KGgo|/9j/|R0lGOD|UklGR|Qk[0-3])")
# Seconds since 1970 of the first and the last day that a date may have, from the year 1 to 9999
FIRST_DAY, LAST_DAY = -62_135_596_800.0, 253_402_214_400.0
YEARS = range(1800, 2200)  # of eight digits that are a date, and no number
Decimal = Literal["auto", "point", "comma"]
POINT = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?|[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)
COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?|[+-]?\d+(,\d+)?(e[+-]?\d+)?", re.IGNORECASE)
# Columns in which commas stand between the numbers of classes
LISTS = ("label", "labels", "class", "classes", "category", "categories", "tags", "topics", "ids")
UNITS = "$€£¥%"


# As tables of others write that there is no value. "None" is often a class, and is left one.
MISSING = frozenset({
    "", "nan", "-nan", "null", "na", "n/a", "<na>", "#n/a", "#na", "nat", "missing",
    "\\n",  # of MySQL
})  # fmt: skip


def is_missing(value: Any) -> bool:
    """An array, of a series or of strokes, is a value."""
    if isinstance(value, np.ndarray):
        return False
    return value is None or value != value or str(value).strip().lower() in MISSING


def is_number(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(is_number, value))
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


@lru_cache(maxsize=8192)
def seconds(cell: str, form: str) -> float:
    """NaN where the cell is no date of this format."""
    try:
        if form.startswith(ISO):
            return in_range(iso_date(cell).timestamp() + zone_seconds(form))
        if form in NUMBERED_TIMES:
            unit, zero = NUMBERED_TIMES[form]
            return in_range((float(cell) - zero) * unit)
        if form == DECIMAL_YEAR:
            months = round(12 * float(cell))
            near = abs(12 * float(cell) - months) < NEAR_MONTH
            date = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
            return in_range(date.timestamp()) if near else math.nan
        if form in PERIODS.values():
            return in_range(period_start(cell, form).timestamp())
        match = None if "%H" in form or "%I" in form else OF_DAY.fullmatch(cell)
        date = datetime.strptime(match[1] if match else cell, form)
        if match is None:
            return in_range((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())
        hour = int(match[2])
        if match[5]:
            hour = hour % 12 + 12 * (match[5] in "pP")
        after = timedelta(hours=hour, minutes=int(match[3]), seconds=float(match[4] or 0))
        return in_range((date.replace(tzinfo=UTC) + after).timestamp())
    except (ValueError, OverflowError):
        return math.nan


def iso_date(cell: str) -> datetime:
    """A date without an offset is one of UTC."""
    for zone in (" UTC", " GMT"):
        cell = cell.removesuffix(zone)
    date = datetime.fromisoformat(cell)
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def period_start(cell: str, form: str) -> datetime:
    """The first day of `1970 Q1`, `Q1 1970`, `2024M01`, `2024 W5`, `2024H1`."""
    match = PERIOD.fullmatch(cell)
    if match is None or PERIODS[(match["unit"] or match["unit_first"]).upper()] != form:
        raise ValueError
    year = int(match["year"] or match["year_last"])
    if year not in YEARS:
        raise ValueError
    number = int(match["number"] or match["number_first"])
    if form == "week":
        return datetime.fromisocalendar(year, number, 1).replace(tzinfo=UTC)
    months = {"quarter": 3, "month": 1, "half": 6}[form]
    return datetime(year, (number - 1) * months + 1, 1, tzinfo=UTC)


def zone_of(cell: str) -> str:
    """The offset of a date, as in `+02:00`; empty where it has none."""
    return iso_date(cell).isoformat()[-6:] if OFFSET.search(cell[10:]) else ""


def form_zone(form: str | None) -> str:
    """`+02:00` of `iso+02:00`; empty where a format has no zone."""
    return form[len(ISO) :] if form is not None and ZONE.fullmatch(form) else ""


def zone_seconds(form: str) -> int:
    """Seconds by which the clock of a zone is ahead of UTC."""
    match = ZONE.fullmatch(form)
    if match is None:
        return 0
    return (1 if match[1] == "+" else -1) * (int(match[2]) * 3600 + int(match[3]) * 60)


def written(cell: Any) -> str:
    """A date as it is written: 20240131.0 as 20240131, several cells with spaces between them."""
    if isinstance(cell, list | tuple):
        return " ".join(map(written, cell))
    text = str(cell).strip()
    return str(int(float(text))) if is_number(text) and float(text).is_integer() else text


def in_range(time: float) -> float:
    return time if FIRST_DAY <= time <= LAST_DAY else math.nan


def is_date(cell: Any) -> bool:
    """Whether a value is a date of any format; a number is none, unless its digits are a day."""
    return not isinstance(cell, int | float) and bool(formats_of(str(cell).strip()))


def is_of(cell: Any, form: str) -> bool:
    return is_missing(cell) or not math.isnan(seconds(str(cell).strip(), form))


@lru_cache(maxsize=8192)
def formats_of(cell: str) -> tuple[str, ...]:
    if not 6 <= len(cell) <= LONGEST or not any(char.isdigit() for char in cell):
        return ()
    digits = cell.isascii() and cell.isdecimal()  # ² is a digit, but no number
    if is_number(cell) and not digits:
        return ()
    if digits:
        day = len(cell) == 8 and int(cell[:4]) in YEARS and not math.isnan(seconds(cell, "%Y%m%d"))
        return ("%Y%m%d",) if day else ()
    forms = (ISO, *PERIODS.values(), *DAYS)
    dated = tuple(form for form in forms if not math.isnan(seconds(cell, form)))
    return (ZONED, *dated[1:]) if ISO in dated and OFFSET.search(cell[10:]) else dated


def find_format(cells: Sequence[Any]) -> str | None:
    """The format of a column of dates; None of anything else. The most even one is chosen."""
    if any(isinstance(cell, int | float) for cell in cells):
        return None
    dates = [str(cell).strip() for cell in cells if not is_missing(cell)]
    if not dates:
        return None
    formats = set(formats_of(dates[0]))
    for cell in dates:
        formats &= set(formats_of(cell))
        if not formats:
            return None
    if ZONED in formats:
        return ISO + zone_of(dates[0])
    if ISO in formats and "week" not in formats:
        return ISO
    order = (*PERIODS.values(), *DAYS)
    return min(formats - {ISO}, key=lambda form: (*unevenness(dates, form), order.index(form)))


def find_mixed(cells: Sequence[Any]) -> int | None:
    """The first cell that has not the format of most others; None where most are no dates."""
    dates = [(i, str(cell).strip()) for i, cell in enumerate(cells) if not is_missing(cell)]
    counts = Counter(form for _, cell in dates for form in formats_of(cell))
    if not counts or max(counts.values()) <= len(dates) / 2:
        return None
    usual = max(counts, key=lambda form: counts[form])
    return next((i for i, cell in dates if usual not in formats_of(cell)), None)


def unevenness(cells: Sequence[str], form: str) -> tuple[int, int]:
    """Steps that go back, and different steps."""
    times = [seconds(cell, form) for cell in cells]
    steps = [after - before for before, after in pairwise(times)]
    return sum(step < 0 for step in steps), len(set(steps))


def shown_format(form: str) -> str:
    """`%d/%m/%Y` as day/month/year, `unix` as seconds since 1970, `iso+02:00` as +02:00"""
    if form in FORMAT_NAMES:
        return FORMAT_NAMES[form]
    for letters, word in DAY_LETTERS.items():
        form = form.replace(letters, word)
    zone = form_zone(form)
    return f"dates of the zone {zone} in the first row" if zone else form


def is_encoded(value: Any) -> bool:
    """Whether a cell holds an image: bytes, or base64."""
    if isinstance(value, dict):
        value = value.get("bytes")
    if isinstance(value, bytes):
        return value.startswith(IMAGE_STARTS) or (value[:4], value[8:12]) == (b"RIFF", b"WEBP")
    return isinstance(value, str) and BASE64.match(value) is not None


class Numerals(NamedTuple):
    """The decimal mark, the one between thousands (may be empty), and a unit around numbers."""

    decimal: str
    thousands: str
    unit: str = ""

    def plain(self, cell: str) -> str:
        cell = without_unit(cell, self.unit)
        return cell.replace(self.thousands, "").replace(self.decimal, ".")


def without_unit(cell: str, unit: str) -> str:
    return cell.replace(unit, "", 1).strip() if unit else cell


def find_unit(cells: Sequence[str]) -> str:
    """The sign before or behind every number; empty where there is none."""
    signs = {cell[0] if cell[0] in UNITS else cell[-1] for cell in cells if cell}
    return next(iter(signs)) if len(signs) == 1 and signs <= set(UNITS) else ""


def find_numerals(
    name: str, cells: Sequence[str], delimiter: str, decimal: Decimal
) -> Numerals | None:
    """None where the cells can be read as they are, or are no numbers."""
    numbers = [cell for cell in cells if not is_missing(cell) and cell != "?"]
    unit = find_unit(numbers)
    numbers = [without_unit(cell, unit) for cell in numbers]
    commas = any("," in cell for cell in numbers)
    if not (commas or unit) or (decimal == "auto" and name.strip().lower() in LISTS):
        return None
    if not commas:
        return Numerals(".", "", unit) if all(map(POINT.fullmatch, numbers)) else None
    point, comma = (all(map(style.fullmatch, numbers)) for style in (POINT, COMMA))
    if decimal == "comma" or (decimal == "auto" and comma and delimiter != ","):
        return Numerals(",", ".", unit) if comma else None
    return Numerals(".", ",", unit) if point else None
