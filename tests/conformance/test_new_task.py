"""A task from outside the package: one class and one line."""

from __future__ import annotations

from pathlib import Path

import pytest

import unspool
from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.errors import DataError
from unspool.tasks import TASKS
from unspool.tasks.classify import Classify
from unspool.tasks.planner import open_plan
from unspool.tasks.roles import Lacking, Roles

SMALL = {"threads": 1, "quiet": True, "max_steps": 2, "hidden": 8, "embedding": 6}


def plan_moods(
    task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
) -> Plan | None:
    columns = {"text": table.column("line", option="text")}
    if outputs:
        columns["label"] = table.column("mood", option="label")
    settings = {"data.multilabel": False}
    return Plan(task, table, columns, 9, f"{table.summary}, moods -> {task}", settings=settings)


class Moods(Classify):
    name = "moods"
    roles = Roles(
        plan=plan_moods, lacking=Lacking("holds no moods", "add a column"), columns=(("mood",),)
    )


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lines with their moods; and the task, for one test."""
    monkeypatch.setitem(TASKS, Moods.name, Moods)
    path = tmp_path / "lines.csv"
    rows = (f"line {i} is {word},{word}\n" for i in range(20) for word in ("sad", "glad"))
    path.write_text("line,mood\n" + "".join(rows))
    return path


def test_its_roles_are_matched(lines: Path) -> None:
    assert open_plan(lines, DataConfig()).summary.endswith("moods -> moods")
    other = lines.with_name("other.csv")
    other.write_text("text,label\n" + "a fine film,pos\na dull film,neg\n" * 5)
    assert open_plan(other, DataConfig()).task == "classify"
    with pytest.raises(DataError, match="there is no column 'line'"):
        open_plan(other, DataConfig(), "moods")


def test_it_is_trained_and_loaded(lines: Path) -> None:
    run = unspool.train(lines, out=lines.parent / "run", **SMALL)
    assert run.config.task == "moods"
    answers = unspool.load(lines.parent / "run").predict(["line 3 is sad"])
    assert [str(answer) for answer in answers] == [str(a) for a in run.predict(["line 3 is sad"])]
