"""Forecasts from files: how tables are read and split, what is reported, and what is refused."""

from datetime import datetime, timedelta

import numpy as np
import pytest
import torch

import unspool
from unspool.config import DataConfig
from unspool.data.split import HoldOut
from unspool.errors import ConfigError, DataError
from unspool.insight.plots import forecast_figure
from unspool.nn.models.forecaster import Window
from unspool.tasks import TASKS
from unspool.tasks.forecast.histories import HeldOut, cut
from unspool.tasks.forecast.naive import seasonal_naive
from unspool.tasks.forecast.task import ForecastOptions
from unspool.tasks.planner import open_plan
from unspool.training.progress import read_log

SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "batch": 64, "epochs": 2, "patience": 0}


def hours(count: int) -> list[str]:
    first = datetime(2024, 1, 1)
    return [str(first + timedelta(hours=t)) for t in range(count)]


def wave(count: int, *, seed: int = 0, level: float = 10.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return level + np.sin(2 * np.pi * np.arange(count) / 24) + rng.normal(0, 0.05, count)


@pytest.fixture
def loads(tmp_path):
    """One series of two channels with dates, hourly."""
    path = tmp_path / "loads.csv"
    rows = zip(hours(400), wave(400), wave(400, seed=1, level=-3))
    path.write_text("date,load,temp\n" + "".join(f"{t},{a:.4f},{b:.4f}\n" for t, a, b in rows))
    return path


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """Three series in a long table, of different lengths, with what is known ahead."""
    path = tmp_path_factory.mktemp("shops") / "shops.csv"
    lines = ["shop,time,sales,holiday\n"]
    for shop, count in (("a", 150), ("b", 90), ("c", 120)):
        sales = wave(count, seed=count)
        for t in range(count):
            holiday = int(t % 7 == 0)
            lines.append(f"{shop},{t},{sales[t] + 5 * holiday:.4f},{holiday}\n")
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def run(shops, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    settings = {"id": "shop", "horizon": 6, "season": 24, "window": 24, "known": "holiday"}
    return unspool.train(shops, task="forecast", out=out, **settings, **SMALL)


def test_a_table_with_dates_and_no_labels_is_forecast(loads, tmp_path) -> None:
    plan = open_plan(str(loads), DataConfig(), None)
    assert plan.task == "forecast"
    assert "time in 'date', channels load, temp -> forecast" in plan.summary
    notes: list[str] = []
    run = unspool.train(loads, out=tmp_path / "run", note=notes.append, **SMALL)
    said = "\n".join(notes)
    assert "season: 24 steps, by the dates" in said
    assert "horizon: 24 steps, a season" in said
    assert "time of the day" in said
    assert run.task.history.targets == ["load", "temp"]
    assert run.report.horizon == 24


def test_parts_follow_each_other_and_nothing_leaks() -> None:
    lengths = np.array([100, 50, 12])
    cuts, short = cut(lengths, 5, HeldOut(HoldOut(valid=0.1, test=0.2)), where="x")
    assert cuts.train.tolist() == [70, 35, 12]
    assert cuts.valid.tolist() == [80, 40, 12]
    assert short == 1
    cuts, _ = cut(lengths[:2], 5, HeldOut(HoldOut(), valid_steps=7), where="x")
    assert cuts.train.tolist() == [93, 43]


def test_no_window_of_training_reaches_into_what_is_held_out(run, shops) -> None:
    task, parts = run.task, run.parts
    train, valid = parts["train"]["history"], parts["valid"]["history"]
    assert np.array_equal(train.end, valid.first)
    batches = task.batches(parts["train"], training=True)
    for step in range(batches.steps(0)):
        batch = batches.batch(0, step)
        assert (batch.origins + task.history.horizon <= train.end[batch.rows]).all()


def test_what_is_fitted_knows_the_training_steps_alone(run, shops) -> None:
    field, train = run.task.history, run.parts["train"]["history"]
    seen = np.concatenate([train.past(row, int(train.end[row])) for row in range(len(train))])
    sales = field.channels.index("sales")
    assert field.mean[sales] == pytest.approx(seen.mean(), rel=1e-5)
    for row in range(len(train)):
        own = train.past(row, int(train.end[row])).astype(float)
        assert train.scale[row] == pytest.approx(own.std(), rel=1e-5)


def test_figures_by_hand(run) -> None:
    """MSE, MASE and coverage of the model and of a naive forecast, window by window."""
    task, part = run.task, run.parts["valid"]
    report = task.evaluate(run.model, part)
    stretches, H, season = part["history"], task.history.horizon, task.history.season
    errors, naive, scaled, inside, about = [], [], [], [], []
    for row in range(len(stretches)):
        for origin in range(int(stretches.first[row]), int(stretches.end[row]) - H + 1):
            batch = stretches.windows(
                np.array([row]), np.array([origin]), length=task.history.length, horizon=H
            )
            with torch.inference_mode():
                forecast = run.model(Window(*batch[:5]))
                given = task.intervals(run.model, batch, forecast, ForecastOptions())
            past = stretches.past(row, origin).astype(float)
            y = stretches.values[int(stretches.series[row])][origin : origin + H, 0].astype(float)
            sd = stretches.scale[row]
            errors.append(np.mean(((y - given.center[0]) / sd) ** 2))
            ends = np.array([len(past)])
            simple = seasonal_naive(past, np.zeros_like(ends), ends, H, season)[0]
            naive.append(np.mean(((y - simple) / sd) ** 2))
            first = stretches.past(row, int(stretches.first[row])).astype(float)
            scale = np.mean(np.abs(first[season:] - first[:-season]))
            scaled.append(np.mean(np.abs(y - given.center[0])) / scale)
            for slack, own in ((-1e-6, inside), (1e-6, about)):
                own.append(np.mean((given.low[0] - slack <= y) & (y <= given.high[0] + slack)))
    assert report.metrics["mse"] == pytest.approx(np.mean(errors), rel=1e-4)
    assert report.metrics["mase"] == pytest.approx(np.mean(scaled), rel=1e-4)
    # A bound may be met to the bit, so that rounding decides on which side a value lies.
    assert np.mean(inside) <= report.metrics["coverage"] <= np.mean(about)
    assert report.naive["seasonal naive"]["mse"] == pytest.approx(np.mean(naive), rel=1e-5)
    assert report.windows == len(errors)
    low, high = report.interval
    assert low < report.metrics["mse"] < high
    assert "seasonal naive" in repr(report)
    assert "OWA" in repr(report)


def test_intervals_hold_on_the_validation_part(run) -> None:
    report = run.task.evaluate(run.model, run.parts["valid"], ForecastOptions(coverage=0.8))
    assert report.metrics["coverage"] >= 0.78
    wide = run.task.evaluate(run.model, run.parts["valid"]).metrics["width"]
    assert wide > report.metrics["width"]


def test_the_linear_baseline_stands_beside(run) -> None:
    assert set(run.comparison.baselines) == {"linear", "linear, center=none"}
    assert (run.path / "forecasts.png").exists()


@pytest.mark.parametrize("setting", ["valid_steps", "test_steps"])
def test_more_steps_than_can_be_counted(loads, setting, tmp_path) -> None:
    with pytest.raises(ConfigError, match=f"data.{setting}: input should be less than"):
        unspool.train(loads, task="forecast", horizon=3, out=tmp_path / "r", **{setting: 10**20})


def test_the_linear_model_is_a_run_of_its_own(loads, tmp_path) -> None:
    settings = {"horizon": 3, "window": 6, "threads": 1}
    out = tmp_path / "run"
    unspool.train(loads, task="forecast", model="linear", out=out, **settings)
    assert (out / "model.safetensors").exists()


def test_the_linear_model_is_a_run_too(shops, tmp_path) -> None:
    settings = {"id": "shop", "horizon": 6, "season": 24, "window": 24, "threads": 1}
    run = unspool.train(shops, task="forecast", model="linear", out=tmp_path / "run", **settings)
    assert run.report.metrics["mse"] < run.report.naive["naive"]["mse"]
    array = np.stack([wave(60), np.zeros(60)], 1).astype(np.float32)
    (one,), (other,) = run.predict(array), unspool.load(run.path).predict(array)
    assert np.array_equal(one.center, other.center)


def test_the_linear_model_reads_what_is_known_and_static(tmp_path) -> None:
    """Noise around a level, more on holidays that come by chance, in one of two kinds of shops."""
    rng, rows = np.random.default_rng(9), ["shop,kind,time,sales,holiday"]
    for shop in range(6):
        holiday = rng.integers(0, 2, 150)
        sales = rng.normal(10, 1, 150) + 6 * holiday
        kind = "ab"[shop % 2]
        rows += [f"{shop},{kind},{t},{x:.3f},{h}" for t, (x, h) in enumerate(zip(sales, holiday))]
    path = tmp_path / "holidays.csv"
    path.write_text("\n".join(rows) + "\n")
    settings = {"id": "shop", "horizon": 3, "season": 7, "window": 21, "threads": 1}
    found = {}
    for name, more in (
        ("all", {"known": "holiday", "static": "kind"}),
        ("past", {"target": "sales"}),
    ):
        run = unspool.train(
            path, task="forecast", model="linear", out=tmp_path / name, **settings, **more
        )
        found[name] = run.report.metrics["mse"]
    assert found["all"] < 0.3 * found["past"]


def test_a_file_is_continued_as_arrays_are(run, shops, tmp_path) -> None:
    rows = [line.split(",") for line in shops.read_text().splitlines()]
    ahead = [["a", str(150 + t), "", str(int((150 + t) % 7 == 0))] for t in range(6)]
    path = tmp_path / "new.csv"
    series = [row for row in rows if row[0] == "a"]
    path.write_text("\n".join(",".join(row) for row in [rows[0], *series, *ahead]) + "\n")
    (found,) = from_file(run, path)
    array = np.array([[float(row[2] or "nan"), float(row[3])] for row in [*series, *ahead]])
    (other,) = run.predict(array.astype(np.float32))
    assert np.allclose(found.center, other.center)
    assert found.steps == [str(t) for t in range(150, 156)]
    assert found.name == "a"
    assert (found.low <= found.center).all()
    assert (found.center <= found.high).all()
    assert found.header() == ["series", "step", "forecast", "low", "high"]
    assert len(found.rows(1)) == 6


def from_file(run, path):
    from unspool.tasks.planner import open_inputs

    plan = open_inputs(str(path), run.config.data, run.task.name)
    return list(run.predict_lazily([row.values[0] for row in plan.rows()]))


def test_saved_and_loaded_gives_the_same(run) -> None:
    array = np.stack([wave(60), (np.arange(60) % 7 == 0)], 1).astype(np.float32)
    array[-6:, 0] = np.nan
    (one,), (other,) = run.predict(array), unspool.load(run.path).predict(array)
    assert np.array_equal(one.center, other.center)
    assert np.array_equal(one.high, other.high)


@pytest.mark.parametrize("output", ["quantiles", "gaussian", "student"])
@pytest.mark.parametrize("strategy", ["direct", "recursive"])
def test_every_output_trains(shops, tmp_path, output, strategy) -> None:
    settings = {"id": "shop", "horizon": 4, "window": 12, "target": "sales", "max_steps": 3}
    if strategy == "recursive":
        settings["known"] = "holiday"
    run = unspool.train(
        shops, task="forecast", out=tmp_path / "run", output=output, strategy=strategy,
        baseline=False, **settings, **SMALL,
    )  # fmt: skip
    assert np.isfinite(run.report.metrics["mae"])
    assert run.report.metrics["width"] > 0


def test_a_model_learns_a_wave_better_than_the_last_value(loads, tmp_path) -> None:
    run = unspool.train(
        loads, out=tmp_path / "run", horizon=12, window=48, baseline=False,
        **{**SMALL, "epochs": 12, "lr": 5e-3},
    )  # fmt: skip
    assert run.report.metrics["mse"] < 0.3 * run.report.naive["naive"]["mse"]


def test_gaps_are_marked_and_counted(tmp_path) -> None:
    path = tmp_path / "gaps.csv"
    values = [f"{x:.3f}" if t % 9 else "" for t, x in enumerate(wave(200))]
    path.write_text("date,load\n" + "".join(f"{t},{x}\n" for t, x in zip(hours(200), values)))
    notes: list[str] = []
    run = unspool.train(path, out=tmp_path / "run", note=notes.append, horizon=5, **SMALL)
    assert any("gaps in train are marked" in note for note in notes)
    assert np.isfinite(run.report.metrics["mse"])
    batch = run.parts["train"]["history"].windows(
        np.array([0]), np.array([50]), length=run.task.history.length, horizon=5
    )
    whole = Window(*batch[:5])
    other = whole._replace(y=torch.where(whole.observed, whole.y, 777.0))
    with torch.inference_mode():
        assert torch.equal(run.model(whole).outputs, run.model(other).outputs)


def table(path, rows, header="date,load"):
    path.write_text(header + "\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"horizon": 500},
            r"has 400 steps, and a horizon of 500 needs at least 501",
        ),
        ({"horizon": 200}, r"nothing is left to train on once its end is held out"),
        (
            {"window": 380, "horizon": 24},
            r"a window of 380 steps and a horizon of 24 are more",
        ),
        ({"target": "lod"}, r"unknown column to be forecast; got 'lod'. Did you mean 'load'"),
        ({"known": "x"}, r"unknown column known ahead; got 'x'"),
        ({"target": "load", "known": "load"}, r"is to be forecast and known ahead"),
        ({"folds": 3}, r"follow each other in time"),
        ({"strategy": "recursive", "model": "bilstm"}, r"reads its own values step by step"),
    ],
)
def test_what_cannot_be_forecast(loads, tmp_path, settings, message) -> None:
    model = settings.pop("model", None)
    with pytest.raises((DataError, ConfigError), match=message):
        unspool.train(
            loads, task="forecast", out=tmp_path / "run", model=model, **settings, **SMALL
        )


