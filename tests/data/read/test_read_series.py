"""Series of every layout and format: the same numbers, whatever file they come from."""

from __future__ import annotations

import json

import numpy as np
import pytest

from unspool.config import DataConfig
from unspool.data.read.recording import (
    Parser,
    Recording,
    as_recording,
    parse_time,
    recording_from_json,
)
from unspool.data.values import is_date
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

RNG = np.random.default_rng(3)
LENGTHS = (5, 2, 7, 4, 6, 3)
SERIES = [RNG.normal(size=(n, 2)).round(3).astype(np.float32) for n in LENGTHS]
LABELS = ["walk", "run"] * 3
NAMES = [f"r{i}" for i in range(len(SERIES))]


def long_rows(*, interleaved: bool = False) -> list[str]:
    rows = [
        (t, i, f"{NAMES[i]},{t},{x[t, 0]},{x[t, 1]},{LABELS[i]},s{i % 2}")
        for i, x in enumerate(SERIES)
        for t in range(len(x))
    ]
    rows = sorted(rows) if interleaved else rows
    return ["id,time,ax,ay,label,subject", *(row for _, _, row in rows)]


def write_long(folder) -> str:
    (folder / "long.csv").write_text("\n".join(long_rows()) + "\n")
    return "long.csv"


def write_interleaved(folder) -> str:
    (folder / "mixed.csv").write_text("\n".join(long_rows(interleaved=True)) + "\n")
    return "mixed.csv"


def write_tabs(folder) -> str:
    rows = [row.replace(",", "\t") for row in long_rows()]
    (folder / "long.tsv").write_text("\n".join(rows) + "\n")
    return "long.tsv"


def write_dates(folder) -> str:
    rows = long_rows()
    cells = [row.split(",") for row in rows[1:]]
    dated = [[c[0], f"2026-01-01 00:00:{int(c[1]):02}", *c[2:]] for c in cells]
    named = [rows[0].replace("time", "when"), *(",".join(c) for c in dated)]
    (folder / "dates.csv").write_text("\n".join(named) + "\n")
    return "dates.csv"


def write_folder(folder) -> str:
    for name, label, x in zip(NAMES, LABELS, SERIES):
        home = folder / "all" / label
        home.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{a},{b}\n" for a, b in x)
        (home / f"{name}.csv").write_text("ax,ay\n" + rows)
    return "all"


def write_bare_folder(folder) -> str:
    write_folder(folder)
    for path in (folder / "all").rglob("*.csv"):
        path.write_text(path.read_text().replace("ax,ay\n", ""))
    return "all"


def write_arrays_in_folders(folder) -> str:
    for name, label, x in zip(NAMES, LABELS, SERIES):
        (folder / "arrays" / label).mkdir(parents=True, exist_ok=True)
        np.save(folder / "arrays" / label / f"{name}.npy", x)
    return "arrays"


def write_wide(folder) -> str:
    widest = max(LENGTHS)
    names = [f"{channel}_{t}" for t in range(widest) for channel in ("ax", "ay")]
    rows = [",".join([*names, "label"])]
    for label, x in zip(LABELS, SERIES):
        cells = [str(value) for value in x.reshape(-1)]
        rows.append(",".join([*cells, *[""] * (2 * widest - len(cells)), label]))
    (folder / "wide.csv").write_text("\n".join(rows) + "\n")
    return "wide.csv"


def write_blocks(folder) -> str:
    widest = max(LENGTHS)
    names = [f"{channel}{t}" for channel in ("ax", "ay") for t in range(1, widest + 1)]
    rows = [",".join(["label", *names])]
    for label, x in zip(LABELS, SERIES):
        cells = [[str(v) for v in own] + [""] * (widest - len(x)) for own in x.T]
        rows.append(",".join([label, *cells[0], *cells[1]]))
    (folder / "blocks.csv").write_text("\n".join(rows) + "\n")
    return "blocks.csv"


