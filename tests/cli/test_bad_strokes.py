"""Bad strokes, through the command line: one line that names file and line, exit code 2."""

from __future__ import annotations

import json

import numpy as np
import pytest

GOOD = [{"strokes": [[[0, 0], [i, 1], [2, i]]], "label": "ab"[i % 2]} for i in range(8)]
UNIPEN = '.SEGMENT DIGIT ? OK "8"\n.PEN_DOWN\n1 2\n3 4\n.PEN_UP\n'
INK = "<ink><annotation type='truth'>a</annotation>\n<trace>0 0, 1 1</trace></ink>"
BOMB = (
    '<?xml version="1.0"?>\n<!DOCTYPE ink [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n'
    "<ink><annotation>&b;</annotation></ink>"
)


def rows(*changed: tuple[int, object]) -> str:
    found = [dict(row) for row in GOOD]
    for line, strokes in changed:
        found[line - 1]["strokes"] = strokes
    return "".join(f"{json.dumps(row)}\n" for row in found)


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.jsonl", rows((3, [[[0, 0], [1, float("nan")]]])), [],
         ["a.jsonl:3: point 2 of stroke 1 is not finite; got '1, nan'", "leave the point out"]),
        ("a.jsonl", rows((4, [[[0, 0], [1, float("inf")]]])), [], ["a.jsonl:4: point 2", "inf"]),
        ("a.jsonl", rows((3, [[[0, 0], ["a", 1]]])), [],
         ["a.jsonl:3: stroke 1 is not a list of points"]),
        ("a.jsonl", rows((3, 7)), [], ["a.jsonl:3: is not a drawing; got 7"]),
        ("a.jsonl", rows((3, [[[0, 0, 0], [1, 1]]])), [], ["a.jsonl:3: stroke 1 is not a list"]),
        ("a.jsonl", rows(), ["--set", "stroke_layout=offsets"],
         ["a.jsonl:1: the drawing is not a list of points"]),
        ("a.jsonl", rows(), ["--set", "stroke_smoothing=-1"], ["data.stroke_smoothing"]),
        ("a.jsonl", rows(), ["--set", "stroke_slant=left"], ["data.stroke_slant"]),
        ("a.jsonl", rows(), ["--label", "class"], ["a.jsonl:1: has no field 'class'"]),
        ("a.jsonl", rows().replace('"b"', '"a"'), [], ["all rows have the same label"]),
        ("a.csv", "text,label\na,b\nb,c\n", ["--set", "input=strokes", "--task", "classify"],
         ["a.csv: no column of strokes was found"]),
        ("a.unp", UNIPEN.replace("3 4", "3 nan"), [], ["a.unp:4: is not a point; got '3 nan'"]),
        ("a.unp", UNIPEN.replace("3 4", "3"), [], ["a.unp:4: is not a point; got '3'"]),
        ("a.unp", UNIPEN.replace("?", "0-9"), [],
         ["a.unp:1: the segment names component 9, and there are 2; got '0-9'"]),
        ("a.unp", UNIPEN.replace("?", "a-b"), [], ["a.unp:1: the segment names no components"]),
        ("a.unp", ".COORD T\n" + UNIPEN, [], ["a.unp:1: .COORD names no X and Y; got 'T'"]),
        ("a.unp", ".VERSION 1\n", [], ["a.unp: has no .PEN_DOWN with points"]),
        ("a.inkml", INK.replace("1 1<", "1 x<"), [],
         ["a.inkml:2: point 2 of trace 1 is not a pair of numbers; got '1 x'"]),
        ("a.inkml", INK.replace("1 1<", "1<"), [], ["a.inkml:2: point 2 of trace 1"]),
        ("a.inkml", INK.replace("</ink>", ""), [], ["a.inkml:2: not valid XML"]),
        ("a.inkml", BOMB, [], ["a.inkml:2: declares a document type", "<!DOCTYPE"]),
        ("a.inkml", "<a>" * 100 + "</a>" * 100, [], ["a.inkml:1: has more than 64 elements"]),
        ("a.inkml", INK.replace("<trace>", "<traceFormat><channel name='T'/></traceFormat><trace>"),
         [], ["a.inkml:2: its traces have no X and Y; got 'T'"]),
    ],
)  # fmt: skip
def test_refused(file, refused, name, content, options, says) -> None:
    refused("train", file(content, name), *options, says=says)


def test_drawings_that_are_no_offsets(here, refused) -> None:
    drawings = np.empty(2, object)
    drawings[:] = [np.zeros((2, 3), np.int16), np.full((2, 3), 7, np.int16)]
    np.savez(here / "a.npz", train=drawings)
    says = ["a.npz:2: pen up is 0 or 1, and at point 1 it is neither; got 7"]
    refused("train", here / "a.npz", "--task", "handwrite", says=says)


def test_objects_that_are_no_arrays(here, refused) -> None:
    drawings = np.empty(2, object)
    drawings[:] = [np.zeros((2, 3), np.int16), {"a": 1}]
    np.savez(here / "a.npz", train=drawings)
    says = ["a.npz: holds pickled objects, which could run any code", "EMPTY_DICT", "lengths"]
    refused("train", here / "a.npz", says=says)


def test_rows_without_a_point_are_counted(file, unspool) -> None:
    small = ["--set", "epochs=1", "--set", "hidden=4", "--set", "baseline=false"]
    ended = unspool("train", file(rows((3, [])), "a.jsonl"), *small, "--set", "valid_share=0.3")
    assert ended.code == 0, ended.err
    assert "1 " in ended.err
    assert "strokes" in ended.err