def test_a_season_that_is_not_known(tmp_path) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("t,load\n" + "".join(f"{t},{x:.3f}\n" for t, x in enumerate(wave(100))))
    with pytest.raises(DataError, match=r"how many steps ahead is not known. Give horizon="):
        unspool.train(path, task="forecast", out=tmp_path / "run", **SMALL)
    notes: list[str] = []
    unspool.train(
        path, task="forecast", out=tmp_path / "run", horizon=5, note=notes.append, **SMALL
    )
    assert any("season: none is known" in note for note in notes)


def test_a_constant_target(tmp_path) -> None:
    path = table(tmp_path / "flat.csv", [f"{t},5" for t in hours(100)])
    with pytest.raises(DataError, match="'load' never changes in what is trained on"):
        unspool.train(path, task="forecast", out=tmp_path / "run", horizon=3, **SMALL)


def test_infinite_targets_are_refused_with_their_line(tmp_path) -> None:
    rows = [f"{t},{x:.3f}" for t, x in zip(hours(100), wave(100))]
    rows[40] = rows[40].split(",")[0] + ",inf"
    path = table(tmp_path / "inf.csv", rows)
    with pytest.raises(DataError, match=r"inf.csv:42.*load"):
        unspool.train(path, task="forecast", out=tmp_path / "run", horizon=3, **SMALL)


