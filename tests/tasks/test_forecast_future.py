"""Test files of competitions: the future of each series, whose past is in another file."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

import unspool
from unspool.errors import ConfigError, DataError

SALES = {
    f"s{k}": [10 + 5 * np.sin(2 * np.pi * i / 7 + k) + i % 5 for i in range(107)] for k in range(4)
}
SMALL = {"horizon": 7, "model": "linear", "quiet": True, "baseline": False}


def write(path: Path, first: int, end: int, names: list[str] | None = None) -> Path:
    rows = [
        f"{date(2024, 1, 1) + timedelta(i)},{name},{SALES[name][i]:.6f}"
        for i in range(first, end)
        for name in names or SALES
    ]
    path.write_text("\n".join(["date,store,sales", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> unspool.Run:
    folder = tmp_path_factory.mktemp("sales")
    return unspool.train(write(folder / "sales.csv", 0, 100), out=folder / "run", **SMALL)


@pytest.mark.parametrize("end", [107, 105])
def test_a_future_is_judged_by_the_forecasts_of_its_past(run, end, tmp_path) -> None:
    past, future = (write(tmp_path / f"{i}.csv", i, e) for i, e in ((0, 100), (100, end)))
    with pytest.raises(DataError, match=r"future without its past.*history="):
        run.evaluate(future)
    report = run.evaluate(future, history=past)
    assert report.notes == (f"the past of each series is that of {past}",)
    errors = []
    for forecast in run.predict(unspool_frame(past)):
        truth = SALES[forecast.name]
        scale = np.std(np.float32(truth[:100]))
        errors += list(((forecast.center[: end - 100, 0] - truth[100:end]) / scale) ** 2)
    assert len(errors) == 4 * (end - 100)
    assert report.to_json()["mse"] == pytest.approx(np.mean(errors), rel=1e-3)


def unspool_frame(path: Path) -> dict[str, list]:
    rows = [line.split(",") for line in path.read_text().split()[1:]]
    columns = dict(zip(("date", "store", "sales"), map(list, zip(*rows))))
    return {**columns, "sales": list(map(float, columns["sales"]))}


def test_the_test_part_of_a_run_may_be_such_a_future(run, tmp_path) -> None:
    past, future = (write(tmp_path / f"{i}.csv", i, e) for i, e in ((0, 100), (100, 107)))
    again = unspool.train(past, test=future, out=tmp_path / "run", **SMALL)
    assert again.report.to_json()["mse"] == run.evaluate(future, history=past).to_json()["mse"]
    assert "test: the past of each series is that of train" in again.data["notes"]


def test_what_is_no_future(run, tmp_path) -> None:
    past = write(tmp_path / "past.csv", 0, 100, ["s0", "s1"])
    for names, first, message in (
        (["s1", "s2"], 100, r"past.csv has no past of the series; got 's2'"),
        (["s0", "s1"], 99, r"'s0' begins before its past in .*past.csv ends"),
    ):
        future = write(tmp_path / "future.csv", first, 107, names)
        with pytest.raises(DataError, match=message):
            run.evaluate(future, history=past)
    texts = unspool.train(["a b", "c d"] * 20, ["x", "y"] * 20, out=tmp_path / "t", model="linear")
    with pytest.raises(ConfigError, match="history= names the past of series that are forecast"):
        texts.evaluate(["a"], ["x"], history=past)
