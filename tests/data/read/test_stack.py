"""Parts that the names of files and folders, or a column, declare are the parts of a run."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unspool.config import DataConfig
from unspool.data.plan import split_plans
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

TRAIN = "text,label\ngood film,pos\nbad film,neg\n"
TEST = "text,label\nfine plot,pos\n"


def parts_of(path: Path, **settings) -> dict[str, list[tuple]]:
    data = DataConfig(**settings)
    plans, _ = split_plans(open_plan(path, data), data)
    return {name: [row.values for row in plan.rows()] for name, plan in plans.items()}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize(
    "files",
    [
        {"train.csv": TRAIN, "test.csv": TEST},
        {"reviews_train.csv": TRAIN, "reviews_test.csv": TEST, "README.md": "about"},
        {"data/train.csv": TRAIN, "data/test.csv": TEST},
        {"TRAIN.csv": TRAIN, "holdout.csv": TEST},
        {"train.tsv": TRAIN.replace(",", "\t"), "test.tsv": TEST.replace(",", "\t")},
        {
            "train.jsonl": '{"text": "good film", "label": "pos"}\n'
            '{"text": "bad film", "label": "neg"}\n',
            "test.jsonl": '{"text": "fine plot", "label": "pos"}\n',
        },
        {
            "train/neg/1.txt": "bad film",
            "train/pos/1.txt": "good film",
            "test/neg/2.txt": "dull",
            "test/pos/1.txt": "fine plot",
        },
    ],
)
def test_parts_by_name(files, tmp_path) -> None:
    parts = parts_of(write(tmp_path, files))
    assert sorted(parts["train"]) == [("bad film", "neg"), ("good film", "pos")]
    assert ("fine plot", "pos") in parts["test"]
    assert parts.keys() == {"train", "test"}


def test_shards_of_parts(tmp_path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "data").mkdir()
    for name, text in (
        ("train-00000-of-00002", "one"),
        ("train-00001-of-00002", "two"),
        ("test-00000-of-00001", "three"),
    ):
        table = pa.table({"text": [text], "label": ["x"]})
        pq.write_table(table, tmp_path / "data" / f"{name}.parquet")
    parts = parts_of(tmp_path)
    assert parts == {"train": [("one", "x"), ("two", "x")], "test": [("three", "x")]}


@pytest.mark.parametrize(
    "names",
    [
        ("train_1.csv", "train_2.csv", "test.csv"),
        ("a_train.csv", "b_train.csv", "b_test.csv"),
        ("films/train1.csv", "films/train2.csv", "films/test1.csv"),
        ("default/train/0000.csv", "default/train/0001.csv", "default/test/0000.csv"),
        ("en/train.csv", "de/train.csv", "de/test.csv"),
        ("my-train-00000.csv", "my-train-00001.csv", "my-test-00000.csv"),
    ],
)
def test_tables_of_parts_of_any_number_and_depth(names, tmp_path) -> None:
    for i, name in enumerate(names):
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"a film with plot {i} {j},{j % 2}\n" for j in range(4))
        place.write_text(f"review,stars\n{rows}")
    assert ", in the parts train, test by name, " in open_plan(tmp_path, DataConfig()).summary
    parts = parts_of(tmp_path)
    assert {name: {text.split()[4] for text, _ in rows} for name, rows in parts.items()} == {
        "train": {"0", "1"},
        "test": {"2"},
    }


def test_series_a_row_in_files_of_parts(tmp_path) -> None:
    rows = "".join(f"{i},{i + 1},{i + 2},{'ab'[i % 2]}\n" for i in range(6))
    write(tmp_path, {"train.csv": f"v0,v1,v2,label\n{rows}", "test.csv": f"v0,v1,v2,label\n{rows}"})
    parts = parts_of(tmp_path)
    assert [len(rows) for rows in parts.values()] == [6, 6]


def test_recordings_of_parts_by_name(tmp_path) -> None:
    steps = "x,y\n1,2\n2,3\n3,4\n"
    names = [
        f"{part}_{label}_{i}.csv" for part in ("train", "test") for label in "ab" for i in "12"
    ]
    write(tmp_path, dict.fromkeys(names, steps))
    data = DataConfig(label="name_2")
    plans, note = split_plans(open_plan(tmp_path, data, "classify"), data)
    assert {name: len(list(plan.rows())) for name, plan in plans.items()} == {"train": 4, "test": 4}
    assert note is not None
    assert "parts by column 'split': train 4, test 4" in note


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"train.csv": TRAIN, "test.csv": TEST, "sample_submission.csv": TEST},
            r"the name sample_submission.csv declares no part, and train.csv does\. Name what to"
            r" train on, such as .*train.csv, and others with --valid and --test",
        ),
        (
            {"train.csv": TRAIN, "test.csv": "text\nfine\nplot\n"},
            r"test.csv: has no column 'label', and .*train.csv is CSV of text, label; got 'text'",
        ),
        (
            {"train.csv": TRAIN, "test.json": "[]"},
            r"holds parts in several formats \(.csv, .json\)",
        ),
    ],
)
def test_what_is_no_part_is_refused(files, message, tmp_path) -> None:
    with pytest.raises(DataError, match=message):
        parts_of(write(tmp_path, files))


@pytest.mark.parametrize(
    ("header", "train", "test"),
    [
        ("split", "train", "holdout"),
        ("split", "train", "held_out"),
        ("data_split", "TRAIN", "Test"),
        ("is_test", "0", "1"),
        ("is_test", "False", "True"),
        ("is_train", "yes", "no"),
        ("isTest", "0.0", "1.0"),
        ("Is Test", "False", "True"),
        ("Usage", "Training", "PrivateTest"),
        ("phase", "TRAIN", "held-out"),
    ],
)
def test_parts_by_column(header, train, test, tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"text,label,{header}\ngood film,pos,{train}\nfine plot,neg,{test}\n")
    expected = {"train": [("good film", "pos")], "test": [("fine plot", "neg")]}
    assert parts_of(path) == expected


def test_values_that_name_no_part_are_refused(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label,split\ngood film,pos,train\nfine plot,neg,later\n")
    message = r"column 'split' names no part; got 'later'\. .*--split none ignores it"
    with pytest.raises(DataError, match=message):
        parts_of(path)
    assert len(parts_of(path, split_column="none")["train"]) == 2


def test_two_columns_of_parts_are_refused(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label,is_valid,is_test\ngood film,pos,0,0\nfine plot,neg,0,1\n")
    with pytest.raises(
        DataError, match=r"'is_valid' and 'is_test' declare parts, and only one can"
    ):
        parts_of(path)


def test_several_tables_are_joined_row_by_row(tmp_path) -> None:
    write(tmp_path, {f"{name}.csv": TRAIN for name in "abc"} | {"d.csv": TEST.upper()})
    plan = open_plan(f"{tmp_path}/a.csv,{tmp_path}/b.csv,{tmp_path}/c.csv", DataConfig())
    assert plan.summary.endswith(
        "a.csv and 2 more: CSV, text in column 'text', label in 'label' -> classify"
    )
    rows = list(plan.rows())
    assert [row.values for row in rows] == [("good film", "pos"), ("bad film", "neg")] * 3
    assert plan.table.where(rows[-1].line, file=rows[-1].file) == f"{tmp_path}/c.csv:3"
    with pytest.raises(DataError, match=r"d.csv: has no column 'text', and .*a.csv is CSV of text"):
        open_plan(f"{tmp_path}/a.csv,{tmp_path}/d.csv", DataConfig())
    with pytest.raises(DataError, match="several files are tables with the same columns, or two"):
        open_plan(f"{tmp_path}/a.csv,{tmp_path}/b.csv,{tmp_path}/c.csv", DataConfig(format="lines"))
    with pytest.raises(DataError, match="one of several files must be a file"):
        open_plan(f"{tmp_path}/a.csv,{tmp_path}", DataConfig())


@pytest.mark.parametrize("kind", ["txt", "wav", "csv"])
def test_a_folder_that_cannot_be_read_is_named(kind, tmp_path, monkeypatch) -> None:
    """As root every folder can be read, so the system's refusal is simulated."""
    write(tmp_path, {f"{label}/{i}.{kind}": "1,2\n3,4\n" for label in "ab" for i in range(3)})
    for name in ("listdir", "scandir"):
        original = getattr(os, name)

        def refusing(path, original=original):
            if Path(path) == tmp_path / "a":
                raise PermissionError(13, "Permission denied", str(path))
            return original(path)

        monkeypatch.setattr(os, name, refusing)
    with pytest.raises(DataError, match=r"/a: cannot be read: permission denied\. Check"):
        open_plan(tmp_path, DataConfig())