def test_times_that_go_backwards(tmp_path) -> None:
    rows = [f"{t},{x:.3f}" for t, x in zip(hours(100), wave(100))]
    rows[30], rows[31] = rows[31], rows[30]
    path = table(tmp_path / "back.csv", rows)
    with pytest.raises(DataError, match=r"back.csv:3[23]"):
        unspool.train(path, task="forecast", out=tmp_path / "run", horizon=3, **SMALL)


def test_files_of_other_series_than_were_learnt(loads, tmp_path) -> None:
    """Such a file is refused where it is judged, and where it is for validation."""
    rows = [line.split(",") for line in loads.read_text().splitlines()]
    fewer, numbered = tmp_path / "fewer.csv", tmp_path / "numbered.csv"
    fewer.write_text("".join(f"{date},{load}\n" for date, load, _ in rows))
    numbered.write_text(
        "time,load,temp\n" + "".join(f"{t},{a},{b}\n" for t, (_, a, b) in enumerate(rows[1:]))
    )
    settings = {"horizon": 6, **SMALL}
    run = unspool.train(loads, task="forecast", out=tmp_path / "run", **settings)
    learnt = (
        r"fewer.csv: the model was trained on 2 channels, and the file has 1. Name those of load"
    )
    with pytest.raises(DataError, match=learnt):
        run.evaluate(fewer)
    with pytest.raises(DataError, match=learnt):
        unspool.train(loads, valid=fewer, task="forecast", out=tmp_path / "two", **settings)
    with pytest.raises(DataError, match=r"numbered.csv: the model reads the date of each step"):
        run.evaluate(numbered)
    with pytest.raises(DataError, match=r"the model reads the date of each step.*this series"):
        run.predict({"time": [1, 2, 3], "load": [1.0, 2.0, 3.0], "temp": [1.0, 2.0, 3.0]})