def write_ts(folder) -> str:
    head = "@problemName a\n@timeStamps false\n@dimensions 2\n@equalLength false\n"
    head += "@classLabel true walk run\n@data\n"
    rows = [
        ":".join([",".join(map(str, own)) for own in x.T] + [label])
        for label, x in zip(LABELS, SERIES)
    ]
    (folder / "a.ts").write_text("# about it\n" + head + "\n".join(rows) + "\n")
    return "a.ts"


def write_stamped(folder) -> str:
    head = "@problemName a\n@timeStamps true\n@dimensions 2\n@classLabel true walk run\n@data\n"
    rows = []
    for label, x in zip(LABELS, SERIES):
        own = [",".join(f"({t},{value})" for t, value in enumerate(c)) for c in x.T]
        rows.append(":".join([*own, label]))
    (folder / "stamped.ts").write_text(head + "\n".join(rows) + "\n")
    return "stamped.ts"


def write_relational(folder) -> str:
    head = "% about it\n@relation a\n\n@attribute 'both channels' relational\n @attribute 0 real\n"
    head += "@end 'both channels'\n@ATTRIBUTE class {walk, run}\n@data\n"
    cells = ["\\n".join(",".join(map(str, own)) for own in x.T) for x in SERIES]
    rows = [f"'{cell}', {label}\n" for cell, label in zip(cells, LABELS)]
    (folder / "a.arff").write_text(head + "".join(rows))
    return "a.arff"


def write_matlab(folder) -> str:
    from scipy.io import savemat

    cells = np.empty((len(SERIES), 1), object)
    cells[:, 0] = SERIES
    names = np.array(LABELS, object)[:, None]
    savemat(folder / "a.mat", {"X": cells, "label": names})
    return "a.mat"


def write_npz(folder) -> str:
    np.savez(
        folder / "a.npz", x=np.concatenate(SERIES), lengths=np.array(LENGTHS), y=np.array(LABELS)
    )
    return "a.npz"


def write_json(folder) -> str:
    rows = [{"series": x.tolist(), "label": label} for x, label in zip(SERIES, LABELS)]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "a.jsonl"


def write_json_channels(folder) -> str:
    rows = [
        {"ax": x[:, 0].tolist(), "ay": x[:, 1].tolist(), "label": label}
        for x, label in zip(SERIES, LABELS)
    ]
    (folder / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "c.jsonl"


def write_parquet(folder) -> str:
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    rows = [row.split(",") for row in long_rows()]
    columns = {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}
    for name in ("time", "ax", "ay"):
        columns[name] = [float(value) for value in columns[name]]
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "a.parquet")
    return "a.parquet"


WRITERS = (
    write_long, write_interleaved, write_tabs, write_dates, write_folder, write_bare_folder,
    write_arrays_in_folders, write_wide, write_blocks, write_ts, write_stamped,
    write_relational, write_matlab, write_npz, write_json, write_json_channels, write_parquet,
)  # fmt: skip


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__.removeprefix("write_"))
def test_every_file_holds_the_same_series(write, tmp_path) -> None:
    plan = open_plan(tmp_path / write(tmp_path), DataConfig())
    assert plan.task == "classify"
    assert plan.settings == {"data.input": "series"}
    rows = [row.values for row in plan.rows()]
    found = sorted(rows, key=lambda row: row[0].values.tobytes())
    wanted = sorted(zip(SERIES, LABELS), key=lambda row: row[0].tobytes())
    for (series, label), (x, name) in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(series.values, x)
        assert label == name


def test_the_summary_names_what_was_found(tmp_path) -> None:
    summary = open_plan(tmp_path / write_long(tmp_path), DataConfig()).summary
    assert "recordings by 'id', time in 'time', channels ax, ay, label in 'label'" in summary
    summary = open_plan(tmp_path / write_folder(tmp_path), DataConfig()).summary
    assert "6 files, CSV, a recording a file, channels ax, ay, label in 'folder'" in summary
    summary = open_plan(tmp_path / write_wide(tmp_path), DataConfig()).summary
    assert "a series a row: 2 channels of 7 steps at most in columns ax_0 to ay_6" in summary


