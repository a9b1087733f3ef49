"""Dates and numbers as tables of many countries write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from unspool.config import DataConfig
from unspool.data.values import (
    DAYS,
    ISO,
    find_format,
    find_numerals,
    is_date,
    seconds,
    shown_format,
)
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

EVERY_DAY = [datetime(2021, 12, 20, tzinfo=UTC) + timedelta(days=i) for i in range(60)]
FIRST_OF_MONTH = [datetime(1995 + i // 12, i % 12 + 1, 1, tzinfo=UTC) for i in range(60)]


@pytest.mark.parametrize("form", [ISO, *DAYS])
@pytest.mark.parametrize("of_day", ["", " %H:%M", " %H:%M:%S", " %I:%M %p", "T%H:%M"])
def test_every_format_is_found_and_read(form, of_day) -> None:
    day = "%Y-%m-%d" if form == ISO else form
    if form == ISO and "%p" in of_day:
        pytest.skip("ISO 8601 has 24 hours")
    dates = EVERY_DAY if "%d" in day else FIRST_OF_MONTH
    dates = [date + timedelta(hours=13, minutes=5) for date in dates] if of_day else dates
    cells = [date.strftime(day + of_day) for date in dates]
    found = find_format(cells)
    assert found is not None
    assert [seconds(cell, found) for cell in cells] == [date.timestamp() for date in dates]


def test_a_column_decides_between_day_and_month() -> None:
    assert find_format(["01/02/2022", "01/03/2022", "01/04/2022"]) == "%m/%d/%Y"  # equal steps
    assert find_format(["01/30/2022", "01/31/2022"]) == "%m/%d/%Y"
    assert find_format(["01/02/2022", "02/02/2022", "03/02/2022"]) == "%d/%m/%Y"
    assert find_format(["30/01/2022", "01/31/2022"]) is None
    assert shown_format("%m/%d/%y") == "month/day/year"


@pytest.mark.parametrize("cell", [
    "", "12", "3.5", "1e6", "20221301", "12345678", "hello", "May", "10/10", "1/2", "11.0652",
    "1.2022", "in 2022", "a " * 30, 20220101, 3.5, None, "version 1.2.2022 of it",
    "²" * 8, "9999-12-31 23:59-14:00", "0001-01-01 00:00+14:00",
])  # fmt: skip
def test_what_is_no_date(cell) -> None:
    assert not is_date(cell)


def test_what_is_missing_among_dates_is_skipped() -> None:
    assert find_format(["2022-01-01", "", "NaN", "2022-01-03"]) == ISO
    assert find_format(["", None]) is None
    assert find_format(["2022-01-01", "soon"]) is None


NUMERALS = [
    (["1.234,5", "2,25", "7"], ";", [1234.5, 2.25, 7]),
    (["10,128", "9,5"], ";", [10.128, 9.5]),
    (["10,128"], ";", [10.128]),
    (["10,128"], ",", [10128]),
    (["1,234.5", "-12,000,000", "3"], ",", [1234.5, -12e6, 3]),
    (["1,234.5", "2.25"], ";", [1234.5, 2.25]),
    (["-0,5", "1,5e3", ""], "\t", [-0.5, 1500]),
]


@pytest.mark.parametrize(("cells", "delimiter", "wanted"), NUMERALS)
def test_numbers_with_commas(cells, delimiter, wanted) -> None:
    style = find_numerals("price", cells, delimiter, "auto")
    assert style is not None
    assert [float(style.plain(cell)) for cell in cells if cell] == wanted


@pytest.mark.parametrize(("cells", "delimiter"), [
    (["1.5", "2.25"], ";"), (["1,2", "3"], ","), (["1,5", "a"], ";"), (["1,,5"], ";"),
    (["one, two"], ","), (["", "nan"], ";"), (["1.5", "2,5"], ";"),
])  # fmt: skip
def test_what_is_left_as_it_is(cells, delimiter) -> None:
    assert find_numerals("price", cells, delimiter, "auto") is None


def test_lists_of_classes_are_no_numbers() -> None:
    assert find_numerals("labels", ["1,2", "3,4"], ";", "auto") is None
    assert find_numerals("price", ["10,128"], ",", "comma").plain("10,128") == "10.128"
    assert find_numerals("price", ["10,128"], ";", "point").plain("10,128") == "10128"


def write(tmp_path, name, lines):
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path / name


def test_a_european_table_is_continued(tmp_path) -> None:
    rows = [
        f"{d:%d.%m.%Y};{1000 + i / 4:.2f}".replace(".25", ",25") for i, d in enumerate(EVERY_DAY)
    ]
    rows = [row[:10] + row[10:].replace(".", ",") for row in rows]
    path = write(tmp_path, "a.csv", ["Datum;Wert", *rows])
    plan = open_plan(path, DataConfig())
    assert plan.task == "forecast"
    assert "decimal commas in 'Wert' (--set decimal=point" in plan.summary
    assert "time in 'Datum' as day.month.year (--set date_format=FORMAT" in plan.summary
    assert plan.settings["data.date_format"] == "%d.%m.%Y"
    [series] = (row.values[0] for row in plan.rows())
    np.testing.assert_array_equal(series.values[:, 0], 1000 + np.arange(60) / 4)
    assert series.times.tolist() == [date.timestamp() for date in EVERY_DAY]


def test_the_format_of_a_run_reads_what_alone_could_be_either(tmp_path) -> None:
    path = write(tmp_path, "a.csv", ["date,x", "01/02/2022,1", "01/03/2022,2"])
    read = open_plan(path, DataConfig(date_format="%m/%d/%Y"), "forecast")
    [series] = (row.values[0] for row in read.rows())
    assert series.times.tolist() == [datetime(2022, 1, d, tzinfo=UTC).timestamp() for d in (2, 3)]
    other = write(tmp_path, "b.csv", ["date,x", "2022-02-01,1", "2022-02-02,2"])
    [series] = (r.values[0] for r in open_plan(other, DataConfig(date_format="%m/%d/%Y")).rows())
    assert series.times[0] == datetime(2022, 2, 1, tzinfo=UTC).timestamp()


def test_a_date_of_another_format_is_named_with_its_line(tmp_path) -> None:
    rows = [f"{date:%d/%m/%Y},{i}" for i, date in enumerate(EVERY_DAY * 20)]
    path = write(tmp_path, "a.csv", ["date,x", *rows[:60], "2022-13-45,1"])
    with pytest.raises(DataError, match=r"a.csv:62: column 'date' holds no time; got '2022-13-45'"):
        list(open_plan(path, DataConfig(date_format="%d/%m/%Y"), "forecast").rows())


@pytest.mark.parametrize("names", ["ds,y", "date,target", "Month,Passengers"])
def test_dates_and_numbers_are_no_text(names, tmp_path) -> None:
    rows = [f"{date:%Y-%m},{100 + i}" for i, date in enumerate(FIRST_OF_MONTH)]
    plan = open_plan(write(tmp_path, "a.csv", [names, *rows]), DataConfig())
    assert plan.task == "forecast"


def test_numbers_alone_ask_what_is_to_be_learnt(tmp_path) -> None:
    path = write(tmp_path, "a.csv", ["value", *(f"{i * 0.7:.1f}" for i in range(50))])
    with pytest.raises(DataError, match=r"holds numbers, .* --task forecast --horizon N"):
        open_plan(path, DataConfig())
    plan = open_plan(path, DataConfig(), "forecast")
    assert "one recording, channels value" in plan.summary
    assert open_plan(path, DataConfig(text="value")).task == "generate"


def test_two_columns_may_tell_series_apart(tmp_path) -> None:
    rows = [
        f"{store},{dept},{date:%Y-%m-%d},{store * 100 + dept * 10 + i},{i % 9 == 0}"
        for store in (1, 2, 3)
        for dept in (1, 2)
        for i, date in enumerate(EVERY_DAY)
    ]
    path = write(tmp_path, "a.csv", ["Store,Dept,Date,Sales,IsHoliday", *rows])
    plan = open_plan(path, DataConfig())
    assert plan.task == "forecast"
    assert "recordings by 'Store, Dept', whose times follow each other" in plan.summary
    assert "channels Sales, not read: IsHoliday" in plan.summary
    assert [len(row.values[0]) for row in plan.rows()] == [60] * 6
    asked = open_plan(path, DataConfig(id="Store,Dept"))
    assert [row.values[0].name for row in asked.rows()][:2] == ["1 1", "1 2"]


def test_recordings_of_a_subject_and_an_activity(tmp_path) -> None:
    rows = [
        f"{who},{what},{t / 50},{t % 7 / 3:.3f},{t % 5 / 3:.3f}"
        for who in (1, 2, 3)
        for what in ("walk", "sit")
        for t in range(40)
    ]
    path = write(tmp_path, "a.csv", ["subject,activity,timestamp,ax,ay", *rows])
    plan = open_plan(path, DataConfig())
    assert plan.task == "classify"
    assert [row.values[1] for row in plan.rows()] == ["walk", "sit"] * 3