def test_series_that_cannot_be_continued(run) -> None:
    with pytest.raises(DataError, match="2 channels"):
        run.predict(np.zeros((30, 3), np.float32))
    with pytest.raises(DataError, match="no value to go on from"):
        run.predict(np.full((30, 2), np.nan, np.float32))
    with pytest.raises(DataError, match="holiday must be known for the next 6 steps"):
        run.predict(np.ones((30, 2), np.float32))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"coverage": 0.7}, "Choose 0.5, 0.8, 0.9, 0.95"), ({"paths": 3}, "between 20 and 10,000")],
)
def test_wrong_options(options, message) -> None:
    with pytest.raises(ConfigError, match=message):
        ForecastOptions(**options)


def test_damaged_files_of_a_run(run, tmp_path) -> None:
    import json
    import shutil

    from unspool.errors import RunError

    for name, content in (("history.json", "{}"), ("intervals.json", '{"0.95": [1]}')):
        copy = shutil.copytree(run.path, tmp_path / name)
        (copy / "hashes.json").unlink()
        (copy / name).write_text(content)
        with pytest.raises(RunError, match=name):
            unspool.load(copy)
    assert json.loads((run.path / "evaluation.json").read_text())["forecasts"]


def test_it_is_a_task() -> None:
    assert "forecast" in TASKS


