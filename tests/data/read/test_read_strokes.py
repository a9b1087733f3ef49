"""Strokes of every layout and format: the same movements, whatever file they come from."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from unspool.config import DataConfig
from unspool.data.check.columns import about_columns
from unspool.data.read import open_table
from unspool.data.read.files import TextFile
from unspool.data.read.inkml import Parsed
from unspool.data.read.pickled import Refused, object_arrays, read_pickled
from unspool.data.read.strokes import as_strokes, find_layout, from_lines
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

SHARED = Path(__file__).parents[3].parent / "shared" / "data"
KANJI = SHARED / "handwriting" / "sketch_rnn" / "kanji_short_kanji.npz"
RNG = np.random.default_rng(4)
DRAWINGS = [[RNG.integers(0, 200, (n, 2)) for n in sizes] for sizes in ((5, 2), (3,), (4, 1, 6))]
LABELS = ["a", "b", "a"]
WANTED = [from_lines(lines).values for lines in DRAWINGS]


def as_lists(lines, *, axes: bool = False) -> list:
    return [(line.T if axes else line).tolist() for line in lines]


def write_json(folder, *, axes: bool = False, name: str = "strokes") -> str:
    rows = [{name: as_lists(d, axes=axes), "label": k} for d, k in zip(DRAWINGS, LABELS)]
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return "a.jsonl"


def write_inkml(folder) -> str:
    for i, (drawing, label) in enumerate(zip(DRAWINGS, LABELS)):
        home = folder / "ink" / label
        home.mkdir(parents=True, exist_ok=True)
        traces = "".join(
            f"<trace>{', '.join(f'7 {x} {y}' for x, y in line)}</trace>\n" for line in drawing
        )
        (home / f"{i}.inkml").write_text(
            '<?xml version="1.0"?>\n<ink xmlns="http://www.w3.org/2003/InkML">'
            '<traceFormat><channel name="T"/><channel name="X"/><channel name="Y"/></traceFormat>'
            f"{traces}</ink>"
        )
    return "ink"


def write_unipen(folder, *, numbered: bool = False) -> str:
    lines, at = [".VERSION 1.0", ".COORD X Y"], 0
    for drawing, label in zip(DRAWINGS, LABELS):
        parts = f"{at}-{at + 2 * len(drawing) - 1}" if numbered else "?"
        lines.append(f'.SEGMENT CHARACTER {parts} OK "{label}"')
        at += 2 * len(drawing)
        for line in drawing:
            lines += [".PEN_DOWN", *(f"{x} {y}" for x, y in line), ".PEN_UP"]
    (folder / "a.unp").write_text("\n".join(lines) + "\n")
    return "a.unp"


FILES = {
    "points": write_json,
    "axes": lambda folder: write_json(folder, axes=True, name="drawing"),
    "inkml": write_inkml,
    "unipen": write_unipen,
    "components": lambda folder: write_unipen(folder, numbered=True),
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_the_same_movements(tmp_path, name) -> None:
    plan = open_plan(tmp_path / FILES[name](tmp_path), DataConfig(), None)
    assert plan.task == "classify"
    assert plan.settings == {"data.input": "strokes"}
    found = sorted(plan.rows(), key=lambda row: len(row.values[0]))
    wanted = sorted(zip(WANTED, LABELS), key=lambda each: len(each[0]))
    assert [row.values[1] for row in found] == [label for _, label in wanted]
    for row, (values, _) in zip(found, wanted):
        np.testing.assert_array_equal(row.values[0].values, values)


@pytest.mark.parametrize("protocol", [2, 4])
def test_drawings_of_sketch_rnn(tmp_path, protocol) -> None:
    parts = {}
    for name in ("train", "valid", "test"):
        rows = np.empty(3, object)
        rows[:] = [w.astype(np.int16) for w in WANTED]
        parts[name] = rows
    np.savez(tmp_path / "a.npz", **parts)
    assert read_pickled(pickle.dumps(parts["train"], protocol))[1].tolist() == WANTED[1].tolist()
    table = open_table(str(tmp_path / "a.npz"), DataConfig())
    assert table.summary.endswith("drawings of sketch-rnn, in the arrays train, valid, test")
    rows = list(table.rows(table.columns))
    assert [row.values[1] for row in rows] == ["train"] * 3 + ["valid"] * 3 + ["test"] * 3
    np.testing.assert_array_equal(rows[4].values[0], WANTED[1])


@pytest.mark.skipif(not KANJI.is_file(), reason="the shared data are not here")
def test_the_arrays_of_the_real_file() -> None:
    arrays = object_arrays(KANJI, "kanji")
    assert {name: len(own) for name, own in arrays.items()} == {
        "train": 10000, "valid": 600, "test": 500,
    }  # fmt: skip
    assert all(x.shape[1] == 3 and x.dtype == np.int16 for own in arrays.values() for x in own)


class Harmful:
    def __reduce__(self):
        return (print, ("this must not be seen",))


@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_pickle_is_never_run(capsys, protocol) -> None:
    rows = np.empty(2, object)
    rows[:] = [np.zeros((2, 3)), Harmful()]
    with pytest.raises(Refused, match=r"a call of '(__builtin__|builtins) print'|instruction"):
        read_pickled(pickle.dumps(rows, protocol))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("value", [{"a": 1}, [np.zeros(2)], np.array(["x"], object)])
def test_other_pickles_are_refused(value) -> None:
    found = None
    try:
        found = read_pickled(pickle.dumps(value, 4))
    except Refused:
        return
    assert found == ["x"]


def test_layouts_by_their_look() -> None:
    assert find_layout([as_lists(DRAWINGS[0])]).name == "points"
    assert find_layout([as_lists(DRAWINGS[0], axes=True)]).name == "axes"
    assert find_layout([[[1, 2, 0], [3, 4, 1]]]).name == "offsets"
    assert find_layout([[[1, 2], [3, 4]]]).name == "points"
    both = find_layout([[[[1, 2], [3, 4]]]])
    assert both.name == "points"
    assert not both.certain
    assert "stroke_layout=axes" in both.remark()
    assert find_layout([[["a", "b"]]]) is None
    assert find_layout([[1, 2, 3]]) is None
    assert find_layout([[[[1, 2, 9], [3, 4, 9], [0, 0, 0], [1, 1, 1]]]]).width == 3


def test_lines_and_offsets_are_inverse() -> None:
    for lines, values in zip(DRAWINGS, WANTED):
        again = as_strokes(values, "here")
        for line, own in zip(again.lines(), lines):
            np.testing.assert_allclose(line, own - lines[0][0], atol=1e-4)
        np.testing.assert_array_equal(as_strokes(as_lists(lines), "here").values, values)


def test_differences_in_inkml(tmp_path) -> None:
    path = tmp_path / "a.inkml"
    path.write_text("<ink><trace>10 20, '1 '2, 3 4, \"1 \"0, !7 !8</trace></ink>")
    (trace,) = Parsed(TextFile(path, "a")).traces
    assert trace.tolist() == [[10, 20], [11, 22], [14, 26], [18, 30], [7, 8]]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([[[0, 0], [1, float("nan")]]], r"here: point 2 of stroke 1 is not finite; got '1, nan'"),
        ([[[0, 0], [1, 1]], [[2, 2], ["x", 1]]], r"stroke 2 is not a list of points"),
        ([[[0, 0], [1, 1]], 7], r"stroke 2 is not a list of points; got 7"),
        ([[[0, 0], [1]]], "is not a drawing"),
        ([[0, 0], 7], "is not a drawing"),
        ([[0, 0], None], "is not a drawing"),
        ("text", "is not a drawing; got 'text'"),
    ],
)
def test_what_is_no_drawing(raw, says) -> None:
    with pytest.raises(DataError, match=says):
        as_strokes(raw, "here")


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([[1, 2, 5], [0, 0, 1]], "pen up is 0 or 1, and at point 1 it is neither; got 5"),
        ([[1, 2], [0, 0]], "offsets are rows of dx, dy and pen up; got 'rows of 2'"),
        ([[1, 2, 0], [0, float("inf"), 1]], "point 2 of the drawing is not finite"),
    ],
)
def test_what_are_no_offsets(raw, says) -> None:
    with pytest.raises(DataError, match=says):
        as_strokes(raw, "here", "offsets")


def test_axes_need_an_x_and_a_y() -> None:
    with pytest.raises(DataError, match="stroke 1 has no y"):
        as_strokes([[[1, 2, 3]]], "here", "axes")


INK = """<?xml version="1.0"{}?><ink><traceFormat>{}</traceFormat><trace>{}</trace></ink>"""


def ink(points: str, channels: str = "XY", encoding: str = "") -> str:
    named = f' encoding="{encoding}"' if encoding else ""
    return INK.format(named, "".join(f'<channel name="{own}"/>' for own in channels), points)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (ink("1 2", encoding="utf-7"), r"x\.inkml: its encoding cannot be read \(multi-byte"),
        (ink("1 2", encoding="none"), r"x\.inkml: its encoding cannot be read \(unknown"),
        (
            ink("1 2 3, 4 5", "TXY"),
            r"x\.inkml:1: point 2 of trace 1 is not a pair of numbers; got '4 5",
        ),
        (ink("1e308 1, '1e308 '1"), r"point 2 of trace 1 is not a pair"),
        (ink("1e999 1, '-1e999 '1"), r"point 1 of trace 1 is not a pair"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_inkml_that_cannot_be_read(content, says, tmp_path) -> None:
    (tmp_path / "x.inkml").write_text(content)
    with pytest.raises(DataError, match=says):
        Parsed(TextFile(tmp_path / "x.inkml", "x.inkml"))


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ("²", "names no components; got '²'"),
        ("9" * 5000, "names no components"),
        ("2-1", "names no components; got '2-1'"),
        ("0-9999999," * 50 + "0", "names component 9999999, and there are 2"),
    ],
)
def test_segments_of_components_that_are_not_there(parts, says, tmp_path) -> None:
    path = tmp_path / "x.unp"
    path.write_text(f'.SEGMENT DIGIT {parts} ? "8"\n.PEN_DOWN\n1 2\n3 4\n.PEN_UP\n')
    with pytest.raises(DataError, match=rf"x\.unp:1: the segment {says}"):
        open_table(str(path), DataConfig())


def test_columns_of_arrays_are_not_compared(tmp_path) -> None:
    """As `unspool check --task generate` of drawings would."""
    rows = np.empty(3, object)
    rows[:] = [np.ones((4, 3))] * 3
    np.savez(tmp_path / "a.npz", train=rows)
    table = open_table(str(tmp_path / "a.npz"), DataConfig())
    (found,) = about_columns(table, set())
    assert found.what == "columns have the same value in every row: 'split'"


def test_an_archive_whose_compression_is_damaged_holds_no_objects(tmp_path) -> None:
    from unspool.data.read.pickled import holds_objects

    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.arange(4000))
    content = bytearray(path.read_bytes())
    content[40:60] = b"\xff" * 20  # where the compressed array begins
    path.write_bytes(content)
    assert not holds_objects(path)
