"""Columns of times: dates, clocks in numbers, parts of dates in several columns, indices of steps.

A column alone shows whether its strings are dates. Numbers are times by the name of their column,
or because they keep the steps of a clock.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any

from unspool.data.read.columns import known, plain
from unspool.data.read.reader import Column, fact, joined
from unspool.data.read.table import Table
from unspool.data.values import (
    DECIMAL_YEAR,
    ISO,
    NUMBERED_TIMES,
    YEARS,
    find_format,
    find_mixed,
    formats_of,
    is_missing,
    is_number,
    seconds,
    written,
)
from unspool.errors import DataError, Option, Setting

TIME_NAMES = (
    "time", "timestamp", "datetime", "date", "t", "ds", "ts", "step", "timestep", "seconds", "ms",
    "time_s", "time_ms", "time_step", "time_idx", "frame", "unix", "epoch",
)  # fmt: skip
DATE_WORDS = {"date", "datetime", "day", "ds", "timestamp", "dt", "dates"}
TIME_WORDS = DATE_WORDS | {
    "time", "ts", "t", "unix", "epoch", "unixtime", "utc", "at", "created", "updated", "stamp",
    "times", "period", "clock",
}  # fmt: skip
YEAR_WORDS = {"year", "years", "yr", "date", "period", "season", "anno", "jahr", "ds"}
MONTH_WORDS = DATE_WORDS | {"month", "period", "yyyymm", "yearmonth", "ym", "time"}
UNIX = ("unix", "unix_ms", "unix_us", "unix_ns")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Times that a clock of a computer may show, and days of a spreadsheet: from 1980 to 2100
FIRST, LAST = 315_532_800.0, 4_102_444_800.0
INDEX_NAMES = (
    "",
    "index",
    "idx",
    "unnamed: 0",
    "no",
    "nr",
    "row",
    "rownames",
    "#",
    "n",
    "i",
    "obs",
)
FEWEST_STEPS = 10  # of an index that is called something else
EVEN = 0.02  # of a step, or of 1: one that differs by less is the same
REGULAR = 0.9  # of the steps of a clock that is called something else
TIME_OF_DAY = re.compile(
    r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\s*[AaPp]\.?[Mm]\.?)?|\d{1,2}\.\d{2}\.\d{2}"
)
# Parts of dates by the names of their columns, with the numbers that they may have
PARTS = {
    "%Y": (("year", "yr"), YEARS),
    "%m": (("month", "mon", "mo", "mnth"), range(1, 13)),
    "%d": (("day", "dom", "mday"), range(1, 32)),
    "%H": (("hour", "hr", "hours"), range(24)),
    "%M": (("minute", "min", "minutes"), range(60)),
    "%S": (("second", "sec"), range(60)),
}
MONTHS = ("%b", "%B")


def words_of(name: str) -> set[str]:
    """`openTime`, `created_at`, `Unix Timestamp` as words."""
    return {word.lower() for word in WORD.findall(name)}


def time_format(column: Column) -> str | None:
    """The format of the dates of a column, in strings or in numbers; None where it has none."""
    if column.parts:
        return parts_format(column)
    return column.profile.date_format or number_format(column)


@fact
def number_format(column: Column) -> str | None:
    """The format of numbers that are dates; None where they are any numbers."""
    values = [value for value in column.sample if not is_missing(value)]
    if not values or not all(map(is_number, values)) or isinstance(values[0], list):
        return None
    words, numbers = words_of(column.name), [float(value) for value in values]
    low, high = min(numbers), max(numbers)
    whole = all(number.is_integer() for number in numbers)
    cells = [written(value) for value in values] if whole else []
    for form, size, names in (
        ("%Y%m%d%H", 10, TIME_WORDS),
        ("%Y%m%d", 8, TIME_WORDS),
        ("%Y%m", 6, MONTH_WORDS),
        ("%Y", 4, YEAR_WORDS),
    ):
        if whole and words & names and all(is_written(cell, form, size) for cell in cells):
            return form
    yearly = low >= YEARS[0] and high <= YEARS[-1] and is_clock(numbers)
    if yearly and words & {"time", *YEAR_WORDS} and (not whole or numbers[1] - numbers[0] == 1):
        decimal = all(seconds(str(number), DECIMAL_YEAR) > -math.inf for number in numbers)
        return "%Y" if whole else DECIMAL_YEAR if decimal else None
    for form in UNIX:
        unit = NUMBERED_TIMES[form][0]
        if low * unit >= FIRST and high * unit < LAST:
            return form if words & TIME_WORDS or is_clock(numbers) else None
    first, last = (time / 86_400 + NUMBERED_TIMES["excel"][1] for time in (FIRST, LAST))
    return "excel" if words & DATE_WORDS and first <= low and high < last else None


def is_written(cell: str, form: str, size: int) -> bool:
    return (
        len(cell) == size and int(cell[:4]) in YEARS and seconds(cell, form) == seconds(cell, form)
    )


def is_clock(numbers: Sequence[float]) -> bool:
    """Whether numbers increase, nearly always by the same step."""
    steps = [after - before for before, after in pairwise(numbers)]
    usual = sorted(steps)[len(steps) // 2] if steps else 0
    regular = sum(abs(step - usual) < EVEN * min(1, usual) for step in steps) >= REGULAR * len(
        steps
    )
    return len(steps) > 1 and usual > 0 and regular and min(steps) > 0


def is_index(column: Column, *, restarts: bool = False) -> bool:
    """Whether a column numbers the rows, 0, 1, 2, ...; `restarts`: again from the first number."""
    values, likely = column.sample, column.number == 0 or plain(column.name) in INDEX_NAMES
    if len(values) < (3 if likely else FEWEST_STEPS):
        return False
    start = scalar(values[0])
    return start.is_integer() and all(
        after - before == 1 or (restarts and after == start)
        for before, after in pairwise(map(scalar, values))
    )


def scalar(value: Any) -> float:
    """NaN of what is no number."""
    return float(value) if is_number(value) and not isinstance(value, list) else math.nan


def find_time(table: Table, columns: Sequence[Column]) -> Column | None:
    """One or several columns of dates, or one that is called a time and does not repeat one
    value."""
    filled = [column for column in columns if column.sample]
    dates = next((c for c in filled if c.profile.date_format is not None), None)
    if dates is not None:
        return with_time_of_day(dates, filled)
    parts = date_parts(filled) if table.header else None
    if parts is not None:
        return parts
    column = known(columns, TIME_NAMES) if table.header else None
    numbered = [c for c in filled if number_format(c) is not None]
    if not table.header:  # only what has the steps of a clock of today
        numbered = [c for c in numbered if number_format(c) in UNIX and not c.parts]
    if numbered and column not in numbered:
        column = numbered[0]
    refuse_mixed(table, filled if column is None else [column])
    several = column is not None and len(set(map(str, column.sample))) > 1
    return column if several or (column is not None and len(column.sample) == 1) else None


def with_time_of_day(dates: Column, columns: Sequence[Column]) -> Column:
    """Days that come again, with the column of their hours where there is one."""
    cells = [str(cell).strip() for cell in dates.sample]
    if len(set(cells)) == len(cells) or any(":" in cell for cell in cells):
        return dates
    rest = [column for column in columns if column != dates]
    hours = next((c for c in rest if is_time_of_day(c) or is_part(c, "%H")), None)
    return dates if hours is None else joined([dates, hours], glue=" ")


def is_time_of_day(column: Column) -> bool:
    cells = [str(cell).strip() for cell in column.sample if not is_missing(cell)]
    return bool(cells) and all(map(TIME_OF_DAY.fullmatch, cells))


def date_parts(columns: Sequence[Column]) -> Column | None:
    """Columns called year, month and so on, as one; None where there are not both."""
    parts: list[Column] = []
    for letters in PARTS:
        column = next((c for c in columns if is_part(c, letters)), None)
        if column is None:
            break
        parts.append(column)
    return joined(parts, glue=" ") if len(parts) > 1 else None


def is_part(column: Column, letters: str) -> bool:
    """Whether a column has the name and the numbers of a part of dates."""
    names, numbers = PARTS[letters]
    if plain(column.name) not in names or not column.sample:
        return False
    cells = [written(cell) for cell in column.sample if not is_missing(cell)]
    if letters == "%m" and cells and not is_number(cells[0]):
        return find_month(cells) is not None
    return bool(cells) and all(cell.isdecimal() and int(cell) in numbers for cell in cells)


def find_month(cells: Sequence[str]) -> str | None:
    return next((m for m in MONTHS if all(s == s for s in (seconds(c, m) for c in cells))), None)


def parts_format(column: Column) -> str | None:
    """The format of dates in several columns, whose cells are read with spaces between them."""
    first, *rest = column.parts
    form = first.profile.date_format
    if form is not None and is_part(rest[0], "%H"):
        return f"{'%Y-%m-%d' if form == ISO else form} %H"
    if form is not None:
        return find_format([written(cell) for cell in column.sample])
    letters = list(PARTS)[: len(column.parts)]
    month = written(next((cell for cell in rest[0].sample if not is_missing(cell)), ""))
    if not is_number(month):
        letters[1] = find_month([month, *map(str, islice(rest[0].sample, 50))]) or "%b"
    return " ".join(letters)


def is_calendar(column: Column) -> bool:
    """Whether a column repeats what dates tell: a clock, the year, the month, the hour."""
    return time_format(column) is not None or any(is_part(column, letters) for letters in PARTS)


def unix_unit(cell: Any) -> str | None:
    """The unit of one number, of those in which computers count the time since 1970."""
    if not is_number(cell) or isinstance(cell, list):
        return None
    times = {form: float(cell) * NUMBERED_TIMES[form][0] for form in UNIX}
    return next((form for form, time in times.items() if FIRST <= time < LAST), None)


def find_other_unit(column: Column) -> int | None:
    """The first number whose unit is not that of most others; None where most are no clock's."""
    units = [unix_unit(cell) for cell in column.sample]
    unit, count = Counter(units).most_common(1)[0] if units else (None, 0)
    if unit is None or count <= len(units) / 2:
        return None
    others = (i for i, u in enumerate(units) if u != unit and not is_missing(column.sample[i]))
    return next(others, None)


@fact
def mixed_date(column: Column) -> int | None:
    return find_mixed(column.sample)


def refuse_mixed(table: Table, columns: Sequence[Column]) -> None:
    """Raise a DataError about a column in which most cells are dates, but not of one format."""
    for column in columns:
        odd = mixed_date(column)
        if odd is None and words_of(column.name) & TIME_WORDS:
            odd = find_other_unit(column)
        if odd is None:
            continue
        line = next(islice(table.rows([column]), odd, None))
        usual = next(
            cell for i, cell in enumerate(column.sample) if i != odd and not is_missing(cell)
        )
        cell = str(column.sample[odd]).strip()
        dated = formats_of(cell) or unix_unit(cell)
        what = "mixes formats of dates" if dated else "holds no time"
        raise DataError(
            f"column {column.name!r} {what}",
            where=table.where(line.line, file=line.file),
            got=cell,
            remedy=(
                f"write it as the others, such as {usual!r}; ",
                Setting(date_format="%d/%m/%Y"),
                " names a format, ",
                Option(time="none"),
                " does without",
            ),
        )