@pytest.fixture(scope="module")
def regions(tmp_path_factory):
    """Series whose next step is known from what they have as a whole alone: region and size."""
    path = tmp_path_factory.mktemp("static") / "regions.csv"
    rng = np.random.default_rng(3)
    lines = ["shop,time,sales,region,size"]
    for shop in range(40):
        region, size = ("north", "south")[shop % 2], 1 + shop % 3
        slope = {"north": 1.0, "south": -1.0}[region] * size
        for t in range(30):
            value = slope * (t >= 15) * (t - 15) + rng.normal(0, 0.3)
            lines.append(f"s{shop},{t},{value:.4f},{region},{size}")
    path.write_text("\n".join(lines) + "\n")
    return path


STATIC = {"id": "shop", "horizon": 3, "season": 1, "window": 8, "baseline": False}


def test_static_columns_are_read(regions, tmp_path) -> None:
    notes: list[str] = []
    run = unspool.train(
        regions, task="forecast", static="region,size", out=tmp_path / "run", note=notes.append,
        **STATIC, **SMALL,
    )  # fmt: skip
    said = "\n".join(notes)
    assert "of each series region, size -> forecast" in said
    assert "static region (2 categories); static size (a number)" in said
    field = run.task.history
    assert field.channels == ["sales"]
    assert field.known_size == 3
    batch = run.parts["train"]["history"].windows(
        np.array([0, 1]), np.array([9, 9]), length=8, horizon=3
    )
    assert batch.known[0, :, :2].tolist() == [[1, 0]] * 11
    assert batch.known[1, :, :2].tolist() == [[0, 1]] * 11
    sizes = np.array([1 + shop % 3 for shop in range(40)])
    assert batch.known[1, 0, 2] == pytest.approx((2 - sizes.mean()) / sizes.std(), abs=1e-5)
    loaded = unspool.load(run.path)
    assert [vars(own) for own in loaded.task.history.static] == [vars(x) for x in field.static]
    (one,) = from_file(loaded, some_rows(regions, tmp_path, "s0,"))
    swapped = tmp_path / "swapped.csv"
    swapped.write_text(some_rows(regions, tmp_path, "s0,").read_text().replace("north", "south"))
    (other,) = from_file(loaded, swapped)
    assert not np.allclose(one.center, other.center)


