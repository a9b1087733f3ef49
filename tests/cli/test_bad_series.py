"""Bad series, through the command line: one line that names file, line and column, exit code 2."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

STEPS = "id,time,x,z,label\n" + "".join(
    f"r{i},{t},{i + t},{i - t},{'ab'[i % 2]}\n" for i in range(8) for t in range(4)
)
WIDE = "".join(f"{i},{i + 1},{2 * i},{i * i},{'ab'[i % 2]}\n" for i in range(12))
TS = (
    "@problemName Small\n@timeStamps false\n@missing false\n@univariate false\n@dimensions 2\n"
    "@equalLength true\n@seriesLength 3\n@classLabel true a b\n@data\n"
    + "".join(f"{i},2,3:4,5,{i}:{'ab'[i % 2]}\n" for i in range(8))
)
STAMPED = "@problemName Small\n@timeStamps true\n@data\n{}\n"


def changed(content: str, line: int, new: str) -> str:
    lines = content.splitlines()
    lines[line - 1] = new
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.csv", changed(STEPS, 4, "r0,2,two,1,a"), [],
         ["a.csv:4: column 'x' holds no number; got 'two'", "--series"]),
        ("a.csv", changed(STEPS, 4, "r0,2,inf,1,a"), [], ["a.csv:4: column 'x' holds no finite"]),
        ("a.csv", changed(STEPS, 4, "r0,1,2,1,a"), [],
         ["a.csv:4: the time in column 'time' is that of the row before; got '1'", "--time none"]),
        ("a.csv", changed(STEPS, 4, "r0,0.5,2,1,a"), [],
         ["a.csv:4: the time in column 'time' goes backwards; got '0.5'"]),
        ("a.csv", changed(STEPS, 4, "r0,soon,2,1,a"), [],
         ["a.csv:4: column 'time' holds no time; got 'soon'"]),
        ("a.csv", changed(STEPS, 4, "r0,2,2,1,b"), ["--task", "classify"],
         ["a.csv:4: column 'label' changes within the recording 'r0'; got 'b'", "--task"]),
        ("a.csv", changed(STEPS, 4, "r0,2,2,1,"), ["--task", "tag"],
         ["a.csv:2: step 3 has no label in 'label'"]),
        ("a.csv", STEPS, ["--set", "window=9"],
         ["a.csv: the window is longer than every series: 9 steps, and the longest has 4"]),
        ("a.csv", STEPS, ["--set", "stride=2"], ["data.stride", "no windows", "Set window"]),
        ("a.csv", STEPS, ["--set", "window=2", "--set", "stride=3"],
         ["data.stride leaves steps out", "got 3"]),
        ("a.csv", STEPS, ["--series", "x,w"], ["a.csv:1: there is no column 'w'"]),
        ("a.csv", STEPS, ["--time", "when"], ["a.csv:1: there is no column 'when'", "--time"]),
        ("a.csv", STEPS, ["--id", "who"], ["a.csv:1: there is no column 'who'", "--id"]),
        ("a.csv", STEPS, ["--set", "irregular=channel", "--time", "none"],
         ["a.csv: irregular=channel needs the time of each step"]),
        ("a.csv", STEPS, ["--task", "regress"], ["a.csv:2: the value is not a number; got 'a'"]),
        ("a.csv", STEPS.replace(",a\n", ",1\n").replace(",b\n", ",1\n"), ["--task", "regress"],
         ["a.csv: all rows have the same label", "got 1"]),
        ("a.csv", STEPS.replace(",a\n", ",1\n").replace(",b\n", ",inf\n"), ["--task", "regress"],
         ["a.csv:6: the value is not a number; got 'inf'"]),
        ("a.csv", STEPS.replace(",b\n", ",a\n"), ["--task", "classify"],
         ["a.csv: all rows have the same label", "got 'a'"]),
        ("a.csv", STEPS, ["--group", "subject"], ["there is no column 'subject'"]),
        ("a.csv", "id,time,x,label\n" + "".join(f"r{i},{t},5,{'ab'[i % 2]}\n" for i in range(8)
         for t in range(3)), [], ["a.csv: every channel is constant", "x = 5"]),
        ("w.csv", changed(WIDE, 3, "1,?,3,x,a"), [], ["w.csv:3: column '4' holds no number"]),
        ("w.csv", WIDE, ["--set", "channels=3"], ["w.csv:1: 4 columns cannot be 3 channels"]),
        ("a.ts", changed(TS, 12, "2,2,3:4,5,6:7,8,9:a"), [],
         ["a.ts:12: the header says @dimensions 2, and this row has 3"]),
        ("a.ts", changed(TS, 12, "2,2:4,5:a"), [],
         ["a.ts:12: the header says @seriesLength 3, and this row has 2"]),
        ("a.ts", changed(TS, 12, "2,2,3:4,5,6:c"), [],
         ["a.ts:12: the header says @classLabel a b, and this row has 'c'"]),
        ("a.ts", changed(TS, 12, "2,?,3:4,5,6:a"), [],
         ["a.ts:12: the header says @missing false, and this row has a gap"]),
        ("a.ts", changed(TS, 12, "2,no,3:4,5,6:a"), [],
         ["a.ts:12: column 'channel 1' holds no number; got 'no'"]),
        ("a.ts", changed(TS, 12, "2,1e300,3:4,5,6:a"), [],
         ["a.ts:12: column 'channel 1' holds no number; got '1e300'"]),
        ("a.ts", changed(changed(TS, 5, "@dimensions ²"), 12, "2,no,3:4,5,6:a"), [],
         ["a.ts:12: column 'channel 1' holds no number; got 'no'"]),
        ("a.ts", changed(changed(TS, 5, "@dimensions " + "9" * 5000), 12, "2,no,3:4,5,6:a"), [],
         ["a.ts:12: column 'channel 1' holds no number; got 'no'"]),
        ("a.ts", STAMPED.format("(inf,1),(2,3)"), [], ["a.ts:4: holds no time; got 'inf'"]),
        ("a.ts", STAMPED.format("(2024-01-01,1),(2,3)"), [],
         ["a.ts:4: mixes numbers and dates as times; got '2'"]),
        ("a.ts", STAMPED.format("(1,1)or(2,3)"), [],
         ["a.ts:4: channel 1 is not a list of (time,value); got 'or'"]),
        ("a.ts", TS.replace("@data", ""), [], ["a.ts: has no line @data"]),
        ("a.jsonl", '{"series": [[1, 2], [3, 4]], "label": "a"}\n{"series": [[1], [3]], "label":'
         ' "b"}\n' * 6, [], ["a.jsonl:2: has 1 channel, and", "a.jsonl:1 has 2"]),
        ("a.jsonl", '{"series": [1, 2], "label": "a"}\n{"series": [1, %s], "label": "b"}\n'
         % ("9" * 400), [], ["a.jsonl:2: is not an array of numbers"]),
        ("a.jsonl", '{"id": 1, "time": 1, "x": 1, "label": "a"}\n{"id": 1, "time": 2, "x": %s,'
         ' "label": "a"}\n' % ("9" * 400), ["--series", "x"],
         ["a.jsonl:2: column 'x' holds no number"]),
        ("a.jsonl", '{"id": 1, "time": 1, "x": 1, "label": "a"}\n{"id": 1, "time": %s, "x": 2,'
         ' "label": "a"}\n' % ("9" * 400), [], ["a.jsonl:2: column 'time' holds no time"]),
        ("a.csv", changed(STEPS, 4, "r0,0001-01-01T00:00+14:00,2,1,a"), [],
         ["a.csv:4: column 'time' holds no time; got '0001-01-01T00:00+14:00'"]),
        ("a.jsonl", '{"x": [1, 2], "z": [3, 4], "label": "a"}\n{"x": [1], "z": [3, 4], "label":'
         ' "b"}\n' * 6, [], ["a.jsonl:2: the channels have different numbers", "x 1, z 2"]),
    ],
)  # fmt: skip
def test_a_bad_file(file, refused, name, content, options, says) -> None:
    refused("train", file(content, name), *options, says=says)


def test_an_empty_series_is_left_out_and_counted(here, unspool) -> None:
    folder = here / "all"
    for i in range(6):
        home = folder / "ab"[i % 2]
        home.mkdir(parents=True, exist_ok=True)
        rows = "" if i == 2 else "".join(f"{t + i},{t * i}\n" for t in range(5))
        (home / f"r{i}.csv").write_text("x,z\n" + rows)
    ended = unspool("train", folder, "--set", "epochs=1", "--set", "valid_share=0")
    assert ended.code == 0, ended.err
    assert "1 recordings with no number in the series left out, the first at" in ended.err
    assert "r2.csv:1" in ended.err


def test_a_channel_is_missing_in_one_file(here, refused) -> None:
    for i in range(4):
        (here / "all" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        path = here / "all" / "ab"[i % 2] / f"r{i}.csv"
        path.write_text("x,z\n1,2\n3,4\n" if i != 3 else "x\n1\n3\n")
    refused(
        "train", here / "all", says=["r3.csv:1: has no column 'z'", "r0.csv has x, z", "got 'x'"]
    )


def test_a_group_in_both_parts(file, refused) -> None:
    rows = STEPS.replace("label\n", "label,subject\n").splitlines()
    grouped = [rows[0], *(f"{row},{row[:2]}" for row in rows[1:])]
    train = file("\n".join(grouped) + "\n", "train.csv")
    test = file("\n".join(grouped[:9]) + "\n", "test.csv")
    says = ["test.csv:2: a group is in the training data, too; got 'r0'", "one part"]
    refused("train", train, "--test", test, "--group", "subject", says=says)


def test_pickled_arrays(here, refused) -> None:
    rows = np.array([np.zeros((2, 1)), np.zeros((3, 1))], dtype=object)
    np.savez(here / "a.npz", x=rows, y=np.arange(2))
    refused("train", here / "a.npz", says=["a.npz: holds pickled objects", "lengths"])


def test_lengths_that_do_not_add_up(here, refused) -> None:
    np.savez(here / "a.npz", x=np.zeros((9, 2)), lengths=np.array([4, 4]), label=np.arange(2))
    refused("train", here / "a.npz", says=["a.npz: the lengths sum to 8, and there are 9 steps"])


FLAT, LABELS = np.zeros((9, 2)), np.array(["a", "b", "a"])
WHOLE = ["a.npz: lengths are whole numbers (series,)", "Save them so"]


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": FLAT, "lengths": np.array([3.0, 3.0, 3.0])}, [*WHOLE, "float64 (3,) for (9, 2)"]),
        ({"x": FLAT, "lengths": np.array(["3", "3", "3"])}, WHOLE),
        ({"x": FLAT, "lengths": np.full((3, 1), 3)}, WHOLE),
        ({"x": FLAT[None], "lengths": np.array([1])}, [*WHOLE, "for (1, 9, 2)"]),
        ({"x": FLAT, "offsets": np.array(3)}, WHOLE),
        ({"x": FLAT, "offsets": np.array([1, 4, 7, 10])}, WHOLE),
        (
            {"x": FLAT, "offsets": np.array([0, 6, 3, 9])},
            ["the lengths sum to 9 and one is negative"],
        ),
        ({"x": np.zeros((0, 3, 2))}, ["the array 'x' holds no series; got 'the shape (0, 3, 2)'"]),
        ({"x": np.zeros((3, 3, 0))}, ["the array 'x' holds no series; got 'the shape (3, 3, 0)'"]),
    ],
)
def test_arrays_of_other_shapes_and_kinds(here, refused, arrays, says) -> None:
    np.savez(here / "a.npz", **arrays, label=LABELS[: len(arrays["x"])])
    refused("train", here / "a.npz", says=says)


@pytest.mark.parametrize("last", [{"x": FLAT[None]}, {"z": FLAT[None]}, {"x": LABELS}])
def test_a_file_without_the_arrays_of_the_others(here, refused, last) -> None:
    (here / "all").mkdir()
    for i in range(3):
        np.savez(here / "all" / f"{i}.npz", x=FLAT[None], label=LABELS[i : i + 1])
    np.savez(here / "all" / "9.npz", **last)
    refused("train", here / "all", says=["9.npz: has no array", "0.npz has", "in every file"])


def test_settings_of_series_are_not_for_texts(file, refused) -> None:
    path = file("text,label\na fine film,x\nwhat a bore,y\n" * 10)
    refused("train", path, "--set", "window=3", says=["data.window is a setting of", "series"])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    import unspool

    folder = tmp_path_factory.mktemp("series")
    (folder / "steps.csv").write_text(STEPS)
    options = {"epochs": 1, "hidden": 4, "threads": 1, "quiet": True}
    return unspool.train(folder / "steps.csv", out=folder / "run", **options).path


def test_other_channels_than_it_has_learnt(trained, file, refused) -> None:
    path = file("id,time,u\nr0,1,2\nr0,2,3\n", "other.csv")
    says = ["the model was trained on 2 channels (x, z), and this series has 1", "--series"]
    refused("predict", trained, "--file", path, says=says)


def test_a_text_is_no_series(trained, refused) -> None:
    refused("predict", trained, "some text", says=["reads series", "--file"])


def test_predicted_from_the_command_line(trained, file, unspool) -> None:
    path = file(STEPS, "steps.csv")
    ended = unspool("predict", trained, "--file", path, "--json")
    assert ended.code == 0, ended.err
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [each["text"] for each in found] == [f"r{i}: 4 steps of 2 channels" for i in range(8)]
    assert "recordings by 'id', time in 'time', channels x, z" in ended.err


def letters(path, name: str) -> None:
    """Make the letters of an array such as there are none."""
    with zipfile.ZipFile(path) as archive:
        members = {own: archive.read(own) for own in archive.namelist()}
    whole = members[f"{name}.npy"]
    members[f"{name}.npy"] = whole[:-4] + b"\xff\xff\xff\x7f"
    with zipfile.ZipFile(path, "w") as archive:
        for own, content in members.items():
            archive.writestr(own, content)


@pytest.mark.parametrize(
    "x", [np.zeros((3, 4, 2)), np.zeros((3, 4, 2), np.uint8)], ids=["series", "images"]
)
def test_labels_of_letters_that_are_none(here, refused, x) -> None:
    np.savez(here / "a.npz", x=x, label=LABELS)
    letters(here / "a.npz", "label")
    refused("train", here / "a.npz", says=["a.npz: is a NumPy file that is damaged"])


def test_images_of_negative_size(here, refused) -> None:
    np.savez(here / "a.npz", x=np.zeros((3, 4, 2), np.uint8), label=LABELS)
    with zipfile.ZipFile(here / "a.npz") as archive:
        members = {own: archive.read(own) for own in archive.namelist()}
    members["x.npy"] = members["x.npy"].replace(b"(3, 4, 2), ", b"(3,-4,-2), ")
    with zipfile.ZipFile(here / "a.npz", "w") as archive:
        for own, content in members.items():
            archive.writestr(own, content)
    refused("train", here / "a.npz", says=["a.npz: is a NumPy file that is damaged"])


def test_a_column_called_by_thousands_of_digits(file, refused) -> None:
    digits = "9" * 5000
    path = file(f"x{digits},x2,y{digits},y2,label\n" + "1,2,3,4,a\n1,two,3,4,b\n" * 9, "w.csv")
    refused("train", path, "--series", f"x{digits},x2", says=["w.csv:3: column 'x2' holds no"])