def test_files_that_cannot_be_read_are_counted_and_left_out(tmp_path) -> None:
    import unspool

    for i in range(20):
        label = "ab"[i % 2]
        (tmp_path / "images" / label).mkdir(parents=True, exist_ok=True)
        grey = np.full((8, 8), 20 * (i % 2) + i, np.uint8)
        Image.fromarray(grey).save(tmp_path / "images" / label / f"{i}.png")
    for name in ("a/0.png", "b/1.png"):
        path = tmp_path / "images" / name
        path.write_bytes(path.read_bytes()[:30])
    write(tmp_path / "texts", {f"{'ab'[i % 2]}/{i}.txt": f"text {i}" for i in range(20)})
    (tmp_path / "texts/a/2.txt").write_bytes(b"caf\xe9")
    for folder, count in (("images", 2), ("texts", 1)):
        plan = open_plan(tmp_path / folder, DataConfig(bad_files="skip"))
        assert len(list(plan.rows())) == 20 - count
        assert f"{count} file{'s' * (count > 1)} that cannot be read left out" in plan.summary
        assert len(plan.table.reader.bad_files) == count
        report = unspool.check(str(tmp_path / folder), suspects=False)
        assert sum("not an image" in n or "utf-8" in n for n in report.notes) == count
    with pytest.raises(DataError, match=r"2.txt:1: not valid utf-8"):
        list(open_plan(tmp_path / "texts", DataConfig()).rows())
    for path in (tmp_path / "images").rglob("*.png"):
        path.write_bytes(b"")
    with pytest.raises(DataError, match=r"0.png: "):
        open_plan(tmp_path / "images", DataConfig(bad_files="skip"))