def some_rows(path, folder, start):
    found = folder / "some.csv"
    lines = path.read_text().splitlines()
    found.write_text("\n".join([lines[0], *(x for x in lines if x.startswith(start))]) + "\n")
    return found


def test_a_model_learns_from_static_columns(regions, tmp_path) -> None:
    """At the step where the slope begins, only region and size say where it goes."""
    errors = {}
    for static in ("region,size", None):
        run = unspool.train(
            regions, task="forecast", static=static, out=tmp_path / f"run {static}", valid_share=0,
            series="sales", center="none", **STATIC, **{**SMALL, "epochs": 25, "lr": 1e-2},
        )  # fmt: skip
        errors[static] = run.task.validate(run.model, run.parts["train"])["mse"]
    assert errors["region,size"] < 0.8 * errors[None]


def test_static_columns_of_rows_that_are_series(tmp_path) -> None:
    path = tmp_path / "wide.csv"
    rows = [
        f"{'ab'[i % 2]},{i}," + ",".join(f"{x:.3f}" for x in wave(40, seed=i)) for i in range(8)
    ]
    path.write_text("kind,size," + ",".join(f"t{i}" for i in range(40)) + "\n" + "\n".join(rows))
    run = unspool.train(
        path, task="forecast", static="kind,size", horizon=3, out=tmp_path / "run",
        baseline=False, **SMALL,
    )  # fmt: skip
    assert run.task.history.known_size == 3
    assert len(from_file(run, path)) == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("s0,5,", "s0,5,{},east,1"), r"column 'region' changes within the recording 's0'"),
        (("region", "zone"), r"there is no column 'region'"),
    ],
)
def test_static_columns_that_are_none(regions, tmp_path, change, message) -> None:
    lines = regions.read_text().splitlines()
    old, new = change
    bad = [
        new.format(line.split(",")[2]) if line.startswith(old) and "{}" in new else line
        for line in lines
    ]
    if "{}" not in new:
        bad[0] = bad[0].replace(old, new)
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(bad) + "\n")
    with pytest.raises(DataError, match=message):
        unspool.train(
            path, task="forecast", static="region", out=tmp_path / "run", **STATIC, **SMALL
        )