def test_what_names_of_files_say_are_columns(tmp_path) -> None:
    for i, x in enumerate(SERIES):
        (tmp_path / "day1").mkdir(exist_ok=True)
        np.savetxt(tmp_path / "day1" / f"walk-s{i % 2}_{i}.csv", x, delimiter=",")
    plan = open_plan(tmp_path, DataConfig(label="name_2"))
    assert {row.values[1] for row in plan.rows()} == {"s0", "s1"}
    columns = [column.name for column in plan.table.columns]
    assert columns == ["series", "name", "name_1", "name_2", "name_3"]


def test_a_label_a_step(tmp_path) -> None:
    rows = long_rows()
    cells = [row.split(",") for row in rows[1:]]
    tagged = [",".join([*c[:4], "ab"[int(c[1]) % 2], c[5]]) for c in cells]
    (tmp_path / "a.csv").write_text("\n".join([rows[0], *tagged]) + "\n")
    plan = open_plan(tmp_path / "a.csv", DataConfig())
    assert plan.task == "tag"
    for series, labels in (row.values for row in plan.rows()):
        assert labels == ["ab"[t % 2] for t in range(len(series))]


def test_the_name_of_a_file_is_no_label_a_step(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.csv").write_text("x,y\n1,2\n3,4\n")
    with pytest.raises(DataError, match="a label a step needs a row a step"):
        open_plan(tmp_path, DataConfig(label="folder"), "tag")


def test_numbers_on_a_scale_are_regressed(tmp_path) -> None:
    RNG = np.random.default_rng(1)
    rows = [f"{','.join(map(str, RNG.normal(size=5).round(3)))},{i * 0.37:.2f}" for i in range(60)]
    (tmp_path / "a.csv").write_text("v1,v2,v3,v4,v5,target\n" + "\n".join(rows) + "\n")
    plan = open_plan(tmp_path / "a.csv", DataConfig())
    assert plan.task == "regress"
    assert "number in 'target'" in plan.summary


def test_settings_override_what_is_inferred(tmp_path) -> None:
    path = tmp_path / write_long(tmp_path)
    plan = open_plan(path, DataConfig(series="ay", time="none", label="subject"))
    first, label = next(iter(plan.rows())).values
    np.testing.assert_array_equal(first.values, SERIES[0][:, 1:])
    assert first.times is None
    assert label == "s0"
    assert open_plan(path, DataConfig(text="label", label="subject")).columns.keys() == {
        "text",
        "label",
    }


def test_a_table_of_dates_without_labels_is_to_be_continued(tmp_path) -> None:
    rows = [f"2026-01-{i + 1:02},{i},{i * i},{i % 3}" for i in range(20)]
    (tmp_path / "a.csv").write_text("date,load,oil,flow\n" + "\n".join(rows) + "\n")
    assert open_plan(tmp_path / "a.csv", DataConfig()).task == "forecast"


@pytest.mark.parametrize("name", ["id", "shop", "store"])
@pytest.mark.parametrize("by_date", [False, True])
def test_tables_of_several_series_with_dates(name, by_date, tmp_path) -> None:
    """Dates come again in each series, and are no labels; nor are the names of the series."""
    called = {"id": "s{}", "shop": "shop {}", "store": "{}"}[name]
    rows = [
        (f"2026-01-{day + 1:02}", called.format(number), f"{number * 100 + day / 4}")
        for number in range(4)
        for day in range(20)
    ]
    rows = sorted(rows) if by_date else rows
    lines = [f"date,{name},sales", *(",".join(row) for row in rows)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    plan = open_plan(tmp_path / "a.csv", DataConfig())
    assert plan.task == "forecast"
    assert f"recordings by {name!r}" in plan.summary
    assert ("or --id none" in plan.summary) == (name != "id")
    for number, row in enumerate(plan.rows()):
        wanted = number * 100 + np.arange(20, dtype=np.float32)[:, None] / 4
        np.testing.assert_array_equal(row.values[0].values, wanted)


def test_one_series_with_a_column_of_words_is_not_split_by_it(tmp_path) -> None:
    rows = [f"2026-01-{day + 1:02},{day / 4},{'wet' if day % 3 else 'dry'}" for day in range(20)]
    (tmp_path / "a.csv").write_text("date,load,weather\n" + "\n".join(rows) + "\n")
    plan = open_plan(tmp_path / "a.csv", DataConfig())
    assert "one recording" in plan.summary


def test_gaps_are_nan(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("id,time,x,z,label\n" + "r,0,1,NA,a\nr,1,,2,a\nq,0,?,4,b\n")
    rows = [row.values[0].values for row in open_plan(tmp_path / "a.csv", DataConfig()).rows()]
    np.testing.assert_array_equal(rows[0], [[1, np.nan], [np.nan, 2]])
    np.testing.assert_array_equal(rows[1], [[np.nan, 4]])


@pytest.mark.parametrize("raw", [[1, None, 3], np.array([1, np.nan, 3]), [[1], [None], [3]]])
def test_values_in_memory(raw) -> None:
    found = as_recording(raw, "item 1")
    np.testing.assert_array_equal(found.values, np.array([[1], [np.nan], [3]], np.float32))


@pytest.mark.parametrize("raw", [np.zeros((2, 2, 2)), [["a"]], [[1, 2], [3]], [1e300], [10**400]])
def test_what_is_no_series(raw) -> None:
    with pytest.raises(DataError, match="item 7"):
        as_recording(raw, "item 7")


def test_steps_are_called_by_their_times() -> None:
    x = np.zeros((2, 1), np.float32)
    assert Recording(x).steps() == ["0", "1"]
    assert Recording(x, times=np.array([0.5, 2])).steps() == ["0.5", "2"]
    dated = Recording(x, times=np.array([0, 86400.0]), dated=True)
    assert dated.steps() == ["1970-01-01 00:00:00", "1970-01-02 00:00:00"]
    far = Recording(x, times=np.array([-1e12, 1e18]), dated=True)  # before the year 1, after 9999
    assert far.steps() == ["-1e+12", "1e+18"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cell", ["1e300", 10**400, "-1e39", "x"])
def test_what_is_no_number_of_32_bits(cell) -> None:
    with pytest.raises(DataError, match="here: column 'b' holds no number"):
        Parser(["a", "b"]).values([1.0, cell], "here")


@pytest.mark.parametrize("value", [[[10**400]], {"values": [1, 2], "times": [1, 10**400]}])
def test_json_of_numbers_without_bounds(value) -> None:
    with pytest.raises(DataError, match=r"here: (is not an array|no series)"):
        recording_from_json(value, "here")


@pytest.mark.parametrize("date", ["0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00", "soon"])
def test_what_is_no_date(date) -> None:
    assert not is_date(date)
    with pytest.raises(DataError, match="here: column 't' holds no time"):
        parse_time(date, "t", "here")


@pytest.mark.parametrize("write", [write_ts, write_stamped], ids=lambda w: w.__name__)
def test_as_aeon_reads_it(write, tmp_path) -> None:
    load = pytest.importorskip("aeon.datasets").load_from_ts_file
    path = tmp_path / write(tmp_path)
    found, labels = load(str(path))
    for row, x, label in zip(open_plan(path, DataConfig()).rows(), found, labels, strict=True):
        np.testing.assert_allclose(row.values[0].values, np.asarray(x).T, rtol=1e-6)
        assert row.values[1] == label


TSF = """# from somewhere
@relation demand
@attribute series_name string
@attribute start_timestamp date
@attribute state string
@frequency {frequency}
@horizon 8
@missing true
@data
T1:2020-01-31 00-00-00:VIC:1,2,?,4
T2:2020-02-29 12-30-00:NSW:5.5,6
"""


@pytest.mark.parametrize(
    ("frequency", "times"),
    [
        ("daily", ["2020-01-31 00:00:00", "2020-02-01 00:00:00"]),
        ("weekly", ["2020-01-31 00:00:00", "2020-02-07 00:00:00"]),
        ("half_hourly", ["2020-01-31 00:00:00", "2020-01-31 00:30:00"]),
        ("10_minutes", ["2020-01-31 00:00:00", "2020-01-31 00:10:00"]),
        ("4_seconds", ["2020-01-31 00:00:00", "2020-01-31 00:00:04"]),
        ("monthly", ["2020-01-31 00:00:00", "2020-02-29 00:00:00", "2020-03-31 00:00:00"]),
        ("quarterly", ["2020-01-31 00:00:00", "2020-04-30 00:00:00"]),
        ("yearly", ["2020-01-31 00:00:00", "2021-01-31 00:00:00"]),
    ],
)
def test_series_of_the_monash_archive(frequency, times, tmp_path) -> None:
    (tmp_path / "a.tsf").write_text(TSF.format(frequency=frequency))
    data = DataConfig(horizon=1, static="state")
    plan = open_plan(tmp_path / "a.tsf", data)
    assert plan.task == "forecast"
    assert f"frequency {frequency}, published with --horizon 8" in plan.summary
    (first, state), (second, _) = [row.values for row in plan.rows()]
    np.testing.assert_array_equal(first.values, np.float32([[1], [2], [np.nan], [4]]))
    assert first.steps()[: len(times)] == times
    assert (first.name, second.name, state, first.static) == ("T1", "T2", "VIC", ("VIC",))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsf", TSF.format(frequency="often"), "a.tsf:10: @frequency is unknown; got 'often'"),
        ("a.tsf", TSF.format(frequency="daily").replace("-01-31", "-1-31"), "10: is no start of"),
        ("a.tsf", TSF.replace(":VIC:", ":"), r"a.tsf:10: the header has 3 attributes, and this r"),
        ("a.tsf", TSF.replace("@data", ""), "has no line @data"),
        ("a.tsf", TSF.partition("T1")[0], "holds no series after @data"),
        ("a.tsf", TSF.format(frequency="daily").replace("1,2", "1,x"), "a.tsf:10.*got 'x'"),
        ("a.arff", "@relation a\n@attribute b numeric\n@data\nx\n", "a.arff:4: attribute 'b' is"),
        ("a.arff", "@relation a\n@attribute b\n@data\nx\n", "a.arff:2: an attribute has a name"),
        (
            "a.arff",
            "@relation a\n@attribute b real\n@data\n1,2\n",
            ":4: expected 1 values, found 2",
        ),
        ("a.arff", "@relation a\n@attribute b real\n@data\n{0 1}\n", "4: is a sparse row"),
        ("a.arff", "@relation a\n@attribute b real\n", "has no line @data"),
        ("a.arff", "@relation a\n@attribute b real\n@data\n", "holds no rows after @data"),
    ],
)
def test_archives_that_cannot_be_read(name, content, message, tmp_path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        list(open_plan(tmp_path / name, DataConfig(horizon=1)).rows())


def test_tables_of_weka(tmp_path) -> None:
    rows = "".join(f"'it\\'s {i}, \\\\a',{i}.5, ?,{'ab'[i % 2]}\n" for i in range(20))
    head = "@relation a\n@attribute 'a text' string\n@attribute n numeric\n@attribute d date\n"
    (tmp_path / "a.txt").write_text(f"{head}@attribute class {{a, b}}\n@DATA\n{rows}")
    plan = open_plan(tmp_path / "a.txt", DataConfig())
    assert plan.summary.endswith("ARFF, text in column 'a text', label in 'class' -> classify")
    assert next(plan.rows()).values == ("it's 0, \\a", "a")
    assert [column.sample[1] for column in plan.table.columns[1:3]] == [1.5, None]


def test_arrays_of_matlab(tmp_path) -> None:
    from scipy.io import savemat

    x = RNG.normal(size=(6, 5, 2)).astype(np.float32)
    savemat(tmp_path / "a.mat", {"data": x, "y": np.arange(6)[:, None] % 2, "info": {"a": 1}})
    plan = open_plan(tmp_path / "a.mat", DataConfig())
    assert "6 series of 5 steps and 2 channels" in plan.summary
    for (series, label), wanted, number in zip((r.values for r in plan.rows()), x, range(6)):
        np.testing.assert_array_equal(series.values, wanted)
        assert label == str(number % 2)
    cells = np.empty(2, object)
    cells[:] = [np.ones((3, 2)), np.ones((3, 4))]
    savemat(tmp_path / "b.mat", {"x": cells})
    with pytest.raises(DataError, match="cells of 'x' have different numbers of columns"):
        open_plan(tmp_path / "b.mat", DataConfig())
    savemat(tmp_path / "c.mat", {"mts": {"train": x}})
    with pytest.raises(DataError, match=r"holds no array of numbers of 1 to 3.*got .mts"):
        open_plan(tmp_path / "c.mat", DataConfig())


def test_arrays_of_one_dimension(tmp_path) -> None:
    np.save(tmp_path / "a.npy", np.arange(40.0))
    (((series,), *_),) = open_plan(tmp_path / "a.npy", DataConfig(horizon=3)).rows()
    assert series.values.shape == (40, 1), "one series"
    np.savez(tmp_path / "a.npz", x=np.arange(6.0), y=np.arange(6) % 2)
    rows = [row.values for row in open_plan(tmp_path / "a.npz", DataConfig()).rows()]
    assert [(len(x), label) for x, label in rows] == [(1, "0"), (1, "1")] * 3, "of a step each"


def test_steps_are_sorted_where_that_is_asked_for(tmp_path) -> None:
    order = [2, 0, 3, 1, 4]
    rows = [f"{name},2024-01-{i + 1:02},{i},{i * i},n{i}\n" for i in order for name in "ab"]
    (tmp_path / "a.csv").write_text("id,date,x,y,note\n" + "".join(rows))
    with pytest.raises(
        DataError, match=r":4: the time in column 'date' goes backwards.*--sort sor"
    ):
        list(open_plan(tmp_path / "a.csv", DataConfig(horizon=1)).rows())
    plan = open_plan(tmp_path / "a.csv", DataConfig(horizon=1, sort=True))
    for (series,) in (row.values for row in plan.rows()):
        np.testing.assert_array_equal(series.values, [[i, i * i] for i in range(5)])
        assert series.steps()[1] == "2024-01-02 00:00:00"
    (tmp_path / "a.csv").write_text("id,date,x,y,note\n" + "".join(rows + rows[:1]))
    with pytest.raises(DataError, match=r"a.csv:12: the time is that of line 2, too"):
        list(open_plan(tmp_path / "a.csv", DataConfig(horizon=1, sort=True)).rows())


def test_lists_in_cells_of_text_are_named(tmp_path) -> None:
    rows = "".join(f'{i},"[[{i}, 1], [2, 3]]"\n' for i in range(9))
    (tmp_path / "a.csv").write_text("id,points\n" + rows)
    with pytest.raises(DataError, match=r"a.csv:2: column 'points' holds lists in cells of text"):
        list(open_plan(tmp_path / "a.csv", DataConfig(series="points"), "forecast").rows())
