"""Which columns are taken for groups of rows, and which are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unspool.config import DataConfig
from unspool.data.groups import find_groups, read_groups
from unspool.data.plan import Plan
from unspool.tasks.planner import open_plan

ROWS = 60


def group_of(tmp_path: Path, column: str, value: Callable[[int], object]) -> str | None:
    """The column that is taken in a table of 60 texts with two labels."""
    path = tmp_path / "some.csv"
    rows = [f"some words and {i},{'xy'[i % 2]},{value(i)}" for i in range(ROWS)]
    path.write_text(f"text,label,{column}\n" + "\n".join(rows) + "\n")
    groups = find_groups(open_plan(path, DataConfig(), "classify"))
    assert groups is None or len(groups.names) == ROWS
    return None if groups is None else groups.column


@pytest.mark.parametrize("column", ["speaker", "Subject ID", "participant_no", "CameraID", "user"])
def test_columns_of_speakers_and_the_like_are_taken(tmp_path, column) -> None:
    assert group_of(tmp_path, column, lambda i: f"s{i % 5}") == column
    assert group_of(tmp_path, column, lambda i: i % 5) == column


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("speaker", lambda i: f"s{i}"),  # one a row
        ("speaker", lambda i: "ann"),
        ("speaker", lambda i: "xy"[i % 2]),  # one a label: neither can be held out
        ("speaker", lambda i: "" if i % 3 else "ann"),
        ("subject", lambda i: f"Re: your letter {i % 5}"),  # of messages
        ("source", lambda i: f"s{i % 5}"),
        ("colour", lambda i: ["red", "green", "blue"][i % 3]),
        ("length", lambda i: i % 5),
    ],
)
def test_other_columns_are_not(tmp_path, column, value) -> None:
    assert group_of(tmp_path, column, value) is None


def found(folder: Path, names: list[str]) -> str | None:
    """The column that is taken of small recordings with these paths."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x,y\n" + "\n".join(f"{i / 7},{i % 3}" for i in range(9)) + "\n")
    groups = find_groups(open_plan(folder, DataConfig(), "classify"))
    return None if groups is None else groups.shown


def test_parts_of_paths_are_taken_where_they_are_people(tmp_path) -> None:
    labels = ("run", "walk")
    people = ("ann", "bob", "cid")
    assert found(tmp_path / "a", [f"{x}/{x}_{p}_{i}.csv" for x in labels for p in people
                                  for i in range(3)]) == "name_2 (ann, bob, cid)"  # fmt: skip
    assert found(tmp_path / "b", [f"{x}/Subject_{i}.csv" for x in labels for i in range(1, 9)]) == (
        "name (Subject_1, Subject_2, Subject_3, ...)"
    )
    assert found(tmp_path / "c", [f"{x}/subj{i:02}-{k}.csv" for x in labels for i in range(4)
                                  for k in range(3)]) == (
        "name_1 (subj00, subj01, subj02, ...)"
    )  # fmt: skip


def test_other_parts_of_paths_are_not(tmp_path) -> None:
    labels = ("run", "walk")
    number = [f"{x}/{x}_{i}.csv" for x in labels for i in range(9)]  # counts the files of a label
    assert found(tmp_path / "a", number) is None
    sides = [f"{x}/{s}_{i}.csv" for x in labels for s in ("left", "right") for i in range(5)]
    assert found(tmp_path / "b", sides) is None, "two words are no speakers"
    kinds = {"run": ("sprint", "jog", "trot"), "walk": ("stroll", "march", "hike")}
    below = [f"{x}/{k}_{i}.csv" for x in labels for k in kinds[x] for i in range(5)]
    assert found(tmp_path / "c", below) is None, "kinds of a label"


def test_groups_are_read_once(tmp_path, monkeypatch) -> None:
    """Each fold of a search needs them, and reading has a limit of time."""
    path = tmp_path / "some.csv"
    path.write_text("text,label,speaker\n" + "a,x,ann\nb,y,bob\n" * 3)
    calls, rows = [], Plan.rows

    def counted(self, *rest):
        calls.append(self)
        return rows(self, *rest)

    monkeypatch.setattr(Plan, "rows", counted)
    for _ in range(3):
        plan = open_plan(path, DataConfig(), "classify")
        assert read_groups(plan, "speaker").tolist() == ["ann", "bob"] * 3
    assert len(calls) == 1
    assert read_groups(plan, "label").tolist() == ["x", "y"] * 3
    path.write_text("text,label,speaker\n" + "a,x,cid\nb,y,dan\n" * 3)
    plan = open_plan(path, DataConfig(), "classify")
    assert read_groups(plan, "speaker").tolist() == ["cid", "dan"] * 3
    assert len(calls) == 3