def test_a_category_that_was_not_met(regions, tmp_path) -> None:
    run = unspool.train(
        regions, task="forecast", static="region", out=tmp_path / "run", **STATIC, **SMALL
    )
    other = tmp_path / "other.csv"
    other.write_text(some_rows(regions, tmp_path, "s0,").read_text().replace("north", "east"))
    with pytest.raises(DataError, match=r"'region' holds a category that was not met.*got 'east'"):
        from_file(run, other)
    other.write_text(some_rows(regions, tmp_path, "s0,").read_text().replace("north", ""))
    assert len(from_file(run, other)) == 1
    with pytest.raises(DataError, match="reads region of each series, and this one has none"):
        run.predict(np.ones((9, 2), np.float32))
    with pytest.raises(ConfigError, match="region belong to a series as a whole"):
        run.stream()


@pytest.mark.parametrize(("strategy", "name"), [("direct", "draw"), ("recursive", "path")])
def test_samples(loads, tmp_path, strategy, name) -> None:
    run = unspool.train(
        loads, out=tmp_path / "run", horizon=4, window=24, output="gaussian", strategy=strategy,
        target="load", known="temp", calendar=False, baseline=False, **{**SMALL, "epochs": 6},
    )  # fmt: skip
    array = np.stack([wave(60), np.zeros(60)], 1).astype(np.float32)
    array[-4:, 0] = np.nan
    options = ForecastOptions(samples=2000, coverage=0.8, seed=5)
    (found,) = run.predict(array, options)
    assert found.samples.shape == (2000, 4, 1)
    assert found.paths == (strategy == "recursive")
    assert found.header()[5:7] == [f"{name} 1", f"{name} 2"]
    assert len(found.rows(1)[0]) == len(found.header()) == 5 + 2000
    assert len(found.to_json()["load"][f"{name}s"]) == 2000
    # Their quantiles are those of the model, before the margins of the validation part.
    run.task.margins.by_coverage = {}
    (own,) = run.predict(array, options)
    low, high = np.quantile(own.samples, (0.1, 0.9), axis=0)
    width = own.high - own.low
    assert np.abs(low - own.low).max() < 0.15 * width.max()
    assert np.abs(high - own.high).max() < 0.15 * width.max()
    steps = np.corrcoef(own.samples[:, 2, 0], own.samples[:, 3, 0])[0, 1]
    assert strategy == "recursive" or abs(steps) < 0.08
    (again,) = run.predict(array, options)
    assert np.array_equal(again.samples, own.samples)


def test_a_point_has_no_samples(run) -> None:
    array = np.stack([wave(60), (np.arange(60) % 7 == 0)], 1).astype(np.float32)
    array[-6:, 0] = np.nan
    with pytest.raises(ConfigError, match="no distribution to sample from"):
        run.predict(array, ForecastOptions(samples=3))
    with pytest.raises(ConfigError, match="samples must lie between 0 and 10,000"):
        ForecastOptions(samples=-1)


def test_pictures_of_forecasts_have_dates(loads, tmp_path) -> None:
    run = unspool.train(loads, horizon=6, out=tmp_path / "run", **SMALL)
    for example in run.report.examples:
        assert len(example["dates"]) == len(example["past"]) + 6
        origin = int(example["name"].split()[-2])
        assert example["dates"][len(example["past"])] == hours(400)[origin - 1][:16]
    axes = forecast_figure(run.report.examples, level=0.95).axes[0]
    shown = [label.get_text() for label in axes.get_xticklabels()]
    dates, ahead = run.report.examples[0]["dates"], [round(x) for x in axes.get_xticks()]
    assert shown[1:] == [dates[-6], dates[-1]]
    assert shown[0] == dates[-6 + ahead[0] - 1]


