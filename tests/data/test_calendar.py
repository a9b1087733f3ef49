"""The step from one date to the next, and later dates, against the calendar of the standard
library."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from unspool.data.calendar import TimeStep, find_step


def seconds(days) -> np.ndarray:
    return np.array([datetime(d.year, d.month, d.day, 9, 30, tzinfo=UTC).timestamp() for d in days])


def month(start: date, count: int, *, last: bool = False) -> date:
    year, number = divmod(start.year * 12 + start.month - 1 + count, 12)
    length = calendar.monthrange(year, number + 1)[1]
    return date(year, number + 1, length if last else min(start.day, length))


def weekdays(start: date, count: int) -> list[date]:
    days = (start + timedelta(days=i) for i in range(2 * count + 7))
    return [day for day in days if day.weekday() < 5][:count]


@pytest.mark.parametrize("months", [1, 3, 12])
@pytest.mark.parametrize("start", [date(1999, 1, 1), date(2003, 11, 15), date(1960, 12, 31)])
def test_months(months, start) -> None:
    last = start.day == 31
    every = seconds([month(start, months * i, last=last) for i in range(40)])
    step, uneven = find_step([every[:30]], dated=True)
    assert step.months == months
    assert uneven == 0
    assert step.after(every[29], np.arange(1, 11)).tolist() == every[30:].tolist()
    assert str(step) in ("a month", "a quarter", "a year")


def test_months_that_have_no_such_day_end_with_their_last() -> None:
    start = seconds([date(2023, 1, 30)])[0]
    found = TimeStep(30 * 86400.0, months=1).after(start, np.array([0, 1, 2]))
    assert (
        found.tolist()
        == seconds([date(2023, m, d) for m, d in ((1, 30), (2, 28), (3, 30))]).tolist()
    )


def test_working_days() -> None:
    every = weekdays(date(2022, 2, 1), 60)
    times = seconds(every)
    step, uneven = find_step([times[:50]], dated=True)
    assert step.weekdays
    assert uneven == 0
    assert step.after(times[49], np.arange(1, 11)).tolist() == times[50:].tolist()
    without = np.delete(times[:50], 20)  # a holiday
    step, uneven = find_step([without], dated=True)
    assert step.weekdays
    assert 0 < uneven < 0.05


def test_steps_of_equal_length_stay_so() -> None:
    days = seconds([date(2022, 1, 1) + timedelta(days=i) for i in range(30)])
    assert find_step([days], dated=True) == (TimeStep(86400.0), 0.0)
    hours = days[0] + 3600.0 * np.arange(50)
    assert find_step([hours], dated=True)[0] == TimeStep(3600.0)
    assert find_step([np.array([0.0, 31, 59, 90])], dated=False)[0] == TimeStep(31.0)
    uneven = days + np.random.default_rng(0).uniform(0, 40000, len(days))
    assert not find_step([uneven], dated=True)[0].months
    assert TimeStep(2.0).after(np.array([1.0, 5.0]), np.array([3, 0])).tolist() == [7.0, 5.0]


@pytest.mark.parametrize(
    "times",
    [
        seconds([month(date(1999, 1, 31), i, last=True) for i in range(30)]),
        seconds(weekdays(date(2022, 2, 1), 30)),
        seconds([date(2022, 1, 1) + timedelta(days=i) for i in range(30)]),
    ],
)
def test_steps_since_the_first_are_those_after_it(times) -> None:
    step, _ = find_step([times], dated=True)
    assert step.since(times[0], times).tolist() == list(range(30))
    late = times + 0.2 * 86400  # to the nearest
    assert step.since(times[0], late).tolist() == list(range(30))
