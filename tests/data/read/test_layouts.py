"""Corpora as they are published are read rightly, or refused with a line that names the remedy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import CORPORA
from layouts import COUNT, LAYOUTS, Laid, picture
from messy import Messy
from test_messy import test_file as check_file

from pictures import shape
from unspool.config import DataConfig
from unspool.data.fields.label import LabelColumn, LabelField
from unspool.data.plan import split_plans
from unspool.data.read.embedded import encoded_picture
from unspool.data.read.memory import source_of
from unspool.errors import DataError
from unspool.tasks.planner import open_plan


def test_there_are_many() -> None:
    assert len({case.name for case in (*CORPORA, *LAYOUTS)}) == len(CORPORA) + len(LAYOUTS) > 70


@pytest.mark.parametrize("case", CORPORA, ids=lambda case: case.name)
def test_corpus(case: Messy, tmp_path) -> None:
    check_file(case, tmp_path)


def shown(value: Any, home: Path) -> Any:
    """A value of a file, or of a cell, by where it stands."""
    if isinstance(value, str | list):
        return value
    return str(value).removeprefix(f"{home}/")


@pytest.mark.parametrize("case", LAYOUTS, ids=lambda case: case.name)
def test_layout(case: Laid, tmp_path) -> None:
    path = home = tmp_path / case.name
    if callable(case.files):
        if path.suffix == ".parquet":
            pytest.importorskip("pyarrow")
        case.files(path)
        home = tmp_path
    else:
        for name, content in case.files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            data = content.encode() if isinstance(content, str) else content
            (path / name).write_bytes(data)
        path = path / case.open
    data = DataConfig(**case.settings)
    if case.task is None:
        with pytest.raises(DataError, match=case.says) as caught:
            list(open_plan(path, data).rows())
        assert "\n" not in str(caught.value)
        assert str(tmp_path) in str(caught.value)
        return
    plan = open_plan(path, data)
    rows = list(plan.rows())
    assert plan.task == case.task, plan.summary
    if case.first:
        assert tuple(shown(value, home) for value in rows[0].values) == case.first
    assert len(rows) == case.count
    assert re.search(case.says, plan.summary), plan.summary
    if case.parts:
        found, _ = split_plans(plan, data)
        assert {part: len(list(own.rows())) for part, own in found.items()} == case.parts


def test_pixels_are_those_that_were_stored(tmp_path) -> None:
    cases = {case.name: case for case in LAYOUTS}
    for name in ("pixels", "mnist", "base64"):
        files = cases[name].files
        assert isinstance(files, dict)
        for file, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (tmp_path / file).write_bytes(data)
        plan = open_plan(tmp_path / cases[name].open, DataConfig())
        for i, row in enumerate(plan.rows()):
            assert np.array_equal(row.values[0].decode().pixels[..., 0], shape(i)), name
        assert i == COUNT - 1


def test_values_in_memory_are_no_names_of_files() -> None:
    x = [np.zeros((6, 2), np.float32)] * 8
    plan = open_plan(source_of(x, [*"abababab"]), DataConfig())
    assert list(plan.columns) == ["series", "label"]


def test_parts_by_the_names_of_semeval(tmp_path) -> None:
    case = next(own for own in CORPORA if own.name == "sick-parts.txt")
    case.write(tmp_path / case.name)
    found, note = split_plans(open_plan(tmp_path / case.name, DataConfig()), DataConfig())
    assert list(found) == ["train", "valid"]
    assert note is not None
    assert "'SemEval_set': train 20, valid 20" in note


def test_a_label_that_may_be_none() -> None:
    column = LabelColumn(np.array([0, 1, 2, 3, 0, 1, 2, 3]), ["-1", "0", "1", "2"])
    notes = LabelField("label").fit(column, np.arange(8), where="a.csv")
    assert "label -1 beside 0 to 2 is a class of its own" in " ".join(notes)
    column = LabelColumn(np.array([0, 1, 2, 0, 1, 2]), ["-1", "0", "1"])  # of opinions
    assert LabelField("label").fit(column, np.arange(6), where="a.csv") == []


def test_a_cell_without_an_image() -> None:
    with pytest.raises(DataError, match=r"a\.csv:3: holds no image, as other rows do"):
        encoded_picture({"bytes": None}, "a.csv:3")
    cut = encoded_picture(picture(1)[:60], "a.csv:4")
    with pytest.raises(DataError, match=r"a\.csv:4: cannot be decoded"):
        cut.decode()