def test_weekly_series_with_flat_stretches(tmp_path) -> None:
    """What follows a flat window lies at thousands of its scales: it must not rule the rest."""
    rng, path = np.random.default_rng(0), tmp_path / "weekly.csv"
    first, lines = datetime(2020, 1, 6), ["date,sales\n"]
    for t in range(200):
        moving = 20 * np.sin(2 * np.pi * t / 52) + rng.normal(0, 5)
        value = 100 + (1e-3 * rng.normal() if t % 60 < 30 else moving)
        lines.append(f"{first + timedelta(weeks=t)},{value:.4f}\n")
    path.write_text("".join(lines))
    run = unspool.train(path, horizon=4, window=12, out=tmp_path / "run", **{**SMALL, "batch": 8})
    assert run.task.history.season == 52
    log = read_log(run.path / "metrics.jsonl")
    assert max(row["loss"] for row in log if "loss" in row) < 100  # ten millions if unweighted
    assert run.comparison.baselines["linear"].metrics["mse"] < 10


def test_what_normalisation_does_is_shown(tmp_path) -> None:
    """Series of very different sizes, which a model without it cannot learn together."""
    path = tmp_path / "sizes.csv"
    lines = ["id,time,load"]
    for i in range(6):
        lines += [f"{i},{t},{10**i * x:.5g}" for t, x in enumerate(wave(120, seed=i))]
    path.write_text("\n".join(lines) + "\n")
    run = unspool.train(
        path, task="forecast", horizon=6, window=24, season=24, out=tmp_path / "run", **SMALL
    )
    found = {name: own.metrics["mse"] for name, own in run.comparison.baselines.items()}
    assert found["linear"] < 0.9 * found["linear, center=none"]
    assert "linear, center=none" in "\n".join(run.comparison.lines())


def test_missing_days_are_gaps_where_steps_are_made_equal(tmp_path) -> None:
    """The same windows as of a file that has the days, without values."""
    import datetime as d

    days = [d.date(2024, 1, 1) + d.timedelta(days=i) for i in range(120)]
    rows = [(day, 50 + 10 * np.sin(i) + i % 7) for i, day in enumerate(days)]
    gone = {7, 8, 40, 77, 111}
    sparse, empty = tmp_path / "sparse.csv", tmp_path / "empty.csv"
    sparse.write_text(
        "date,load\n" + "".join(f"{t},{x:.4f}\n" for i, (t, x) in enumerate(rows) if i not in gone)
    )
    empty.write_text(
        "date,load\n"
        + "".join(f"{t},{'' if i in gone else f'{x:.4f}'}\n" for i, (t, x) in enumerate(rows))
    )
    settings = {**SMALL, "task": "forecast", "horizon": 5, "season": 7}
    one = unspool.train(sparse, out=tmp_path / "one", irregular="resample", **settings)
    other = unspool.train(empty, out=tmp_path / "other", **settings)
    assert one.report.metrics["mse"] == other.report.metrics["mse"]
    (found,), (wanted,) = from_file(one, sparse), from_file(other, empty)
    assert np.array_equal(found.center, wanted.center)
    assert found.steps == wanted.steps


def test_the_horizon_of_series_that_are_shorter_than_three_seasons(tmp_path) -> None:
    import datetime as d

    weeks = [d.date(2022, 1, 3) + d.timedelta(days=7 * i) for i in range(60)]
    rows = [f"{week},{i % 5 + i / 9:.3f}" for i, week in enumerate(weeks)]
    path = table(tmp_path / "weeks.csv", rows, "date,sales")
    run = unspool.train(path, task="forecast", out=tmp_path / "run", **SMALL)
    assert (run.task.history.season, run.task.history.horizon) == (52, 6)


def test_a_horizon_implies_a_forecast(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{i * 37 % 11},{i % 7}\n" for i in range(40)))
    assert open_plan(path, DataConfig(horizon=4)).task == "forecast"


def test_texts_without_dates_imply_no_forecast(tmp_path) -> None:
    path = tmp_path / "reviews.csv"
    rows = [f"{'good' if i % 2 else 'bad'} film number {i},{i % 2}" for i in range(40)]
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    with pytest.raises(
        ConfigError, match=r"data\.horizon is a setting of forecast; this is classify"
    ):
        unspool.train(path, horizon=9, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