def test_recordings_with_other_columns_are_counted_and_left_out(tmp_path) -> None:
    write(tmp_path, {f"r{i}.csv": "x,y\n1,2\n3,4\n5,6\n" for i in range(9)})
    write(tmp_path, {"a.csv": "time\n1\n", "r9.csv": "x,y\n1\n", "r10.csv": "z,y\n1,2\n3,4\n"})
    plan = open_plan(tmp_path, DataConfig(bad_files="skip"), "forecast")
    assert len(list(plan.rows())) == 9
    assert "3 files that cannot be read left out" in plan.summary
    reasons = ["r9.csv:2: expected 2 columns, found 1", "a.csv: has other", "r10.csv: has other"]
    for line, reason in zip(plan.table.reader.bad_files, reasons, strict=True):
        assert reason in line


def test_rows_that_name_files_that_cannot_be_read_are_counted_and_left_out(tmp_path) -> None:
    import unspool

    write(tmp_path / "images", {"list.csv": "file,label\n"})
    write(tmp_path / "corpus", {"metadata.csv": "id,label\n"})
    for i in range(20):
        grey = np.full((8, 8), 20 * (i % 2) + i, np.uint8)
        Image.fromarray(grey).save(tmp_path / "images" / f"{i}.png")
        write(tmp_path / "corpus", {f"texts/t{i}.txt": f"text {i}"})
        for name, cell in (("images/list.csv", f"{i}.png"), ("corpus/metadata.csv", f"t{i}")):
            with (tmp_path / name).open("a") as table:
                table.write(f"{cell},{'ab'[i % 2]}\n")
    (tmp_path / "images/3.png").write_bytes(b"\x89PNG")
    (tmp_path / "images/4.png").unlink()
    (tmp_path / "corpus/texts/t3.txt").write_bytes(b"caf\xe9")
    (tmp_path / "corpus/texts/t4.txt").unlink()
    for folder, reason in (("images", r"3\.png|4\.png"), ("corpus", "name a text|utf-8")):
        for path in (tmp_path / folder, tmp_path / folder / "list.csv"):
            if not path.exists():
                continue
            plan = open_plan(path, DataConfig(bad_files="skip"))
            assert "2 files that cannot be read left out" in plan.summary
            assert [row.line for row in plan.rows()] == [
                i + 2 for i in range(20) if i not in (3, 4)
            ]
        report = unspool.check(str(tmp_path / folder), suspects=False)
        bad = [note for note in report.notes if str(tmp_path) in note]
        assert len(bad) == 2
        assert report.parts[0].rows + report.parts[1].rows == 18
        with pytest.raises(DataError, match=reason):
            list(open_plan(tmp_path / folder, DataConfig()).rows())
    run = unspool.train(
        tmp_path / "corpus", bad_files="skip", out=tmp_path / "run", model="linear", quiet=True
    )
    assert "2 files that cannot be read left out" in run.data["summary"]
    assert sum(run.data["rows"].values()) == 18
