"""Calendar features of a step: the time of day, the day of the week, the time of the year; and what
comes after it: some seconds, a month, the next working day.

In: seconds since 1970 (T,). Out: (T, K), for each cycle the sine and cosine of where the step
stands in it, so that midnight is next to midnight; or the times of later steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

DAY = 86_400.0
UNEVEN = 0.01  # of a step: one that differs by more is another
FEWEST = 10  # weekdays without a weekend between them are working days
CYCLES = {"day": 86_400.0, "week": 7 * 86_400.0, "year": 365.2425 * 86_400.0}
MONDAY = 4 * 86_400.0  # 1970 began on a Thursday


def cycles_of(step: float, span: float) -> list[str]:
    """The cycles that steps of so many seconds can show and that came twice within the span."""
    return [name for name, long in CYCLES.items() if 2 * step <= long and 2 * long <= span]


def calendar(times: np.ndarray, cycles: Sequence[str]) -> np.ndarray:
    """(T,) -> (T, 2 · cycles) float32"""
    waves = []
    for name in cycles:
        start = MONDAY if name == "week" else 0.0
        angle = 2 * np.pi * ((times - start) / CYCLES[name] % 1.0)
        waves += [np.sin(angle), np.cos(angle)]
    if not waves:
        return np.zeros((len(times), 0), np.float32)
    return np.stack(waves, 1).astype(np.float32)


class TimeStep(NamedTuple):
    """From one time to the next.

    seconds    or the units of times that are no dates; of months and weekdays the median
    months     of the calendar: 1, 3 or 12 where a step is a month, a quarter or a year; 0: none
    weekdays   whether a step is the next day from Monday to Friday
    """

    seconds: float
    months: int = 0
    weekdays: bool = False

    def after(self, times: np.ndarray, count: np.ndarray) -> np.ndarray:
        """The times that are `count` steps later; shapes that broadcast."""
        times, count = np.broadcast_arrays(np.asarray(times, np.float64), count)
        if self.months:
            return months_later(times, self.months * count)
        if self.weekdays:
            days = np.floor(times / DAY)
            first = days.astype("datetime64[D]")
            later = np.busday_offset(first, count, roll="backward")
            return later.astype(np.int64) * DAY + (times - days * DAY)
        return times + count * self.seconds

    def since(self, first: float, times: np.ndarray) -> np.ndarray:
        """(T,) how many steps after `first` times are, to the nearest"""
        if self.months:
            months = np.floor(np.r_[first, times] / DAY).astype("datetime64[D]")
            count = months.astype("datetime64[M]").astype(np.int64)
            return np.rint((count[1:] - count[0]) / self.months).astype(np.int64)
        if self.weekdays:
            days = np.floor(np.r_[first, times] / DAY).astype("datetime64[D]")
            return np.busday_count(days[0], days[1:])
        return np.rint((times - first) / self.seconds).astype(np.int64)

    def __str__(self) -> str:
        if self.months:
            names = {1: "a month", 3: "a quarter", 12: "a year"}
            return names.get(self.months, f"{self.months} months")
        return "a working day" if self.weekdays else f"{self.seconds:g}"


def find_step(series: Sequence[np.ndarray], *, dated: bool) -> tuple[TimeStep, float]:
    """The usual step of series of at least two steps, and the share of steps that differ."""
    gaps = np.concatenate([np.diff(times) for times in series])
    median = float(np.median(gaps))
    uneven = float(np.mean(np.abs(gaps - median) > UNEVEN * median))
    if not dated or bool((gaps == median).all()):
        return TimeStep(median), uneven
    step = TimeStep(median, months=usual_months(series, median), weekdays=on_weekdays(series))
    if not step.months and not step.weekdays:
        return step, uneven
    wrong = [
        times[1:] != step.after(times[:-1], np.ones(len(times) - 1, np.int64)) for times in series
    ]
    return step, float(np.mean(np.concatenate(wrong)))


def usual_months(series: Sequence[np.ndarray], median: float) -> int:
    """0 where steps are no months, or do not keep to a day of them."""
    months = round(median / (CYCLES["year"] / 12))
    if not months or any(len({*month_days(times)}) > 1 for times in series):
        return 0
    return months


def month_days(times: np.ndarray) -> list[int]:
    """The day of the month of each time, 0 where all are the last."""
    days = np.floor(times / DAY).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    last = ((months + 1).astype("datetime64[D]") - 1 == days).all()
    numbers = (days - months.astype("datetime64[D]")).astype(np.int64) + 1
    return np.where(last, 0, numbers).tolist()


def months_later(times: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The same day of later months, the last where it was the last or there is no such day."""
    days = np.floor(times / DAY)
    first = days.astype("datetime64[D]")
    month = first.astype("datetime64[M]")
    last = (month + 1).astype("datetime64[D]") - 1
    then = month + count
    end = (then + 1).astype("datetime64[D]") - 1
    same = then.astype("datetime64[D]") + (first - month.astype("datetime64[D]"))
    later = np.where(first == last, end, np.minimum(same, end))
    return later.astype(np.int64) * DAY + (times - days * DAY)


def on_weekdays(series: Sequence[np.ndarray]) -> bool:
    """Whether days follow each other from Monday to Friday alone."""
    days = np.concatenate([np.floor(times / DAY).astype(np.int64) for times in series])
    daily = all(bool((np.diff(times) >= DAY).all()) for times in series)
    weekend = (days + 3) % 7 >= 5  # 1970 began on a Thursday
    return daily and len(days) > FEWEST and not weekend.any()
