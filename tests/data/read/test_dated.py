"""Tables with times are read rightly, or refused with a line that names the remedy."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from dated import DATED, DAYS, Dated

import unspool
from unspool.config import DataConfig
from unspool.data.read.memory import source_of
from unspool.data.read.recording import Recording
from unspool.data.read.zones import clock_of
from unspool.errors import DataError
from unspool.tasks.planner import open_plan, usual_columns

EXTRAS = {".parquet": "pyarrow", ".xlsx": "openpyxl"}


def test_there_are_many() -> None:
    assert len({case.name for case in DATED}) == len(DATED) >= 60


@pytest.mark.parametrize("case", DATED, ids=lambda case: case.name)
def test_dated(case: Dated, tmp_path) -> None:
    path = tmp_path / case.name
    if path.suffix in EXTRAS:
        pytest.importorskip(EXTRAS[path.suffix])
    case.save(path)
    data = DataConfig(**case.settings)
    if case.refused:
        with pytest.raises(DataError, match=case.says) as caught:
            list(open_plan(path, data, case.task).rows())
        assert "\n" not in str(caught.value)
        return
    plan = open_plan(path, data, case.task)
    assert plan.task == "forecast", plan.summary
    assert re.search(case.says, plan.summary), plan.summary
    series = [row.values[0] for row in plan.rows()]
    channels = ("y",) if case.name == "nixtla.csv" else case.channels
    assert [one.channels for one in series] == [channels] * len(series), plan.summary
    if case.times is None:
        assert [one.times for one in series] == [None]
        return
    assert [one.times.tolist() for one in series] == [
        pytest.approx(times, abs=1) for times in case.times
    ]
    assert {one.dated for one in series} == {case.dated}


def test_columns_of_a_time_are_named(tmp_path) -> None:
    case = next(case for case in DATED if case.name == "flights.csv")
    case.save(tmp_path / case.name)
    plan = open_plan(tmp_path / case.name, DataConfig(time="year,month"), "forecast")
    [series] = [row.values[0] for row in plan.rows()]
    assert case.times is not None
    assert series.times.tolist() == case.times[0]


def test_an_index_and_a_clock_are_values_where_they_are_named(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("n,x\n" + "".join(f"{i},{i % 7}\n" for i in range(30)))
    plan = open_plan(tmp_path / "a.csv", DataConfig(series="n,x"), "forecast")
    assert next(plan.rows()).values[0].channels == ("n", "x")
    known = open_plan(tmp_path / "a.csv", DataConfig(known="n", time="none"), "forecast")
    assert next(known.rows()).values[0].channels == ("n", "x")


@pytest.mark.parametrize("when", ["first of {}", "first-{}"])
def test_a_column_that_is_not_understood_hides_no_other(tmp_path, when) -> None:
    rows = [f"{when.format(1900 + i)},{i % 7}.5,{i % 5}.25,{i % 3}" for i in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["when,a,b,c", *rows]))
    plan = open_plan(tmp_path / "a.csv", DataConfig(), "forecast")
    assert next(plan.rows()).values[0].channels == ("a", "b", "c")
    assert "not read: when -> forecast" in plan.summary


def test_numbers_are_no_texts(tmp_path) -> None:
    rows = [f"{i * 37 % 101 / 8},{i * 17 % 101 / 8},k{i % 3}" for i in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,kind", *rows]))
    with pytest.raises(DataError, match=r"a.csv: no column holds texts.*with text=|--text"):
        open_plan(tmp_path / "a.csv", DataConfig(), "classify")
    with pytest.raises(DataError, match="no column holds texts"):
        open_plan(tmp_path / "a.csv", DataConfig())
    assert open_plan(tmp_path / "a.csv", DataConfig(text="a", label="kind")).task == "classify"


def test_names_and_dates_of_a_wide_table(tmp_path) -> None:
    dates = [f"{date:%Y-%m-%d}" for date in DAYS]
    rows = [f"W{i + 1}," + ",".join(str((i + k) % 7) for k in range(40)) for i in range(6)]
    (tmp_path / "a.csv").write_text("\n".join([",".join(["Product", *dates]), *rows]))
    plan = open_plan(tmp_path / "a.csv", DataConfig(), "forecast")
    series = [row.values[0] for row in plan.rows()]
    assert [one.name for one in series] == ["W1", "W2", "W3", "W4", "W5", "W6"]
    assert "named by 'Product'" in plan.summary
    assert all(one.times.tolist() == [d.timestamp() for d in DAYS] for one in series)
    assert usual_columns(plan) == {"series": tuple(dates)}


@pytest.mark.parametrize("zone", ["Europe/Berlin", None])
def test_an_index_of_dates_is_read(zone) -> None:
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-01-01", periods=40, freq="h", tz=zone)
    frame = pandas.DataFrame({"value": [i % 24 for i in range(40)]}, index=index)
    for source in (frame, frame["value"]):
        plan = open_plan(source_of(source), DataConfig(), "forecast")
        [series] = [row.values[0] for row in plan.rows()]
        assert series.channels == ("value",)
        assert series.steps()[0] == "2024-01-01 00:00:00" + ("+01:00" if zone else "")
    quarters = frame.set_index(pandas.period_range("1970Q1", periods=40, freq="Q"))
    plan = open_plan(source_of(quarters), DataConfig(), "forecast")
    assert next(plan.rows()).values[0].steps()[1] == "1970-04-01 00:00:00"


def test_forecasts_keep_the_time_zone(tmp_path) -> None:
    case = next(case for case in DATED if case.name == "iso-offset.csv")
    case.save(tmp_path / case.name)
    settings = {"horizon": 3, "season": 3}
    run = unspool.train(
        tmp_path / case.name, model="linear", out=tmp_path / "run", quiet=True, **settings
    )
    [forecast] = run.predict(as_columns(case))
    assert forecast.steps[0] == "2023-12-05 18:00:00+02:00"


def as_columns(case: Dated) -> dict[str, list]:
    return {name: [row[i] for row in case.rows] for i, name in enumerate(case.head.split(","))}


def test_a_clock_is_found_again_behind_other_numbers(tmp_path) -> None:
    path = tmp_path / "stores.csv"
    rows = [f"{i // 60},{1_700_000_000 + i % 60 * 3600},{i * 7 % 11}" for i in range(120)]
    path.write_text("\n".join(["store,ts,value", *rows]))
    plan = open_plan(path, DataConfig(), "forecast")
    again = DataConfig(columns=usual_columns(plan), date_format="unix")  # as a run keeps them
    assert "recordings by 'store', whose times" in (summary := open_plan(path, again).summary)
    assert "time in 'ts' as seconds since 1970" in summary


def test_the_clock_of_a_zone_is_that_of_the_last_row(tmp_path) -> None:
    """Offsets that change in summer are the same zone: steps stay even, forecasts go on."""
    march = datetime(2024, 3, 30, 23, tzinfo=UTC)
    dates = [(march + timedelta(hours=i)).astimezone(ZoneInfo("Europe/Berlin")) for i in range(6)]
    assert {str(date)[-6:] for date in dates} == {"+01:00", "+02:00"}
    rows = [f"{date.isoformat(' ')},{i}" for i, date in enumerate(dates)]
    for settings in ({}, {"sort": True}):
        ordered = rows[::-1] if settings else rows
        (tmp_path / "a.csv").write_text("\n".join(["time,value", *ordered]) + "\n")
        plan = open_plan(tmp_path / "a.csv", DataConfig(**settings), "forecast")
        [series] = [row.values[0] for row in plan.rows()]
        assert series.zone == "+02:00 Europe/Berlin"
        assert set(np.diff(series.times)) == {3600}
        assert series.steps() == [date.isoformat(" ") for date in dates]


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "Australia/Sydney"])
@pytest.mark.parametrize("step", [timedelta(hours=1), timedelta(days=1)], ids=["hours", "days"])
def test_dates_ahead_follow_the_rules_of_their_zone(name, step) -> None:
    """Of hours the instants are even, of days the clock; the oracle is `zoneinfo`."""
    zone = ZoneInfo(name)
    start = datetime(2023, 12, 1, tzinfo=zone)

    def dates(first: int, end: int) -> list[datetime]:
        if step < timedelta(days=1):
            return [(start.astimezone(UTC) + i * step).astimezone(zone) for i in range(first, end)]
        return [start + i * step for i in range(first, end)]

    past, later = dates(0, 6000), dates(6000, 16000)
    if step >= timedelta(days=1):
        past, later = past[:200], dates(200, 700)
    instants = np.array([date.timestamp() for date in past])
    offsets = np.array([date.utcoffset().total_seconds() for date in past], dtype=np.int32)
    clock = clock_of(instants, offsets)
    assert clock.zone.endswith(name)
    series = Recording(np.zeros((len(past), 1), np.float32), (), clock.times, True, zone=clock.zone)
    assert series.steps() == [date.isoformat(" ") for date in past]
    ahead = clock.times[-1] + step.total_seconds() * np.arange(1, len(later) + 1)
    assert series.time_names(ahead) == [date.isoformat(" ") for date in later]


def test_offsets_of_no_single_zone_keep_the_last_one() -> None:
    hours = np.arange(48) * 3600.0 + 1_711_756_800
    odd = clock_of(hours, np.where(np.arange(48) < 5, 3600, 3 * 3600))
    assert odd.zone == "+03:00"
    days = np.arange(60) * 86_400.0 + datetime(2024, 3, 1, 12, tzinfo=UTC).timestamp()
    east = np.where(days < datetime(2024, 3, 31, tzinfo=UTC).timestamp(), 7200, 10_800)
    assert clock_of(days, east).zone == "+03:00"  # Athens and Beirut change on the same day
    assert clock_of(days, np.full(60, 7200)).zone == "+02:00"


def test_a_clock_needs_no_header(tmp_path) -> None:
    path = tmp_path / "a.csv"
    for scale in (1, 1000):
        path.write_text("".join(f"{(1_700_000_000 + 60 * i) * scale},{i % 7}\n" for i in range(40)))
        plan = open_plan(path, DataConfig())
        assert plan.task == "forecast"
        assert "time in '1' as " in plan.summary
        [series] = [row.values[0] for row in plan.rows()]
        assert series.channels == ("2",)
        assert series.times[1] == 1_700_000_060
    path.write_text("".join(f"{i % 9},{i % 7}\n" for i in range(40)))
    with pytest.raises(DataError, match="no column holds texts"):
        open_plan(path, DataConfig())


def test_frames_whose_columns_are_called_by_dates(tmp_path) -> None:
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2024-01-01", periods=30)
    frame = pandas.DataFrame(
        [[(i + k) % 7 for k in range(30)] for i in range(5)], columns=days, index=list("abcde")
    )
    run = unspool.train(frame, model="linear", horizon=3, out=tmp_path / "run", quiet=True)
    forecasts = list(run.predict(frame))
    assert [forecast.name for forecast in forecasts] == list("abcde")
    assert forecasts[0].steps[0] == "2024-01-31 00:00:00"
    levels = pandas.MultiIndex.from_tuples([("open", "A"), ("open", "B"), ("close", "")])
    prices = pandas.DataFrame([[1.0, 2.0, i] for i in range(9)], columns=levels)
    assert list(source_of(prices).values) == ["open A", "open B", "close"]
    texts = pandas.DataFrame({"text": ["a b", "b c"], "label": ["x", "y"]}, index=["n1", "n2"])
    assert list(source_of(texts).values) == ["text", "label"], "names of rows are no column of it"
