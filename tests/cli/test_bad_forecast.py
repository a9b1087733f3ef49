"""Bad series to be continued, through the command line: one line that names file, line and column,
exit code 2."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from itertools import zip_longest

import pytest


def rows(count: int = 120) -> list[str]:
    first = datetime(2024, 1, 1)
    return [
        "date,load,temp",
        *(
            f"{first + timedelta(hours=t)},{math.sin(t / 4) + t / 100:.3f},{math.cos(t):.3f}"
            for t in range(count)
        ),
    ]


def changed(line: int, *cells: str | None) -> str:
    """The table with some cells of a line replaced."""
    found = rows()
    own = found[line - 1].split(",")
    both = zip_longest(own, cells)
    found[line - 1] = ",".join(old if new is None else new for old, new in both)
    return "\n".join(found) + "\n"


TABLE = "\n".join(rows()) + "\n"
DATES = [row.split(",")[0] for row in rows()[1:]]
FLAT = "date,load\n" + "".join(f"{date},5\n" for date in DATES)
EMPTY = "date,load\n" + "".join(f"{date},\n" for date in DATES)
TS = (
    "@problemName Small\n@timeStamps false\n@missing false\n@univariate true\n"
    "@equalLength true\n@seriesLength 30\n@classLabel false\n@data\n"
    + "".join(",".join(f"{i + math.sin(t):.3f}" for t in range(30)) + "\n" for i in range(4))
)


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.csv", changed(9, None, "high"), [],
         ["a.csv:9: column 'load' holds no number; got 'high'", "--series"]),
        ("a.csv", changed(9, None, "inf"), [],
         ["a.csv:9: column 'load' holds no finite number"]),
        ("a.csv", changed(9, "2024-01-01 06:00:00"), [],
         ["a.csv:9: the time in column 'date' is that of the row before", "--time none"]),
        ("a.csv", changed(9, "2024-01-01 01:00:00"), [],
         ["a.csv:9: the time in column 'date' goes backwards"]),
        ("a.csv", changed(9, "soon"), [], ["a.csv:9: column 'date' holds no time; got 'soon'"]),
        ("a.csv", TABLE, ["--horizon", "500"],
         ["a.csv: the longest series has 120 steps, and a horizon of 500 needs at least 501"]),
        ("a.csv", TABLE, ["--set", "window=200"],
         ["a.csv: a window of 200 steps and a horizon of 6", "more than the 108 steps", "window="]),
        ("a.csv", FLAT, [], ["a.csv: 'load' never changes", "got '5'", "--target"]),
        ("a.csv", EMPTY, ["--series", "load"],
         ["a.csv: no series has a value in any of load", "--series"]),
        ("a.csv", rows()[0] + "\n", [], ["a.csv"]),
        ("a.csv", TABLE, ["--group", "temp"], ["a.csv: the parts of a forecast follow", "--group"]),
        ("a.csv", TABLE, ["--target", "lod"], ["unknown column to be forecast; got 'lod'"]),
        ("a.csv", TABLE, ["--static", "region"], ["a.csv:1: there is no column 'region'"]),
        ("a.csv", TABLE, ["--static", "temp"],
         ["a.csv:3: column 'temp' changes within the recording"]),
        ("a.csv", TABLE, ["--set", "season=many"], ["data.season", "got 'many'"]),
        ("a.csv", TABLE, ["--set", "season=1000"], ["a.csv: a season of 1,000 steps", "120"]),
        ("a.ts", TS.replace("@seriesLength 30", "@seriesLength 31"), [],
         ["a.ts:9: the header says @seriesLength 31, and this row has 30"]),
    ],
)  # fmt: skip
def test_a_bad_file(file, refused, name, content, options, says) -> None:
    given = () if "--horizon" in options else ("--horizon", 6)
    refused("train", file(content, name), "--task", "forecast", *given, *options, says=says)


def test_a_season_that_nothing_says(file, refused) -> None:
    path = file("t,load\n" + "".join(f"{t},{math.sin(t):.3f}\n" for t in range(60)))
    says = ["data.csv: how many steps ahead is not known", "--horizon", "season=N"]
    refused("train", path, "--task", "forecast", says=says)


def test_a_channel_is_missing_in_one_file(here, refused) -> None:
    (here / "all").mkdir()
    for i in range(3):
        own = rows(40) if i != 2 else [",".join(row.split(",")[:2]) for row in rows(40)]
        (here / "all" / f"r{i}.csv").write_text("\n".join(own) + "\n")
    says = ["r2.csv:1: has no column 'temp'", "r0.csv has date, load, temp"]
    refused("train", here / "all", "--task", "forecast", "--horizon", 3, says=says)


def test_an_empty_series_among_others_is_counted(here, unspool) -> None:
    (here / "all").mkdir()
    for i in range(3):
        own = rows(60) if i != 1 else rows(60)[:1]
        (here / "all" / f"r{i}.csv").write_text("\n".join(own) + "\n")
    settings = ("--set", "epochs=1", "--set", "threads=1", "--set", "baseline=false")
    ended = unspool("train", here / "all", "--task", "forecast", "--horizon", 3, *settings)
    assert ended.code == 0, ended.err
    assert "1 series of fewer than 4 steps left out, the first at" in ended.err
    assert "r1.csv:1" in ended.err


def test_gaps_are_said(file, unspool) -> None:
    """An empty cell, NaN or NA is no error: it is a gap, marked and counted."""
    settings = ("--set", "epochs=1", "--set", "threads=1", "--set", "baseline=false")
    ended = unspool(
        "train", file(changed(9, None, "NaN")), "--task", "forecast", "--horizon", 6, *settings
    )
    assert ended.code == 0, ended.err
    assert "1 gaps in train are marked, not filled" in ended.err


def test_irregular_steps_are_no_channel(file, refused) -> None:
    says = ["data.irregular is not for forecasts", "Leave it out"]
    refused("train", file(TABLE), "--task", "forecast", "--set", "irregular=channel", says=says)


@pytest.mark.parametrize("setting", ["scaling=series", "stride=3"])
def test_settings_that_forecasts_do_not_read(file, refused, setting) -> None:
    says = [f"data.{setting.split('=')[0]} has no effect on forecast", "Leave it out"]
    refused("train", file(TABLE), "--task", "forecast", "--set", setting, says=says)


def test_options_of_forecasts_are_not_for_others(classifier, refused) -> None:
    refused("predict", classifier, "a film", "--samples", 3, says=["--samples is for forecasts"])
    says = ["--coverage is for forecasts", "got 'a classify model'"]
    refused("predict", classifier, "a film", "--coverage", 0.8, says=says)
